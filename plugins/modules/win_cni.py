# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of win_cni; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: win_cni
short_description: Installs the CNI plugins on a Windows node
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Creates the folders of CNI's programs and configurations, which only administrators may write to, and installs
    host-local, win-bridge and win-overlay from the release archive of the CNI plugins, and flannel's own plugin as
    flannel.exe.
  - Warns of other configurations beside C(cni.conf), since containerd uses the first by name.
  - Existing programs are compared with those of the archive and replaced only if they differ.
extends_documentation_fragment:
  - winkube.node.node
  - winkube.node.components.cni
  - winkube.node.attributes
seealso:
  - module: winkube.node.win_flannel
"""

EXAMPLES = r"""
- name: Bring in the CNI plugins
  winkube.node.win_cni:
    version: 1.10.0
    source:
      url: https://github.com/containernetworking/plugins/releases/download/v1.10.0/cni-plugins-windows-amd64-v1.10.0.tgz
      checksum: https://github.com/containernetworking/plugins/releases/download/v1.10.0/cni-plugins-windows-amd64-v1.10.0.tgz.sha256
    flannel_version: 1.9.1-flannel3
    flannel_source:
      url: https://mirror.example.com/flannel-amd64.exe
      checksum: sha256:5a924c98a2a1d9d6dca4e9e6f9f3d7f5a3a2a8d05f65d4a0a1a6f7f0f28c1b1e

- name: Leave the network to a DaemonSet of the cluster
  winkube.node.win_cni:
    managed_by: cluster
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
  sample: [{text: installed cni-plugins 1.10.0, state: done}]
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
