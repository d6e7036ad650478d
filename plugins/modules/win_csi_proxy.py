# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of win_csi_proxy; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: win_csi_proxy
short_description: Runs csi-proxy on a Windows node, for CSI drivers without rights of their own
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Brings in csi-proxy.exe, and makes and starts its service. It counts as working when the named pipes of the groups
    are there.
  - Only for CSI drivers whose node part runs in an ordinary container. One that runs as a HostProcess container has the
    rights itself and does not need it; new drivers are made that way.
extends_documentation_fragment:
  - winkube.node.node
  - winkube.node.golden_image
  - winkube.node.pushed_builds
  - winkube.node.drain
  - winkube.node.nssm
  - winkube.node.components.csi_proxy
  - winkube.node.attributes
seealso:
  - module: winkube.node.win_kubelet
"""

EXAMPLES = r"""
- name: Run csi-proxy
  winkube.node.win_csi_proxy:
    version: 1.2.1
    source:
      url: https://mirror.example.com/csi-proxy-v1.2.1.tar.gz
      checksum: sha256:5a924c98a2a1d9d6dca4e9e6f9f3d7f5a3a2a8d05f65d4a0a1a6f7f0f28c1b1e
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
  sample: [{text: restarted csiproxy, state: done}]
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
