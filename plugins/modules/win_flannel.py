# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of win_flannel; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: win_flannel
short_description: Runs flanneld on a Windows node and configures CNI for it
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Makes the adapter's external vSwitch, in a change of its own. Every connection to the machine breaks for up to a
    minute; the node itself waits for its addresses and for the API server, and takes the switch back if they do not
    return.
  - Brings in flanneld.exe, writes C(net-conf.json), and makes and starts the service. When flanneld has its lease and
    the HNS network the node's address, writes C(cni.conf), and not before.
  - Compares with the cluster what can be compared, where O(cluster.kubeconfig) is given. The Node and its podCIDR, the
    backend, VNI and port of the cluster's flannel, a DaemonSet that runs flannel on this node. Nothing in the cluster
    is changed.
  - A new C(cni.conf) restarts nothing. It is in force for new pods; existing pods keep the old policy.
extends_documentation_fragment:
  - winkube.node.node
  - winkube.node.drain
  - winkube.node.cluster
  - winkube.node.inbound
  - winkube.node.nssm
  - winkube.node.attributes
options:
  node_name:
    description: The name of the Node object, in lower case. flanneld gets it as NODE_NAME.
    type: str
    required: true
  managed_by:
    description:
      - Who runs flannel. With V(cluster) our own service, one that runs C(node.flanneld_binary), is stopped and
        removed; another of that name that runs is refused, and so is a cluster without a DaemonSet of a network for
        this node.
    type: str
    choices: [service, cluster]
    default: service
  version:
    description: The release of flannel, such as V(0.28.0).
    type: str
    default: 0.28.0
  source:
    description: Where flanneld.exe comes from.
    type: dict
    suboptions:
      url:
        description: The program (C(.exe)), fetched by the node.
        type: str
        default: https://github.com/flannel-io/flannel/releases/download/v0.28.0/flanneld.exe
      checksum:
        description:
          - V(sha256:) and 64 hex digits, or the https address of a sum file. flannel publishes none.
          - Without one the source is refused, unless O(allow_unverified) names C(flanneld).
        type: str
        default: ''
      proxy:
        description: A web proxy for the download.
        type: str
        default: ''
  allow_unverified:
    description: Sources that may come without a checksum, such as flanneld.
    type: list
    elements: str
    default: []
  kubernetes_version:
    description: The release of Kubernetes, empty if not known. Decides whether there can be dockershim.
    type: str
    default: ''
  plugins_version:
    description: The release of the CNI plugins on the node. Decides which O(cni_version) they take.
    type: str
    default: 1.9.0
  network_mode:
    description:
      - V(l2bridge) is flannel's host-gw, V(overlay) its vxlan with VNI 4096 and port 4789. flannel has no backend for
        V(l2tunnel), V(transparent) and V(nat), which are refused.
    type: str
    default: l2bridge
  network_name:
    description: The HNS network that flanneld makes. Empty for V(cbr0) (l2bridge) or V(vxlan0) (overlay).
    type: str
    default: ''
  cluster_cidr:
    description: The pods' network, flannel's Network.
    type: str
    default: 10.244.0.0/16
  service_cidr:
    description: The services' network.
    type: str
    default: 10.96.0.0/12
  dns_service_ip:
    description: The address of the cluster's DNS, in O(service_cidr).
    type: str
    default: 10.96.0.10
  cluster_domain:
    description: The cluster's domain; pods search C(svc.) and this one.
    type: str
    default: cluster.local
  interface_name:
    description: The adapter that the node's address is on.
    type: str
    default: Ethernet
  management_ip:
    description: The node's address. Empty for the first IPv4 address of O(interface_name). Refused if no adapter
      has it.
    type: str
    default: ''
  api_server:
    description:
      - Where the node reaches the API server, such as V(10.0.0.1:6443). The virtual switch is kept only if it answers.
      - Empty for the address in O(cluster.kubeconfig); without that nobody waits for it.
    type: str
    default: ''
  exception_list:
    description:
      - Networks outside the cluster that pods reach with their own address, besides O(cluster_cidr), O(service_cidr)
        and, in l2bridge, the subnet of the node's address.
    type: list
    elements: str
    default: []
  external_targets:
    description: Addresses outside the cluster that pods must reach. A warning if an exception covers one of them.
    type: list
    elements: str
    default: []
  runtime:
    description: Whose form C(cni.conf) has. V(dockershim) is refused from Kubernetes 1.24 on.
    type: str
    choices: [containerd, dockershim]
    default: containerd
  cni_version:
    description: C(cniVersion) in C(cni.conf). Empty for the best that the plugins take.
    type: str
    default: ''
  conf_template:
    description:
      - A Jinja2 template of C(cni.conf), looked for in the role and then along the usual search path. It gets the
        variable C(cni).
      - What it yields is checked before anything is sent.
    type: path
    default: cni.conf.j2
  net_conf:
    description: Where C(net-conf.json) lies on the node.
    type: str
    default: C:\etc\kube-flannel\net-conf.json
  service:
    description: How the service is made and run.
    type: dict
    suboptions:
      manager:
        description: V(nssm). flanneld does not speak to the service control manager, so V(sc) is refused.
        type: str
        choices: [nssm, sc]
        default: nssm
      start_timeout:
        description: Seconds in which flanneld has to have its lease and its network.
        type: int
        default: 180
      stop_timeout:
        description: Seconds in which the service has to stop.
        type: int
        default: 60
seealso:
  - module: winkube.node.win_cni
  - module: winkube.node.win_kube_proxy
"""

EXAMPLES = r"""
- name: Run flanneld in l2bridge
  winkube.node.win_flannel:
    node_name: win1
    version: 0.28.0
    source:
      url: https://github.com/flannel-io/flannel/releases/download/v0.28.0/flanneld.exe
      checksum: sha256:5a924c98a2a1d9d6dca4e9e6f9f3d7f5a3a2a8d05f65d4a0a1a6f7f0f28c1b1e
    cluster:
      kubeconfig: ~/.kube/config

- name: Run it in overlay on a machine with two adapters
  winkube.node.win_flannel:
    node_name: win1
    source:
      url: https://mirror.example.com/flanneld.exe
      checksum: sha256:5a924c98a2a1d9d6dca4e9e6f9f3d7f5a3a2a8d05f65d4a0a1a6f7f0f28c1b1e
    network_mode: overlay
    interface_name: Ethernet 2
    api_server: 10.0.0.1:6443
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
  sample: [{text: restarted flanneld, state: done}]
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
