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
  - Installs containerd's programs, writes C(config.toml), and creates and starts the service.
  - A source is a release archive, or just containerd.exe. Programs on the node are replaced only if they differ; the
    service is stopped for the renaming, not for the download, and only if its programs, its configuration or its
    command line change.
  - If the new containerd does not come up (its pipe, and C(ctr version) if ctr.exe is there), everything is restored.
  - Running services that depend on containerd, such as kubelet, are stopped before it and started after it.
extends_documentation_fragment:
  - winkube.node.node
  - winkube.node.golden_image
  - winkube.node.pushed_builds
  - winkube.node.drain
  - winkube.node.nssm
  - winkube.node.components.containerd
  - winkube.node.attributes
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
      description: The node's answer to the batch; null if nothing had to be done.
      type: str
    outcome:
      description: The outcome of the batch.
      type: str
    recovered:
      description: The batch of an earlier run that was finished or rolled back first, and its outcome.
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
