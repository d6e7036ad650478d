# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of k8s_windows_scheduling; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: k8s_windows_scheduling
short_description: RuntimeClasses, taints and labels, so that Windows pods find Windows nodes of their build
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Makes one RuntimeClass for each build of Windows that the cluster's nodes have, such as C(windows-2022). A pod that
    names it needs neither selector nor toleration of its own.
  - Adds the taint that keeps Linux pods away to Windows nodes that lack it, and the wanted labels. It removes nothing.
    A taint with C(NoSchedule) leaves running pods where they are.
  - Reports for each Windows node its build, its versions, the image and the RuntimeClass that fit it, and what is wrong
    with its labels, taints and versions. In check mode that is all it does; with O(runtime_classes=false) also where
    RuntimeClasses would be refused.
  - Refuses a handler that a node's config.toml does not have, as far as O(machines) shows.
  - Needs the rights of a cluster administrator, since RuntimeClasses and Nodes belong to no namespace. Asks the cluster
    only; makes no remote call.
extends_documentation_fragment:
  - winkube.node.cluster
attributes:
  check_mode:
    support: full
    description: Reports, and says what it would do.
  diff_mode:
    support: full
    description: Shows each object before and after.
  idempotent:
    support: full
    description: Run again, it changes nothing.
  platform:
    support: full
    platforms: posix
    description: The work happens on the controller.
options:
  handler:
    description:
      - The runtime handler that the RuntimeClasses name. The nodes' containerd must have it.
    type: str
    default: runhcs-wcow-process
  taints:
    description: Taints of the Windows nodes as C(key=value:effect); RuntimeClasses tolerate them. Empty for none.
    type: list
    elements: str
    default: ['os=windows:NoSchedule']
  labels:
    description: Additional labels for every Windows node. Labels that the kubelet sets are refused.
    type: dict
    default: {}
  runtime_classes:
    description: Whether to create RuntimeClasses. They need Kubernetes 1.20.
    type: bool
    default: true
  adopt:
    description: Change selector and tolerations of a RuntimeClass of the same name that someone else created.
    type: bool
    default: false
  machines:
    description: What the playbook has read from the machines themselves.
    type: list
    elements: dict
    default: []
    suboptions:
      node:
        description: The name of the Node.
        type: str
        required: true
      build:
        description: The build of its Windows; 0 if unknown.
        type: int
        default: 0
      config:
        description: Its containerd's config.toml; empty if unknown.
        type: str
        default: ''
seealso:
  - module: winkube.node.k8s_windows_conformance
  - plugin: winkube.node.k8s_windows_scheduling
    plugin_type: filter
"""

EXAMPLES = r"""
- name: One RuntimeClass for each build of Windows
  winkube.node.k8s_windows_scheduling:
    cluster: {kubeconfig: ~/.kube/config}

- name: What Windows nodes does this cluster have
  winkube.node.k8s_windows_scheduling:
    cluster: {kubeconfig: ~/.kube/config}
    runtime_classes: false
  check_mode: true
  register: windows
"""

RETURN = r"""
steps:
  description: What was done, or in check mode would be done.
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
  sample: [{text: created the RuntimeClass windows-2022, state: done}]
stranded:
  description: Pods on Nodes that get a new taint which no Windows node would accept once they are recreated, since they
    do not tolerate it. In check mode, those that would be stranded.
  returned: always
  type: list
  elements: dict
  contains:
    pod:
      description: Namespace and name.
      type: str
    owner:
      description: Who recreates it.
      type: str
    node:
      description: The Node that it runs on.
      type: str
    advice:
      description: The linter's advice about its scheduling.
      type: list
      elements: dict
      contains:
        rule:
          description: The rule.
          type: str
        message:
          description: What is wrong.
          type: str
        remedy:
          description: What to do.
          type: str
  sample:
    - pod: default/web-7d4b9c6f5-x2x4z
      owner: Deployment web
      node: win1
      advice:
        - rule: taint-not-tolerated
          message: "the pod selects Windows nodes and does not tolerate their taint os=windows:NoSchedule:
            it stays Pending."
          remedy: Add the toleration, or a RuntimeClass that brings it.
server:
  description: The version of the API server.
  returned: always
  type: str
  sample: 1.37.1
nodes:
  description: The Windows nodes, by name.
  returned: always
  type: list
  elements: dict
  contains:
    name:
      description: The name of the Node.
      type: str
    ready:
      description: Whether it is Ready.
      type: bool
    release:
      description: The release of Windows, empty for a build without a name.
      type: str
    os_version:
      description: The version of Windows as the kubelet reports it.
      type: str
    build_label:
      description: The value of C(node.kubernetes.io/windows-build).
      type: str
    kubelet:
      description: The version of the kubelet.
      type: str
    kube_proxy:
      description: The version of kube-proxy as the kubelet reports it.
      type: str
    runtime:
      description: The container runtime and its version.
      type: str
    image:
      description: The Server Core image that runs on it; empty if none is known.
      type: str
    runtime_class:
      description: The name of the RuntimeClass for its build.
      type: str
    taints:
      description: Its taints.
      type: list
      elements: str
builds:
  description: The builds of the cluster's Windows nodes.
  returned: always
  type: list
  elements: dict
  contains:
    build:
      description: The build.
      type: int
    label:
      description: The value of the label C(node.kubernetes.io/windows-build).
      type: str
    release:
      description: The name of the release.
      type: str
    image:
      description: The Server Core image that runs on it; empty if none is known.
      type: str
    runtime_class:
      description: The name of its RuntimeClass.
      type: str
    nodes:
      description: The Nodes of this build.
      type: list
      elements: str
findings:
  description: What is wrong.
  returned: always
  type: list
  elements: dict
  contains:
    id:
      description: What kind of finding it is, such as V(taint-missing).
      type: str
    node:
      description: The Node.
      type: str
    text:
      description: A sentence with what to do.
      type: str
"""
