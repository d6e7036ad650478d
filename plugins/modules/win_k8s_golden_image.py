# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of win_k8s_golden_image; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: win_k8s_golden_image
short_description: Checks that a Windows machine may become the image of many nodes, and stops its services
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - The last task of the playbook C(image.yml), after the components' modules with C(golden_image).
  - Looks for what would be the same on every node that is made of the image, and must not be. That is kubeconfigs, keys
    and certificates, what kubeadm, flanneld and kube-proxy have written, pods and containers, addresses that host-local
    has given out, HNS networks, and the machine's own name, addresses and id in command lines, configuration files,
    receipts and variables. Also what keeps sysprep from running, a pending restart and BitLocker. If it finds any, the
    task fails with one sentence for each that says what to do, and nothing is changed.
  - Otherwise it stops the services (they start with the machine), and removes the journals of earlier batches, notes
    about this machine's network, and the services' logs.
  - It does not run sysprep, which would end the connection. RV(left_to_do) says what the step that runs sysprep must
    do.
extends_documentation_fragment:
  - winkube.node.node
  - winkube.node.attributes
options:
  cni_data_dir:
    description: Where host-local notes addresses.
    type: str
    default: C:\var\lib\cni\networks
seealso:
  - module: winkube.node.win_k8s_reset
"""

EXAMPLES = r"""
- name: Check that nothing of this machine is cloned
  winkube.node.win_k8s_golden_image:
"""

RETURN = r"""
msg:
  description: That the machine is ready.
  returned: success
  type: str
  sample: win1 is ready to generalise.
left_to_do:
  description:
    - What the step that runs sysprep must do first, one sentence each, since doing it here would end the connection.
      These are the host keys of sshd, and the certificate of WinRM.
    - Which files hold credentials that every node is meant to have.
  returned: success
  type: list
  elements: str
  sample: ['C:\ProgramData\ssh holds the host keys of this machine (ssh_host_rsa_key), which sysprep leaves alone: ...']
steps:
  description: What was done, or in check mode would be done.
  returned: success
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
  returned: success
  type: dict
  contains:
    answer:
      description: The node's answer to the batch.
      type: str
    outcome:
      description: What became of it.
      type: str
    batch:
      description: Its id.
      type: str
    calls:
      description: The number of remote calls.
      type: int
"""
