# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of win_containerd; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: win_containerd
short_description: Installs, configures and runs containerd on a Windows node
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Brings in containerd's programs, writes C(config.toml), and makes and starts the service.
  - A source is a release archive or containerd.exe alone. What is on the node is replaced only if it differs; the
    service is stopped for the
    renaming, not for the download, and only if its programs, its configuration or its command line change.
  - If the new containerd does not come up (its pipe, and where ctr.exe is at hand C(ctr version)), everything is put
    back as it was.
  - What depends on containerd and runs, such as kubelet, is stopped before it and started after it.
extends_documentation_fragment:
  - winkube.node.node
  - winkube.node.drain
  - winkube.node.nssm
  - winkube.node.attributes
options:
  version:
    description: The release, such as V(2.3.7). Decides which version of C(config.toml) is written.
    type: str
    required: true
  source:
    description: Where the programs come from.
    type: dict
    required: true
    suboptions:
      url:
        description:
          - A release archive (C(.tar.gz), C(.zip)) or C(.exe), fetched by the node.
          - V(http), V(https), or V(file:///C:/...) on the node.
        type: str
        required: true
      checksum:
        description:
          - V(sha256:) and 64 hex digits, or the https address of the publisher's sum file, which the controller reads.
          - Without one the source is refused, unless O(allow_unverified) names containerd.
        type: str
        default: ''
      proxy:
        description: A web proxy for the download.
        type: str
        default: ''
  defender_exclusions:
    description:
      - Exclude containerd's programs and its folders C(root) and C(state) from Microsoft Defender Antivirus, by the
        machine's policy. What nodes unpack is then not looked at by its real-time protection.
      - They are read back; a warning says so if something took them away. V(false) leaves what is there.
    type: bool
    default: false
  crictl_source:
    description:
      - Where crictl.exe comes from, the client of CRI for people. It is put beside containerd.exe, with a
        C(crictl.yaml) that names containerd's pipe. Nothing restarts for it.
    type: dict
    suboptions:
      url:
        description: A release archive of cri-tools (C(crictl-v1.37.0-windows-amd64.tar.gz)) or C(crictl.exe), fetched
          by the node. Empty if no crictl is wanted, or another brings it in.
        type: str
        default: ''
      version:
        description: The release, for the receipt.
        type: str
        default: ''
      checksum:
        description: V(sha256:) and 64 hex digits, or the https address of a sum file. Needed, unless
          O(allow_unverified) names crictl.
        type: str
        default: ''
  allow_unverified:
    description: Components whose sources may come without a checksum, such as containerd.
    type: list
    elements: str
    default: []
  kubernetes_version:
    description: The Kubernetes that the node shall run. Decides the sandbox image, and refuses pairs that cannot
      work. Empty if not known.
    type: str
    default: ''
  pause_image:
    description: The sandbox image. Empty for the one that fits O(kubernetes_version).
    type: str
    default: ''
  pause_image_source:
    description: Whose sandbox image; V(microsoft) has signed binaries, which Kubernetes recommends for production.
    type: str
    choices: [kubernetes, microsoft]
    default: kubernetes
  config_template:
    description:
      - A Jinja2 template of C(config.toml), looked for in the role and then along the usual search path. It gets the
        variable C(containerd).
      - What it yields is checked before anything is sent.
    type: path
    default: config.toml.j2
  config_extra:
    description:
      - Keys of C(config.toml) beside those of O(config_template), as nested mappings from the top of the file. A table
        is merged into the template's, another value comes over it, and V(null) takes a key away.
      - The names of tables are those of the release of containerd. What comes out is checked as the template is.
    type: dict
    default: {}
  log_level:
    description: What containerd logs.
    type: str
    choices: [trace, debug, info, warn, error, fatal, panic]
    default: info
  tracing_endpoint:
    description:
      - The address of an OTLP collector that gets containerd's traces, such as V(http://collector:4318). Empty for
        none.
      - It becomes the variable C(OTEL_EXPORTER_OTLP_ENDPOINT) of the service, since the key C(endpoint) of
        C(io.containerd.tracing.processor.v1.otlp) in C(config.toml) is read no more; O(service.environment) comes over
        it and takes the others, such as C(OTEL_EXPORTER_OTLP_PROTOCOL). Refused for a containerd that does not read it.
    type: str
    default: ''
  registries:
    description:
      - Mirrors and private certificate authorities by registry, each written as a C(hosts.toml) in a folder below
        C(node.certs_dir). Nothing restarts for them, but for the first and for the last one, since C(config.toml) names
        that folder only while there are any.
      - Folders that this module made and that are not wanted any more are removed; others are left alone.
    type: list
    elements: dict
    default: []
    suboptions:
      host:
        description: The beginning of images' names, such as V(docker.io) or V(registry.example.com:5000), or
          V(_default) for all registries that have no entry of their own.
        type: str
        required: true
      server:
        description: The registry's own address, asked after the mirrors. Empty for the one that follows from the name.
          The address of a mirror here keeps containerd from ever asking the registry itself.
        type: str
        default: ''
      capabilities:
        description: What it is asked for; empty for everything.
        type: list
        elements: str
        choices: [pull, resolve, push]
        default: []
      ca:
        description:
          - A file on the controller with the certificates, in PEM form, that it is trusted by.
          - On Windows containerd trusts B(only) these then, not the machine's own.
        type: path
        default: ''
      client:
        description: The certificate by which the node is known to it.
        type: dict
        suboptions:
          certificate:
            description: A file on the controller, in PEM form.
            type: path
            default: ''
          key:
            description: A file on the controller, in PEM form; ansible-vault may have encrypted it. On the node only
              administrators may read it.
            type: path
            default: ''
      skip_verify:
        description: Whether its certificate is not checked at all.
        type: bool
        default: false
      override_path:
        description: Whether the path of the address is the whole path, without C(/v2) after it.
        type: bool
        default: false
      header:
        description:
          - Secret. Headers that are sent with each request.
        type: dict
        default: {}
      mirrors:
        description: Addresses that are asked first, in this order.
        type: list
        elements: dict
        default: []
        suboptions:
          url:
            description: The mirror's address, http or https.
            type: str
            required: true
          capabilities:
            description: What it is asked for. A mirror that is not to be trusted with tags has V(pull) alone.
            type: list
            elements: str
            choices: [pull, resolve, push]
            default: [pull, resolve]
          ca:
            description:
              - A file on the controller with the certificates, in PEM form, that it is trusted by.
              - On Windows containerd trusts B(only) these then, not the machine's own.
            type: path
            default: ''
          client:
            description: The certificate by which the node is known to it.
            type: dict
            suboptions:
              certificate:
                description: A file on the controller, in PEM form.
                type: path
                default: ''
              key:
                description: A file on the controller, in PEM form; ansible-vault may have encrypted it. On the node
                  only administrators may read it.
                type: path
                default: ''
          skip_verify:
            description: Whether its certificate is not checked at all.
            type: bool
            default: false
          override_path:
            description: Whether the path of the address is the whole path, without C(/v2) after it.
            type: bool
            default: false
          header:
            description:
              - Secret. Headers that are sent with each request.
            type: dict
            default: {}
  images:
    description:
      - Whole names of images that are pulled before a pod needs them, with host, path and tag or digest, such as
        V(docker.io/library/golang:1.24). The sandbox image is pulled with them, before them.
      - They are pulled when containerd works, with its own C(ctr.exe), into the namespace that the kubelet uses. The
        mirrors of O(registries) are asked; a registry that wants a user and a password is not supported.
      - Which images were pulled, or were there already, is noted on the node. What is noted is not pulled again, also
        if the kubelet has collected it since.
      - A pull that fails fails the task, and leaves containerd as it is.
    type: list
    elements: str
    default: []
  images_timeout:
    description: Seconds that the pull of one image may take.
    type: int
    default: 1800
  service:
    description: How the service is made and run.
    type: dict
    suboptions:
      manager:
        description: V(registered) by containerd's own C(--register-service), V(nssm) by nssm.exe (O(nssm_source)).
        type: str
        choices: [registered, nssm]
        default: registered
      environment:
        description:
          - Secret. Variables of the service's own environment, such as HTTPS_PROXY. A change restarts it.
        type: dict
        default: {}
      start_timeout:
        description: Seconds in which the service has to run and answer.
        type: int
        default: 120
      stop_timeout:
        description: Seconds in which the service has to stop.
        type: int
        default: 120
seealso:
  - module: winkube.node.win_k8s_host
  - module: winkube.node.win_k8s_node_info
"""

EXAMPLES = r"""
- name: Run a release of containerd
  winkube.node.win_containerd:
    version: 2.3.7
    source:
      url: https://github.com/containerd/containerd/releases/download/v2.3.7/containerd-2.3.7-windows-amd64.tar.gz
      checksum: https://github.com/containerd/containerd/releases/download/v2.3.7/containerd-2.3.7-windows-amd64.tar.gz.sha256sum

- name: Run a build of your own, with your own config.toml
  winkube.node.win_containerd:
    version: 1.7.11
    source:
      url: https://builds.example.com/containerd.exe
      checksum: sha256:5a924c98a2a1d9d6dca4e9e6f9f3d7f5a3a2a8d05f65d4a0a1a6f7f0f28c1b1e
    config_template: templates/containerd.toml.j2

- name: Run a release, and have the base image of our pods on the node
  winkube.node.win_containerd:
    version: 2.3.7
    source:
      url: https://github.com/containerd/containerd/releases/download/v2.3.7/containerd-2.3.7-windows-amd64.tar.gz
      checksum: https://github.com/containerd/containerd/releases/download/v2.3.7/containerd-2.3.7-windows-amd64.tar.gz.sha256sum
    images: ['mcr.microsoft.com/windows/servercore:ltsc2022']
"""

RETURN = r"""
steps:
  description: What was done, or in check mode would be done, in the order of the plan.
  returned: always
  type: list
  elements: dict
  contains:
    text:
      description: One sentence.
      type: str
    state:
      description: V(done), or V(planned) in check mode.
      type: str
  sample: [{text: restarted containerd, state: done}]
winkube:
  description: How it was done.
  returned: always
  type: dict
  contains:
    answer:
      description: The node's answer to the batch, none if nothing had to be done.
      type: str
    outcome:
      description: What became of the batch.
      type: str
    recovered:
      description: The batch of an earlier run that was finished or rolled back before, and what became of it.
      returned: if there was one
      type: dict
      sample: {id: 5fa17f4f4b3d4c91b7dd4f076635f82c, outcome: undone}
    batch:
      description: The id of the batch; its journal is on the node.
      type: str
    calls:
      description: Remote calls this task made.
      type: int
"""
