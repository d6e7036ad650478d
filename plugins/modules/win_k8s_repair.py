# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of win_k8s_repair; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: win_k8s_repair
short_description: Puts the network of a Windows node right where something is stuck or in the way
version_added: 0.2.0
author: The winkube.node authors (@winkube)
description:
  - Starts services that have stayed down after a restart, in the order of a first boot, each behind what it needs.
  - Removes endpoints of dead pods that keep an address which another one has as well, or of another range.
  - Where flanneld's network, its management address or C(subnet.env) is missing, flanneld is launched again, a bounded
    number of times; only then, and only with O(generate_subnet_env), C(subnet.env) is written in its place.
  - With O(switch_mode), removes our HNS networks of the other mode; with O(remove_policy_lists), HNS's policy lists
    before kube-proxy starts again.
  - Touches no network of type C(nat), none of others, and none that somebody uses. On a node where nothing is wrong
    nothing is changed.
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
  network_mode:
    description: The network that the node should have.
    type: str
    choices: [l2bridge, overlay]
    default: l2bridge
  network_name:
    description: The name of the overlay network; empty for C(vxlan0).
    type: str
    default: ''
  cluster_cidr:
    description: The pods' network.
    type: str
    default: 10.244.0.0/16
  interface_name:
    description: The adapter of the node's address; tells the MTU of a generated C(subnet.env).
    type: str
    default: Ethernet
  management_ip:
    description: The node's address, where the adapter has several.
    type: str
    default: ''
  network_timeout:
    description: Seconds that one launch of flanneld gets until its network is there.
    type: int
    default: 120
  retries:
    description: How often flanneld is launched once more after the first time.
    type: int
    default: 2
  generate_subnet_env:
    description: Whether C(subnet.env) is written where flanneld does not, although its network is there.
    type: bool
    default: false
  subnet:
    description: The range in it; empty for the podCIDR of the Node. Refused if it overlaps another node's.
    type: str
    default: ''
  remove_policy_lists:
    description: Whether all policy lists of HNS are removed and kube-proxy, stopped meanwhile, makes its own again.
    type: bool
    default: false
  switch_mode:
    description: Whether our networks of the other mode are removed. The site playbook then makes those of this one.
    type: bool
    default: false
seealso:
  - module: winkube.node.win_k8s_rejoin
  - module: winkube.node.win_flannel
"""

EXAMPLES = r"""
- name: Get a stuck flanneld going
  winkube.node.win_k8s_repair:
    node_name: win1
    retries: 3
    cluster:
      kubeconfig: ~/.kube/config
"""

RETURN = r"""
steps:
  description: What was done, or in check mode would be done, and why.
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
