# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of k8s_windows_calico; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: k8s_windows_calico
short_description: Prepares Calico for Windows nodes with a VXLAN network
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Writes what the operator (C(tigera-operator)) needs for Windows. That is the C(Installation) (C(windowsDataplane
    HNS), the Services' networks, VXLAN, no BGP), strict affinity of Calico's IPAM, the ConfigMap
    C(kubernetes-services-endpoint) beside the operator, and Calico's own API server. It does not install the operator.
  - Where manifests have installed Calico without its operator, as kubespray does, it writes the DaemonSet
    C(calico-node-windows) beside C(calico-node), with the images of the same registry and release, and strict affinity.
    A backend other than VXLAN, etcd as datastore, eBPF and host-local addresses are refused.
  - Reports what prevents Windows nodes from working, from the operator's release to images that a node cannot pull.
  - BGP and the encapsulation of a running Calico are changed only with O(adopt=true), since that affects Linux nodes.
  - Asks the cluster only; makes no remote call. C(examples/rbac/calico.yml) has the rights that it needs.
extends_documentation_fragment:
  - winkube.node.cluster
attributes:
  check_mode:
    support: full
    description: Reports, and says what it would write.
  diff_mode:
    support: full
    description: Shows each object before and after.
  idempotent:
    support: full
    description: Run again, it changes nothing.
  platform:
    support: full
    platforms: posix
    description: The work happens on the controller.
options:
  cluster_cidr:
    description: The pods' network. A new Installation gets a pool of it.
    type: str
    default: 10.244.0.0/16
  service_cidr:
    description: The Services' network, as the API server is configured.
    type: str
    default: 10.96.0.0/12
  dns_service_ip:
    description: The address of the cluster's DNS, for the DaemonSet beside Calico's manifests; the operator finds it
      itself.
    type: str
    default: ''
  api_server:
    description:
      - Where nodes reach the API server, such as V(10.0.0.1:6443). Empty for the address in O(cluster.kubeconfig).
      - An address of a Service is refused, since no kube-proxy runs yet when Calico starts.
    type: str
    default: ''
  cni_bin_dir:
    description: The folder in which containerd on Windows looks for CNI programs; empty to leave Calico's alone.
    type: str
    default: ''
  cni_conf_dir:
    description: The folder in which containerd on Windows looks for CNI configurations; empty to leave Calico's alone.
    type: str
    default: ''
  adopt:
    description: Change BGP and the pools of a Calico that is already running.
    type: bool
    default: false
  kube_proxy_image:
    description:
      - The image of a DaemonSet C(kube-system/kube-proxy-windows) that runs kube-proxy in HostProcess pods, such as
        V(sigwindowstools/kube-proxy:v1.35.2-calico-hostprocess). It uses the account C(kube-proxy) that kubeadm makes,
        and a ConfigMap C(kube-proxy-windows) with the API server's own address.
      - Empty if something else runs kube-proxy on Windows nodes.
    type: str
    default: ''
seealso:
  - module: winkube.node.win_flannel
"""

EXAMPLES = r"""
- name: Let Calico run on Windows nodes
  winkube.node.k8s_windows_calico:
    cluster: {kubeconfig: ~/.kube/config}
    cluster_cidr: 10.244.0.0/16
    service_cidr: 10.96.0.0/12
    api_server: 10.0.0.1:6443

- name: What keeps Windows nodes out of this cluster's Calico
  winkube.node.k8s_windows_calico:
    cluster: {kubeconfig: ~/.kube/config}
  check_mode: true
"""

RETURN = r"""
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
  sample: [{text: created the Installation default, state: done}]
calico:
  description: The release line of Calico, as its operator or the tag of its image says it; empty if neither does.
  returned: always
  type: str
  sample: '3.31'
findings:
  description: What prevents Calico from working on Windows nodes, causes first. In check mode, without those that the
    planned writes would fix.
  returned: always
  type: list
  elements: dict
  contains:
    id:
      description: What kind of finding it is, such as V(calico.encapsulation).
      type: str
    severity:
      description: V(error) or V(warning).
      type: str
    text:
      description: What is wrong and what to do.
      type: str
"""
