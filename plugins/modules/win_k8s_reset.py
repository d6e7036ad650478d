# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of win_k8s_reset; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: win_k8s_reset
short_description: Takes away from a machine everything that made it a Kubernetes node
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Drains the node if O(drain) says so, removes pods and images while containerd runs (with C(crictl.exe), if there is
    one), stops and removes the services, puts programs and configuration aside, takes away the firewall's rules,
    Microsoft Defender's exclusions, the entry in Path, nssm's source of the event log, the task that closes CRI over
    TCP, and our HNS networks. All of that is one batch, which the node rolls back if something goes wrong.
  - Then the Node object is deleted, and in a second batch what was put aside and what only our services wrote. That is
    not rolled back; if it is interrupted, the next run goes on with it.
  - Only what is ours goes. What the places in O(node) and the receipts of this collection name is ours, HNS networks
    of our own names in the cluster's range, folders that our services alone write into. RV(left) says what stays.
  - containerd's root stays as long as it has layers in it, since a layer may be mounted and deleting would go through
    it. Reparse points are removed, never followed.
extends_documentation_fragment:
  - winkube.node.node
  - winkube.node.drain
  - winkube.node.cluster
  - winkube.node.attributes
options:
  node_name:
    description: The name of the Node object.
    type: str
    required: true
  keep:
    description:
      - What stays. V(images) are containerd's images and all it has on disk, V(logs) the logs, V(programs) the
        executables and their receipts, V(networks) the HNS networks with the virtual switch.
    type: list
    elements: str
    default: []
  delete_node:
    description: Whether the Node object is deleted, where O(cluster) says how the API is reached.
    type: bool
    default: true
  variables:
    description: Variables of the machine that are removed, such as V(HTTP_PROXY). Others may use them, so none is by
      default.
    type: list
    elements: str
    default: []
  network_name:
    description: The name of the overlay network; empty for C(vxlan0).
    type: str
    default: ''
  cluster_cidr:
    description: The pods' network.
    type: str
    default: 10.244.0.0/16
  containerd_root:
    description: Where containerd keeps images and layers.
    type: str
    default: C:\ProgramData\containerd\root
  containerd_state:
    description: Where containerd keeps what runs.
    type: str
    default: C:\ProgramData\containerd\state
  net_conf:
    description: Where flanneld's C(net-conf.json) lies.
    type: str
    default: C:\etc\kube-flannel\net-conf.json
  cni_data_dir:
    description: Where host-local notes addresses.
    type: str
    default: C:\var\lib\cni\networks
seealso:
  - module: winkube.node.win_k8s_repair
"""

EXAMPLES = r"""
- name: See what would go
  winkube.node.win_k8s_reset:
    node_name: win1
    cluster:
      kubeconfig: ~/.kube/config
  check_mode: true
  diff: true

- name: Keep the images for the next life
  winkube.node.win_k8s_reset:
    node_name: win1
    keep: [images, programs]
"""

RETURN = r"""
left:
  description:
    - What stays on the machine and why, a sentence each.
    - Also what was to go and is there still or again, from a reading after the reset.
  returned: always
  type: list
  elements: str
  sample: ['C:\k stays: it holds notes.txt']
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
