# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What to do about each broken check, and the row of the requirements that says it."""

from __future__ import annotations

from .model import Check

REMEDIES = {
    "nodes": "Look at the Node's conditions, then run playbooks/verify.yml and playbooks/troubleshoot.yml (TS-01).",
    "pods": "kubectl describe pod tells the reason. For pods that stay in ContainerCreating or cannot be pulled: the "
    "pause image and the image have to be of the node's build (TS-06), and the node has to reach the registry (TS-18).",
    "node-to-pod": "Look whether flanneld runs on the Linux node too and has a route or an FDB entry for the Windows "
    "node's range; on virtual machines whether MAC spoofing is allowed (TS-07).",
    "pod-to-pod": "Look at the HNS network and at cni.conf on both nodes, whether the adapters of virtual machines may "
    "use other MAC addresses (TS-07), and UDP 4789 or the routes between the nodes (TS-08).",
    "service": "Look whether kube-proxy runs on the node, with the right source VIP and network name, and whether HNS "
    "has policy lists (playbooks/verify.yml; TS-15).",
    "discovery": "Look whether CoreDNS runs, whether the pod has its address as DNS server, and whether the Service's "
    "addresses are among the exceptions of the outbound NAT (TS-16).",
    "inbound": "Look whether a firewall between the hosts lets the NodePort through. From the Windows node itself it "
    "does not work (TS-09).",
    "outbound": "Compare the exceptions of cni.conf with the ranges of cluster, Services and nodes: the external "
    "address must not be in them. Try with curl, not with ping (TS-08).",
    "pod-to-node": "Look at the firewall of the other node, and whether the nodes' own range is among the exceptions "
    "of cni.conf: with l2bridge it has to be, with overlay it must not (TS-08).",
    "image": "Look at the pod's events and at the registries of the node (docs/registries.md; TS-18).",
    "dns-config": "Look at clusterDNS of the kubelet and at dns in cni.conf: on Windows the CNI plugin passes it on "
    "(NW-36).",
    "user": "Look at runAsUserName of the pod; a mutating webhook may have changed it (KE-14).",
    "reserved": "Look at systemReserved, kubeReserved and evictionHard of the kubelet (KU-19).",
}


def remedy(check: Check) -> str:
    """What to do if this check is broken."""
    return REMEDIES[check.group]
