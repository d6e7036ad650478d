# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options that say what a node should be, for the modules that look whether it is."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  node_name:
    description: The name of the Node object.
    type: str
    default: ''
  kubernetes_version:
    description: The Kubernetes that the node runs. Empty for a node without Kubernetes; then only containerd is
      checked.
    type: str
    default: ''
  versions:
    description: The wanted releases of programs that are not part of Kubernetes, by role, such as V(2.3.7) for
      C(containerd). A role that is missing or empty is not compared.
    type: dict
    default: {}
  cni_managed_by:
    description: Who runs the pod network, flanneld as a V(service) of the host or the V(cluster).
    type: str
    choices: [service, cluster]
    default: service
  kube_proxy_managed_by:
    description: Who runs kube-proxy.
    type: str
    choices: [service, cluster]
    default: service
  network_mode:
    description: The kind of pod network.
    type: str
    default: l2bridge
  network_name:
    description: The name of the pod network in HNS; empty for flannel's own of O(network_mode).
    type: str
    default: ''
  cluster_cidr:
    description: The pods' network; empty if unknown.
    type: str
    default: ''
  service_cidr:
    description: The Services' network; empty if unknown.
    type: str
    default: ''
  interface_name:
    description: The adapter that the pod network is on.
    type: str
    default: Ethernet
  management_ip:
    description: The host's address in the cluster; empty for the first one of O(interface_name).
    type: str
    default: ''
  windows_revisions:
    description: Revisions of Windows that are known to be bad, in addition to those in docs/windows-support.md, in the
      same format as the option of M(winkube.node.win_k8s_host).
    type: list
    elements: dict
    default: []
"""
