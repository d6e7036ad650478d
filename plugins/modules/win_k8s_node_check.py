# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of win_k8s_node_check; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: win_k8s_node_check
short_description: Looks whether a Windows node works
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Looks twice at the node, O(watch) seconds apart, and once at the cluster. Changes nothing.
  - Services containerd, kubelet, kube-proxy and flanneld run and their programs are not started again and again;
    containerd's pipe is there; kubelet and kube-proxy answer at their health ports; each log is written.
  - The HNS network is there with a management address that the host has; C(subnet.env) lies in the Node's podCIDR;
    traffic from pods to pods, services and nodes is not translated; kube-proxy's source VIP lies in the node's range.
  - With access to the cluster, the Node is there and Ready, labelled as Windows, and without the taints of a node in
    trouble.
  - What the cluster manages itself (O(cni_managed_by), O(kube_proxy_managed_by)) is left out.
extends_documentation_fragment:
  - winkube.node.node
  - winkube.node.cluster
  - winkube.node.expected
  - winkube.node.components
attributes:
  check_mode:
    support: full
    description: It only reads.
  diff_mode:
    support: none
    description: It changes nothing.
  idempotent:
    support: full
    description: It only reads.
  platform:
    support: full
    platforms: windows
    description: The nodes are Windows.
options:
  watch:
    description: Seconds between the two looks. A program that ends again and again is seen if it ends in between.
    type: int
    default: 10
  timeout:
    description: After a restart of the machine it takes a while until everything is up. So many seconds are waited
      until there is no finding with the severity V(error).
    type: int
    default: 0
seealso:
  - module: winkube.node.win_k8s_node_info
"""

EXAMPLES = r"""
- name: Look whether the node works
  winkube.node.win_k8s_node_check:
    node_name: win1
    kubernetes_version: 1.37.0
    cluster: {kubeconfig: ~/.kube/config}
    timeout: 300
"""

RETURN = r"""
findings:
  description: What is not as it has to be. The task fails if one of them is an V(error).
  returned: always
  type: list
  elements: dict
  contains:
    id:
      description: The check's name, the same from release to release.
      type: str
    severity:
      description: V(error) or V(warning).
      type: str
    title:
      description: What is wrong.
      type: str
    subject:
      description: What was looked at.
      type: str
    seen:
      description: What it is.
      type: str
    wanted:
      description: What it should be; may be empty.
      type: str
    cause:
      description: How that comes about.
      type: str
    remedy:
      description: What mends it. C(text) is a sentence, C(action) what carries it out (V(advice) for a person),
        C(command) the command for this host (empty for advice), C(cuts_off) what stops working meanwhile.
      type: dict
    evidence:
      description: Lines that were read.
      type: list
      elements: str
    source:
      description: A public thread that shows the fault; may be empty.
      type: str
    explains:
      description: The ids of findings that follow from this one, or patterns of them.
      type: list
      elements: str
  sample:
    - id: hns.no-network
      severity: error
      title: The pod network is not there
      subject: network cbr0
      seen: "it is not there; there are: External"
      wanted: a network of this name
      cause: "flanneld has not made it, or it was lost: an overlay network does not outlive a restart of the machine."
      remedy:
        text: Launch flanneld until its network is there; if it does not come, flanneld's log says why.
        action: network
        command: ansible-playbook winkube.node.repair --limit win1 -e winkube_repair=network
        cuts_off: Pods of this node have no network until flanneld and kube-proxy are up again.
      evidence: []
      source: https://github.com/kubernetes-sigs/sig-windows-tools/issues/89
      explains: ["cni.network-name", "flannel.*"]
winkube:
  description: How it was read.
  returned: always
  type: dict
  contains:
    calls:
      description: Remote calls this task made.
      type: int
"""
