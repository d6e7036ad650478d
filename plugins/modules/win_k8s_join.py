# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of win_k8s_join; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: win_k8s_join
short_description: Makes a Windows machine a node of a Kubernetes cluster
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Joins the machine to the cluster, which starts the kubelet for the first time. The service must exist
    (M(winkube.node.win_kubelet)).
  - A machine with the kubelet's kubeconfig, a valid client certificate of this node, and a Node object has already
    joined; nothing is done on it. A machine whose Node was deleted is refused, with the name of the playbook that joins
    it again.
  - For V(kubeadm) a bootstrap token is created through the API just before it is used, and deleted afterwards; it
    reaches the node in a file that only administrators can read, never on a command line.
  - A join that fails is rolled back. What the cluster does afterwards (the Node, its podCIDR, certificate requests,
    labels, taints) is handled and reported, never rolled back.
  - Writes the kubeconfigs of flanneld and kube-proxy, each with a ServiceAccount of its own that has only the rights
    that it needs.
extends_documentation_fragment:
  - winkube.node.node
  - winkube.node.golden_image
  - winkube.node.components.join
  - winkube.node.attributes
  - winkube.node.cluster
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
  description: The Node's podCIDR; empty if the cluster was not asked or has assigned none.
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
      description: The node's answer to the last batch; null if nothing had to be done.
      type: str
    outcome:
      description: The outcome of the last batch.
      type: str
    batch:
      description: The id of the last batch; its journal is on the node.
      type: str
    calls:
      description: Remote calls this task made.
      type: int
"""
