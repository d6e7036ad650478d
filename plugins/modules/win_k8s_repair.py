# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of win_k8s_repair; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: win_k8s_repair
short_description: Repairs a Windows node that was deleted, is stuck, was made by scripts, or is blocked
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - With O(action=rejoin) it finds out whether the node was deleted, and clears the way for it to join again. A
    previously deleted node is one that joined earlier but has no Node object or no usable certificate any more; or one
    whose files name another range than its Node's podCIDR. On it kube-proxy, kubelet and flanneld are stopped, and
    whatever holds the old range is removed (C(SourceVip.json), C(SourceVipRequest.json), C(subnet.env), C(cni.conf),
    flannel's HNS network). The roles in RV(roles) start them again.
  - With O(action=network) it starts services that stayed down after a restart, in the order of a first boot, each after
    what it needs, and removes endpoints of dead pods whose address another endpoint also has or that belong to another
    range. If flanneld's network, its management address or C(subnet.env) is missing, flanneld is started again,
    O(retries) times at most; only then, and only with O(generate_subnet_env), C(subnet.env) is written for it.
  - With O(action=take_over) it ends each kubelet, kube-proxy and flanneld that no service has started (but
    C(start.ps1), C(start-kubelet.ps1) or a person at a console), with its child processes. They would not survive the
    next restart anyway, and hold the ports of the services that replace them. Services are left alone; the roles
    correct their definitions.
  - With O(action=restart) it restarts O(services).
  - With O(action=cni_conf) it fixes the CNI configuration that the runtime uses. It writes only the lines that must
    change; order, tabs and line ends stay. Policies that the plugins would drop are converted, never left out. Running
    pods keep what they have.
  - With O(action=finding) it checks the node, and applies the remedy of the finding O(finding); C(docs/diagnose.md)
    lists all findings. If the node does not have that finding, it lists those that the node has and does nothing.
  - With O(action=acknowledge) you confirm that you have looked at a node on which a change failed and could not be
    rolled back. The node refuses further changes until then. It repairs nothing.
  - Networks of type C(nat), networks that others made, and networks that are in use are never touched; pods that still
    run on one of ours are removed with C(crictl.exe), if the node has it. On a node where nothing is wrong nothing is
    changed.
  - C(playbooks/repair.yml) runs each of these actions, and then the roles that must follow.
extends_documentation_fragment:
  - winkube.node.node
  - winkube.node.drain
  - winkube.node.cluster
  - winkube.node.attributes
options:
  action:
    description: What to do.
    type: str
    choices: [rejoin, network, restart, cni_conf, take_over, acknowledge, finding]
    required: true
  node_name:
    description: The name of the Node object. O(action=rejoin) and O(action=network) need it.
    type: str
    default: ''
  network_name:
    description: The name of the overlay network; empty for C(vxlan0).
    type: str
    default: ''
  service_cidr:
    description: The services' network, for O(action=cni_conf).
    type: str
    default: ''
  plugins_version:
    description: The release of the CNI plugins, for O(action=cni_conf). It decides which values of C(cniVersion) are
      possible; empty if unknown.
    type: str
    default: ''
  cluster_cidr:
    description: The pods' network.
    type: str
    default: 10.244.0.0/16
  join:
    description: How the machine joined, for O(action=rejoin).
    type: str
    choices: [kubeadm, bootstrap_kubeconfig, kubeconfig]
    default: kubeadm
  always:
    description: Join the machine again even if nothing requires it; only with O(action=rejoin).
    type: bool
    default: false
  cni_managed_by:
    description: Who owns the network. With V(cluster), O(action=rejoin) leaves C(cni.conf) alone, and
      O(action=cni_conf) its network's name.
    type: str
    choices: [service, cluster]
    default: service
  network_mode:
    description: The network that the node should have, for O(action=network).
    type: str
    choices: [l2bridge, overlay]
    default: l2bridge
  interface_name:
    description: The adapter with the node's address; it determines the MTU of a generated C(subnet.env).
    type: str
    default: Ethernet
  management_ip:
    description: The node's address, if the adapter has several.
    type: str
    default: ''
  network_timeout:
    description: Seconds to wait for the network after each start of flanneld.
    type: int
    default: 120
  retries:
    description: How often flanneld is started again after the first time.
    type: int
    default: 2
  generate_subnet_env:
    description:
      - Whether to write C(subnet.env) if flanneld does not, although its network exists; only with O(action=network).
    type: bool
    default: false
  subnet:
    description:
      - The range in it; empty for the podCIDR of the Node. Refused if it overlaps another node's; only with
        O(action=network).
    type: str
    default: ''
  remove_policy_lists:
    description:
      - Whether to remove all policy lists of HNS, while kube-proxy is stopped, so that it creates them again; only with
        O(action=network).
    type: bool
    default: false
  switch_mode:
    description:
      - Whether to remove the networks of the other mode that this collection made. The site playbook then creates those
        of this mode; only with O(action=network).
    type: bool
    default: false
  services:
    description:
      - What O(action=restart) restarts, by role (V(flannel), V(kube_proxy), ..), with the services that depend on it.
        V(hns) and V(vmcompute) are started if they are down, and never stopped.
    type: list
    elements: str
    default: []
  finding:
    description:
      - The id of a finding, as M(winkube.node.hns_check) and the playbooks verify and diagnose name it. Its remedy is
        applied, or the roles that apply it are in RV(roles). Refused if it has no automatic fix.
    type: str
    default: ''
  kubernetes_version:
    description: The release of Kubernetes, for O(action=finding); empty for a node without Kubernetes.
    type: str
    default: ''
  kube_proxy_managed_by:
    description: Who runs kube-proxy, for O(action=finding).
    type: str
    choices: [service, cluster]
    default: service
  optional_components:
    description: The roles that are switched on, for O(action=finding).
    type: list
    elements: str
    default: []
  batch:
    description: The id of the batch, as the error prints it. Required by O(action=acknowledge), and refused with any
      other action.
    type: str
    default: ''
  conditions:
    description:
      - Whether the Node's condition C(winkube.node/Healthy) becomes V(False), with the cause, where the repair changed
        the machine in vain, and V(True) after the next one that was not. With one Event for each change.
      - A repair that leaves its work to roles makes it V(Unknown), until they have run
        (M(winkube.node.k8s_windows_conditions)) or a run that plans the node finds that nothing differs.
      - A V(rejoin) that finds nothing to do does not write it.
    type: bool
    default: false
attributes:
  idempotent:
    support: partial
    description: A second run changes nothing; a second O(action=acknowledge) fails, as the node is not blocked then.
seealso:
  - module: winkube.node.win_k8s_join
  - module: winkube.node.win_k8s_reset
"""

EXAMPLES = r"""
- name: Clear the way for a node that was deleted
  winkube.node.win_k8s_repair:
    action: rejoin
    node_name: win1
    cluster:
      kubeconfig: ~/.kube/config
  register: repaired

- name: Get a stuck flanneld going
  winkube.node.win_k8s_repair:
    action: network
    node_name: win1
    retries: 3

- name: See what would be fixed in the node's cni.conf
  winkube.node.win_k8s_repair:
    action: cni_conf
    service_cidr: 10.96.0.0/12
  check_mode: true
  diff: true

- name: See what scripts have left
  winkube.node.win_k8s_repair:
    action: take_over
  check_mode: true
  register: found

- name: Mend a finding, if the node has it
  winkube.node.win_k8s_repair:
    action: finding
    finding: kube-proxy.stopped
    node_name: win1
    kubernetes_version: 1.35.3
    cluster:
      kubeconfig: ~/.kube/config

- name: Take changes again after a failed roll-back that somebody has looked at
  winkube.node.win_k8s_repair:
    action: acknowledge
    batch: 0123456789abcdef0123456789abcdef
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
msg:
  description: That the node does not have the finding, and which findings it has, one sentence each.
  returned: with O(action=finding) on a node without it
  type: str
broken:
  description: The ids of the errors that the node has.
  returned: with O(action=finding) on a node without it
  type: list
  elements: str
rejoin:
  description: Whether the machine must join again.
  returned: with O(action=rejoin)
  type: bool
past:
  description: Remains of an earlier join.
  returned: with O(action=rejoin)
  type: dict
  contains:
    why:
      description: Why it must join again; empty if it need not.
      type: str
    pod_cidr:
      description: The podCIDR of its Node; empty if it must join again.
      type: str
    stale:
      description: Files of another range, each with the ranges that it names.
      type: list
      elements: dict
    networks:
      description: HNS networks of another range.
      type: list
      elements: str
roles:
  description: The roles that must follow, in this order - join, and those of the services that the machine has.
  returned: with O(action=rejoin)
  type: list
  elements: str
  sample: [join, kubelet, flannel, kube_proxy]
services:
  description: Services that run kubelet, kube-proxy or flanneld.
  returned: with O(action=take_over)
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
      description: The script that creates services of this form; V(ours) for a service as the roles create it.
      type: str
processes:
  description: Processes of these programs that no service started.
  returned: with O(action=take_over)
  type: list
  elements: dict
  sample: [{pid: 4711, path: 'C:\k\kubelet.exe', started: '2026-11-20T10:00:00Z'}]
winkube:
  description: How it was done.
  returned: always
  type: dict
  contains:
    calls:
      description: Remote calls that this task made.
      type: int
"""
