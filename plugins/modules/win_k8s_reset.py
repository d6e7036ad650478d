# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of win_k8s_reset; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: win_k8s_reset
short_description: Removes from a machine everything that made it a Kubernetes node
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Drains the node if O(drain) says so, removes pods and images while containerd runs (with C(crictl.exe), if the node
    has it), stops and removes the services, moves programs and configuration aside, and removes the firewall rules, the
    exclusions of Microsoft Defender, the entry in Path, nssm's event log source, the task that closes CRI over TCP, and
    our HNS networks. All of this is one batch, which the node rolls back if something goes wrong.
  - Then the Node object is deleted, and in a second batch the files that were moved aside and those that only our
    services wrote. This batch is not rolled back; if it is interrupted, the next run continues it.
  - Only what belongs to this collection is removed - what the places in O(node) and the collection's receipts name, HNS
    networks with our names in the cluster's range, and folders into which only our services write. RV(left) says what
    stays.
  - containerd's root folder stays as long as it contains layers, since a layer may be mounted and deleting would reach
    into the mount. Reparse points are removed, never followed.
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
      - What to keep. V(images) are containerd's images and its other files, V(logs) the logs, V(programs) the
        executables and their receipts, V(networks) the HNS networks with the virtual switch.
    type: list
    elements: str
    default: []
  delete_node:
    description: Whether to delete the Node object, if O(cluster) gives access to the API.
    type: bool
    default: true
  variables:
    description: Environment variables of the machine to remove, such as V(HTTP_PROXY). None by default, since others
      may use them.
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
    description: Where containerd keeps its runtime state.
    type: str
    default: C:\ProgramData\containerd\state
  net_conf:
    description: Where flanneld's C(net-conf.json) is.
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
    - What stays on the machine and why, one sentence each.
    - Also, from a reading after the reset, what should have been removed and still exists or exists again.
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
