# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of win_k8s_rejoin; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: win_k8s_rejoin
short_description: Finds out whether a Windows node was deleted from its cluster, and clears the way for it to join anew
version_added: 0.2.0
author: The winkube.node authors (@winkube)
description:
  - A previously deleted node is one that has joined and has no Node object any more, or no certificate that can be
    used; or one whose files speak of another range than the podCIDR of its Node.
  - On such a node kube-proxy, kubelet and flanneld are stopped, and what holds the old range is removed
    (C(SourceVip.json), C(SourceVipRequest.json), C(subnet.env), C(cni.conf), flannel's HNS network). The roles join,
    kubelet, flannel and kube_proxy start them again; C(playbooks/rejoin.yml) has all of it.
  - Only networks of our own names and in the cluster's range are removed, never one that somebody uses and never
    C(nat). Pods that still run on one are removed with C(crictl.exe), if there is one on the node.
  - On any other node nothing is changed.
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
  join:
    description: How the machine has joined.
    type: str
    choices: [kubeadm, bootstrap_kubeconfig, kubeconfig]
    default: kubeadm
  always:
    description: Whether the machine is to join anew also where nothing speaks for that.
    type: bool
    default: false
  cni_managed_by:
    description: Who owns the network. With V(cluster), C(cni.conf) is left alone.
    type: str
    choices: [service, cluster]
    default: service
  network_name:
    description: The name of the overlay network; empty for C(vxlan0).
    type: str
    default: ''
  cluster_cidr:
    description: The pods' network.
    type: str
    default: 10.244.0.0/16
seealso:
  - module: winkube.node.win_k8s_join
"""

EXAMPLES = r"""
- name: Clear the way for a node that was deleted
  winkube.node.win_k8s_rejoin:
    node_name: win1
    cluster:
      kubeconfig: ~/.kube/config
  register: found
"""

RETURN = r"""
rejoin:
  description: Whether the machine has to join anew.
  returned: always
  type: bool
past:
  description: What was found of an earlier life.
  returned: always
  type: dict
  contains:
    why:
      description: Why it has to join anew; empty if it has not to.
      type: str
    pod_cidr:
      description: The podCIDR of its Node; empty if it has to join anew.
      type: str
    stale:
      description: Files of another range, each with the ranges that it names.
      type: list
      elements: dict
    networks:
      description: HNS networks of another range.
      type: list
      elements: str
services:
  description: Which of kube-proxy, kubelet and flanneld the machine has as services.
  returned: always
  type: list
  elements: str
  sample: [kube-proxy, kubelet, flanneld]
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
