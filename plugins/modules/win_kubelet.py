# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of win_kubelet; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: win_kubelet
short_description: Installs the kubelet on a Windows node and runs it as a service
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Brings in kubelet.exe, makes its folders and its service, and gives it arguments that its release knows.
  - The whole command line is checked before the node is touched; what kubeadm wrote into C(kubeadm-flags.env) is a part
    of it. A flag or feature gate with which this release would not start is refused.
  - kubeadm's own files, C(config.yaml) and C(kubeadm-flags.env), are never written. From Kubernetes 1.30 on settings go
    into a drop-in beside them, before into arguments.
  - Without a kubeconfig the kubelet cannot run. Its service is then defined and not started; the join starts it.
  - The Windows firewall gets a rule (C(winkube-kubelet)) for its port 10250, without which nobody has logs, exec and
    metrics.
  - It is restarted only if the program, the command line, the environment or the drop-in change. If it then does not
    answer on its healthz port, everything is put back as it was.
extends_documentation_fragment:
  - winkube.node.node
  - winkube.node.drain
  - winkube.node.cluster
  - winkube.node.inbound
  - winkube.node.nssm
  - winkube.node.log_runner
  - winkube.node.attributes
options:
  version:
    description: The release of Kubernetes, such as V(1.37.1). Refused if it does not go with the cluster's API server.
    type: str
    required: true
  node_name:
    description: The name of the Node object. Written in lower case.
    type: str
    required: true
  source:
    description: Where kubelet.exe comes from.
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
    description: Components whose sources may come without a checksum, such as kubelet.
    type: list
    elements: str
    default: []
  join:
    description:
      - How the node joins. With V(kubeadm) the kubelet gets C(config.yaml), a bootstrap kubeconfig and drop-ins.
      - With V(bootstrap_kubeconfig) it gets a bootstrap kubeconfig, and with V(kubeconfig) neither; all is an argument,
        also who may talk to the kubelet, for which the cluster's CA lies in C(pki\ca.crt) of C(node.kubernetes_dir).
    type: str
    choices: [kubeadm, bootstrap_kubeconfig, kubeconfig]
    default: kubeadm
  cluster_dns:
    description: Addresses of the cluster's DNS service.
    type: list
    elements: str
    default: [10.96.0.10]
  cluster_domain:
    description: The cluster's DNS domain.
    type: str
    default: cluster.local
  verbosity:
    description: How much the kubelet logs.
    type: int
    default: 2
  priority_class:
    description: The priority of its process. Below V(ABOVE_NORMAL_PRIORITY_CLASS) busy pods can starve it.
    type: str
    default: ABOVE_NORMAL_PRIORITY_CLASS
  system_reserved:
    description:
      - What Windows and its services need, by resource. Lessens what pods may request; nothing enforces it.
      - C(cpu) may be a share of the node's logical processors, for example V(10%).
    type: dict
    default: {memory: 2Gi}
  kube_reserved:
    description:
      - What kubelet and containerd need, by resource. Only lessens what pods may request.
      - C(cpu) may be a share, as in O(system_reserved).
    type: dict
    default: {}
  eviction_hard:
    description: Thresholds by signal. Before Kubernetes 1.31 they only lessen what pods may request.
    type: dict
    default: {}
  eviction_soft:
    description: Thresholds by signal. Without effect before Kubernetes 1.31.
    type: dict
    default: {}
  eviction_soft_grace_period:
    description: Grace periods by signal.
    type: dict
    default: {}
  taints:
    description: Taints of a new Node, such as V(os=windows:NoSchedule). An empty list for none.
    type: list
    elements: str
    default: ['os=windows:NoSchedule']
  labels:
    description: Labels of a new Node.
    type: dict
    default: {}
  node_ip:
    description:
      - The node's address. Empty for O(management_ip), or the first IPv4 address of O(interface_name).
      - A kubelet that is not told takes what the machine's own name resolves to, which may be the address of flannel's
        endpoint on the host.
    type: str
    default: ''
  interface_name:
    description: The adapter that the node's address is on.
    type: str
    default: Ethernet
  management_ip:
    description: The node's address. Empty for the first IPv4 address of O(interface_name). Refused if no adapter
      has it.
    type: str
    default: ''
  cluster_cidr:
    description: The pods' network.
    type: str
    default: 10.244.0.0/16
  feature_gates:
    description: Feature gates by name, V(true) or V(false). One that this release does not know is refused.
    type: dict
    default: {}
  pause_image:
    description: The sandbox image. A kubelet is told up to Kubernetes 1.26; empty for the one that fits O(version).
    type: str
    default: ''
  pause_image_source:
    description: Whose sandbox image; V(microsoft) has signed binaries.
    type: str
    choices: [kubernetes, microsoft]
    default: kubernetes
  container_runtime:
    description:
      - What runs the pods. V(dockershim) is the kubelet's own way to a Docker that is there already, up to Kubernetes
        1.23, with O(join=kubeconfig); this collection installs no Docker.
    type: str
    choices: [containerd, dockershim]
    default: containerd
  containerd_version:
    description: The containerd that runs beside it; empty if not known. Decides about WindowsHostNetwork.
    type: str
    default: ''
  extra_arguments:
    description: Further arguments, such as V(--max-pods=60). Checked as the others are.
    type: list
    elements: str
    default: []
  service:
    description: How the service is made and run.
    type: dict
    suboptions:
      manager:
        description: V(nssm), or V(sc) for sc.exe and the kubelet's own C(--windows-service), behind
          kube-log-runner.exe.
        type: str
        choices: [nssm, sc]
        default: nssm
      environment:
        description:
          - Secret. Variables of the service's own environment, such as HTTPS_PROXY. A change restarts it.
        type: dict
        default: {}
      depends_on:
        description:
          - Services that Windows has to start before, such as V(containerd), and with which it stops this one.
          - None by default. If one of them does not come up at boot, this service stays down.
        type: list
        elements: str
        default: []
      start_timeout:
        description: Seconds in which it has to be healthy.
        type: int
        default: 240
      stop_timeout:
        description: Seconds in which the service has to stop.
        type: int
        default: 120
seealso:
  - module: winkube.node.win_containerd
  - module: winkube.node.win_kube_proxy
"""

EXAMPLES = r"""
- name: Run a kubelet
  winkube.node.win_kubelet:
    version: 1.37.1
    node_name: win1
    source:
      url: https://dl.k8s.io/release/v1.37.1/bin/windows/amd64/kubelet.exe
      checksum: https://dl.k8s.io/release/v1.37.1/bin/windows/amd64/kubelet.exe.sha256

- name: Run it by sc.exe, with more reserved and labels for a new node
  winkube.node.win_kubelet:
    version: 1.37.1
    node_name: win1
    source:
      url: https://builds.example.com/kubelet.exe
      checksum: sha256:5a924c98a2a1d9d6dca4e9e6f9f3d7f5a3a2a8d05f65d4a0a1a6f7f0f28c1b1e
    system_reserved: {cpu: 500m, memory: 4Gi}
    labels: {pool: windows}
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
  sample: [{text: restarted kubelet, state: done}]
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
