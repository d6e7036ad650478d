# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of win_k8s_takeover; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: win_k8s_takeover
short_description: Ends what scripts have started on a Windows node outside services
version_added: 0.2.0
author: The winkube.node authors (@winkube)
description:
  - Finds kubelet, kube-proxy and flanneld on a node that C(start.ps1), C(start-kubelet.ps1), C(register-svc.ps1),
    sig-windows-tools' C(PrepareNode.ps1) or image-builder have made, as services and as processes.
  - A process that no service has started is ended, with everything that it has started. It would be gone with the next
    restart of the machine anyway, and it holds the ports of the service that takes its place.
  - Services are left alone; the roles set their definitions right. C(playbooks/take_over.yml) does both.
extends_documentation_fragment:
  - winkube.node.node
  - winkube.node.drain
  - winkube.node.attributes
seealso:
  - module: winkube.node.win_kubelet
"""

EXAMPLES = r"""
- name: See what scripts have left
  winkube.node.win_k8s_takeover:
  check_mode: true
  register: found
"""

RETURN = r"""
services:
  description: Services that run one of the programs.
  returned: always
  type: list
  elements: dict
  contains:
    name:
      description: The service.
      type: str
    program:
      description: What it runs.
      type: str
    made_by:
      description: The script that makes services of this shape; V(ours) for one as the roles make it.
      type: str
processes:
  description: Processes of these programs that no service has started.
  returned: always
  type: list
  elements: dict
  sample: [{pid: 4711, path: 'C:\k\kubelet.exe', started: '2026-11-20T10:00:00Z'}]
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
winkube:
  description: How it was done.
  returned: always
  type: dict
  contains:
    calls:
      description: Remote calls that this task made.
      type: int
"""
