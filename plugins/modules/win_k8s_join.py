# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of win_k8s_join; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: win_k8s_join
short_description: Makes a Windows machine a node of a cluster
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Joins the machine to the cluster and owns the kubelet's first start. The service has to be there
    (M(winkube.node.win_kubelet)).
  - Joined is the kubelet's kubeconfig, a valid client certificate of this node, and the Node object. Then nothing is
    done on the node. A machine whose Node was deleted is refused, with the name of the playbook that joins it anew.
  - For V(kubeadm) a bootstrap token is made through the API just before it is used and deleted after it; it reaches
    the node in a file for administrators alone, never on a command line.
  - A join that fails is rolled back. What the cluster says afterwards (the Node, its podCIDR, certificate requests,
    labels, taints) is looked after and reported, never rolled back.
  - Writes the kubeconfigs of flanneld and kube-proxy, with ServiceAccounts of their own that may do no more than
    they need.
extends_documentation_fragment:
  - winkube.node.node
  - winkube.node.attributes
  - winkube.node.cluster
options:
  node_name:
    description: The name of the Node, lower-case. The same one goes to kubelet, kube-proxy and flanneld.
    type: str
    required: true
  version:
    description: The Kubernetes release, such as V(1.37.1). Decides the form of kubeadm's configuration.
    type: str
    required: true
  join:
    description:
      - V(kubeadm) runs C(kubeadm.exe join); the cluster was made by kubeadm.
      - V(bootstrap_kubeconfig) starts the kubelet with C(bootstrap-kubelet.conf), with which it gets its own
        certificate.
      - V(kubeconfig) starts it with a kubeconfig of yours.
    type: str
    choices: [kubeadm, bootstrap_kubeconfig, kubeconfig]
    default: kubeadm
  state:
    description:
      - V(joined) joins the machine if it has not joined.
      - V(rejoined) puts the machine's identity aside, deletes the Node object and joins anew, every time it is asked.
        If that fails the old identity comes back.
    type: str
    choices: [joined, rejoined]
    default: joined
  source:
    description: Where kubeadm.exe comes from. Needed for O(join=kubeadm).
    type: dict
    suboptions:
      url:
        description: The program; V(http), V(https), or V(file:///C:/...) on the node.
        type: str
        default: ''
      checksum:
        description: V(sha256:) and 64 hex digits, or the https address of the publisher's sum file.
        type: str
        default: ''
      proxy:
        description: A web proxy for the download.
        type: str
        default: ''
  allow_unverified:
    description: Components whose sources may come without a checksum, such as kubeadm.
    type: list
    elements: str
    default: []
  api_server:
    description: The API's address as nodes reach it. Empty for what the cluster's cluster-info says, else the
      kubeconfig's.
    type: str
    default: ''
  taints:
    description:
      - Taints that the Node has, as C(key=value:effect). Those that are missing are patched on.
    type: list
    elements: str
    default: ['os=windows:NoSchedule']
  kubelet_extra_args:
    description: Arguments that kubeadm notes for the kubelet in C(kubeadm-flags.env).
    type: dict
    default: {}
  kubeconfig_source:
    description: For O(join=kubeconfig), a kubeconfig on the controller. A cluster administrator's is refused.
    type: path
    default: ''
  bootstrap_source:
    description: For O(join=bootstrap_kubeconfig), a kubeconfig on the controller. Empty for one that is made through
      the API, with a token that is gone after the join.
    type: path
    default: ''
  allow_cluster_admin:
    description: Whether a kubeconfig of a cluster administrator may go to the node all the same.
    type: bool
    default: false
  flanneld:
    description: flanneld's credentials.
    type: dict
    suboptions:
      kubeconfig:
        description: Whether the node needs a kubeconfig for flanneld.
        type: bool
        default: true
      kubeconfig_source:
        description: A kubeconfig on the controller. Empty for the ServiceAccount C(winkube-flanneld), made if it is
          not there.
        type: path
        default: ''
  kube_proxy:
    description: kube-proxy's credentials.
    type: dict
    suboptions:
      kubeconfig:
        description: Whether the node needs a kubeconfig for kube-proxy.
        type: bool
        default: true
      kubeconfig_source:
        description: A kubeconfig on the controller. Empty for the ServiceAccount C(winkube-kube-proxy), made if it is
          not there.
        type: path
        default: ''
  wait_for_pod_cidr:
    description: Whether a node that has just joined has to get a podCIDR, which flanneld cannot do without.
    type: bool
    default: true
  start_timeout:
    description: Seconds in which the kubelet has to start and get its certificate.
    type: int
    default: 240
  node_timeout:
    description: Seconds in which the Node and its podCIDR have to be there after the join.
    type: int
    default: 120
seealso:
  - module: winkube.node.win_kubelet
  - module: winkube.node.win_flannel
  - module: winkube.node.win_kube_proxy
"""

EXAMPLES = r"""
- name: Join by kubeadm
  winkube.node.win_k8s_join:
    node_name: win1
    version: 1.37.1
    source:
      url: https://dl.k8s.io/release/v1.37.1/bin/windows/amd64/kubeadm.exe
      checksum: https://dl.k8s.io/release/v1.37.1/bin/windows/amd64/kubeadm.exe.sha256
    cluster:
      kubeconfig: ~/.kube/config

- name: Join with a kubeconfig of your own, without asking the cluster
  winkube.node.win_k8s_join:
    node_name: win1
    version: 1.37.1
    join: kubeconfig
    kubeconfig_source: files/win1.kubeconfig
    flanneld:
      kubeconfig_source: files/flanneld.kubeconfig
    kube_proxy:
      kubeconfig_source: files/kube-proxy.kubeconfig
    node:
      kubelet_kubeconfig: C:\k\config
"""

RETURN = r"""
joined:
  description: Whether the machine joined in this task.
  returned: always
  type: bool
pod_cidr:
  description: The Node's podCIDR; empty where the cluster was not asked or has given none.
  returned: always
  type: str
  sample: 10.244.3.0/24
steps:
  description: What was done, or in check mode would be done, on the node and then in the cluster.
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
  sample: [{text: 'joined the cluster as win1 by kubeadm, podCIDR 10.244.3.0/24', state: done}]
winkube:
  description: How it was done.
  returned: always
  type: dict
  contains:
    answer:
      description: The node's answer to the last batch, none if nothing had to be done.
      type: str
    outcome:
      description: What became of the last batch.
      type: str
    batch:
      description: The id of the last batch; its journal is on the node.
      type: str
    calls:
      description: Remote calls this task made.
      type: int
"""
