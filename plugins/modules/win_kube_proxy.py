# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of win_kube_proxy; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: win_kube_proxy
short_description: Installs kube-proxy on a Windows node and runs it as a service
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Brings in kube-proxy.exe and makes its service, with arguments that its release knows; one with which it would not
    start is refused before the node is touched.
  - For overlay it needs a source VIP, one address of the node's own range. One that is in use is kept; else the node's
    host-local reserves one, and the command line gets what it answered.
  - Needs its kubeconfig on the node (C(node.kube_proxy_kubeconfig)), which the role join writes, and for overlay what
    flanneld has written.
  - It is restarted only if the program, the command line or the environment change. If it then does not answer on its
    healthz port, everything is put back as it was.
extends_documentation_fragment:
  - winkube.node.node
  - winkube.node.drain
  - winkube.node.cluster
  - winkube.node.nssm
  - winkube.node.log_runner
  - winkube.node.attributes
options:
  version:
    description: The release of Kubernetes, such as V(1.37.1). Refused if it does not go with the cluster's API server.
    type: str
    required: true
  node_name:
    description: The name of the Node object, the same that the kubelet has. Written in lower case.
    type: str
    required: true
  managed_by:
    description:
      - Who owns kube-proxy. With V(cluster) our own service, one that runs C(node.kube_proxy_binary), is stopped and
        removed; another of that name is refused.
      - With V(service), a DaemonSet of the cluster that runs it on this node is refused.
    type: str
    choices: [service, cluster]
    default: service
  source:
    description: Where kube-proxy.exe comes from.
    type: dict
    required: true
    suboptions:
      url:
        description: The program (C(.exe)), fetched by the node; V(http), V(https), or V(file:///C:/...) on the node.
        type: str
        required: true
      checksum:
        description:
          - V(sha256:) and 64 hex digits, or the https address of the publisher's sum file, which the controller reads.
          - Without one the source is refused, unless O(allow_unverified) names it.
        type: str
        default: ''
      proxy:
        description: A web proxy for the download.
        type: str
        default: ''
  allow_unverified:
    description: Components whose sources may come without a checksum, such as kube-proxy.
    type: list
    elements: str
    default: []
  network_mode:
    description: V(l2bridge) (flannel's host-gw) or V(overlay) (flannel's vxlan); others are refused.
    type: str
    default: l2bridge
  network_name:
    description: The HNS network of the pods; empty for V(cbr0) (l2bridge) or V(vxlan0) (overlay).
    type: str
    default: ''
  cni_data_dir:
    description: The folder in which host-local keeps which address is taken, the C(dataDir) of the CNI configuration.
    type: str
    default: C:\var\lib\cni\networks
  cluster_cidr:
    description: The pods' network. Traffic to it is not translated.
    type: str
    default: 10.244.0.0/16
  dsr:
    description: Direct server return. The feature gate that it needs is set where the release has it off.
    type: bool
    default: false
  verbosity:
    description: How much kube-proxy logs.
    type: int
    default: 2
  feature_gates:
    description: Feature gates by name, V(true) or V(false). One that this release does not know is refused.
    type: dict
    default: {}
  extra_arguments:
    description: Further arguments, such as V(--nodeport-addresses=10.0.0.0/8). Checked as the others are.
    type: list
    elements: str
    default: []
  service:
    description: How the service is made and run.
    type: dict
    suboptions:
      manager:
        description: V(nssm), or V(sc) for sc.exe and the program's own C(--windows-service), behind
          kube-log-runner.exe.
        type: str
        choices: [nssm, sc]
        default: nssm
      environment:
        description:
          - Secret. Variables of the service's own environment, besides KUBE_NETWORK. A change restarts it.
        type: dict
        default: {}
      depends_on:
        description:
          - Services that Windows has to start before, such as V(kubelet), and with which it stops this one.
          - None by default. If one of them does not come up at boot, this service stays down.
        type: list
        elements: str
        default: []
      start_timeout:
        description: Seconds in which it has to be healthy.
        type: int
        default: 120
      stop_timeout:
        description: Seconds in which the service has to stop.
        type: int
        default: 120
seealso:
  - module: winkube.node.win_kubelet
"""

EXAMPLES = r"""
- name: Run kube-proxy in l2bridge
  winkube.node.win_kube_proxy:
    version: 1.37.1
    node_name: win1
    source:
      url: https://dl.k8s.io/release/v1.37.1/bin/windows/amd64/kube-proxy.exe
      checksum: https://dl.k8s.io/release/v1.37.1/bin/windows/amd64/kube-proxy.exe.sha256

- name: Run it in overlay by sc.exe, with direct server return
  winkube.node.win_kube_proxy:
    version: 1.37.1
    node_name: win1
    source:
      url: https://dl.k8s.io/release/v1.37.1/bin/windows/amd64/kube-proxy.exe
      checksum: https://dl.k8s.io/release/v1.37.1/bin/windows/amd64/kube-proxy.exe.sha256
    network_mode: overlay
    dsr: true
    service: {manager: sc}
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
  sample: [{text: restarted kube-proxy, state: done}]
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
