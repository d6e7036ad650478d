# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of win_k8s_diagnose; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: win_k8s_diagnose
short_description: Finds out what is wrong with a Windows node, why, and which command fixes it
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Checks everything that verify and M(winkube.node.hns_check) check, and the node's pods, their traffic and logs.
    RV(causes) lists each cause with its remedy, and under it the findings that follow from it.
  - Reads the node twice, O(watch) seconds apart, and the cluster once, and makes connections to test them. RV(notes)
    lists what Windows cannot do and what could not be checked, with the command to run by hand. C(docs/troubleshooting)
    of the collection has a page for each question of the troubleshooting sections of Kubernetes' pages for Windows.
  - Changes nothing. It runs C(curl.exe) and C(Resolve-DnsName) in one running pod of the node, unless
    O(exec_in_pods=false), and with a proxy C(curl.exe) on the node.
  - The playbook C(winkube.node.diagnose) runs it on all nodes and writes one report.
extends_documentation_fragment:
  - winkube.node.node
  - winkube.node.cluster
  - winkube.node.expected
  - winkube.node.components
attributes:
  check_mode:
    support: full
    description: It only reads; registries are not asked through a proxy.
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
  join:
    description: How the node joined its cluster; decides which arguments the kubelet should have.
    type: str
    choices: [kubeadm, bootstrap_kubeconfig, kubeconfig]
    default: kubeadm
  dns_service_ip:
    description: The address of the cluster's DNS service, empty if not known.
    type: str
    default: ''
  cluster_domain:
    description: The cluster's DNS domain.
    type: str
    default: cluster.local
  pause_image_source:
    description: The registry of the pause image that the diagnosis names as needed.
    type: str
    choices: [kubernetes, microsoft]
    default: kubernetes
  http_proxy:
    description:
      - Secret. The proxy of the node; empty if there is none.
    type: str
    default: ''
  https_proxy:
    description:
      - Secret. The same for https.
    type: str
    default: ''
  registries:
    description: Registries, by host name or URL, that the node must be able to reach.
    type: list
    elements: str
    default: []
  target:
    description: An address or URL outside the cluster that pods must be able to reach. It is tried with C(curl.exe),
      never with C(ping), since Windows pods have no outbound rules for ICMP.
    type: str
    default: ''
  pod_wait:
    description: Seconds after which a pod that is still being created counts as stuck.
    type: int
    default: 300
  exec_in_pods:
    description: Whether commands may be run in one of the node's pods. If not, the notes say what was not checked, with
      the command to run by hand.
    type: bool
    default: true
  stats_samples:
    description: How often to read CPU figures from the kubelet's summary; V(0) skips this.
    type: int
    default: 3
  stats_interval:
    description: Seconds between two of them.
    type: int
    default: 2
  hyperv_adapters:
    description: What C(Get-VMNetworkAdapter) says on the Hyper-V hosts, as objects with C(VMName), C(Name),
      C(MacAddress) and C(MacAddressSpoofing). Leave it out if there is no Hyper-V host in the inventory.
    type: list
    elements: dict
  message:
    description: Your error message; RV(message_means) lists its known causes.
    type: str
    default: ''
  checks:
    description: The ids of the findings to report, such as V(pod.stuck), or patterns such as V(pod.*); empty for all.
    type: list
    elements: str
    default: []
  depth:
    description:
      - V(quick) checks only services, programs, the network and the Node, which takes seconds, and waits up to
        O(timeout) for them. It makes no test connections, and only checks that the logs are being written. The playbook
        C(winkube.node.verify) uses it.
      - V(full) also checks pods, their traffic and logs, and makes test connections.
    type: str
    choices: [quick, full]
    default: full
  timeout:
    description: Seconds to wait after a restart until there is no finding with the severity V(error); only with
      O(depth=quick).
    type: int
    default: 0
  watch:
    description: Seconds between the two readings. A program that keeps ending is noticed if it ends in between.
    type: int
    default: 10
  fail_on:
    description: The lowest severity of a finding that makes the task fail.
    type: str
    choices: [error, warning, never]
    default: error
seealso:
  - module: winkube.node.k8s_windows_diagnosis
  - module: winkube.node.hns_check
  - module: winkube.node.k8s_windows_cri_info
"""

EXAMPLES = r"""
- name: Ask everything
  winkube.node.win_k8s_diagnose:
    node_name: win1
    kubernetes_version: 1.37.0
    cluster: {kubeconfig: ~/.kube/config}
    target: https://www.example.com/
    fail_on: never
  register: diagnosis

- name: Look whether the node works again after a restart
  winkube.node.win_k8s_diagnose:
    node_name: win1
    kubernetes_version: 1.37.0
    cluster: {kubeconfig: ~/.kube/config}
    depth: quick
    timeout: 300

- name: What does this message mean?
  winkube.node.win_k8s_diagnose:
    node_name: win1
    kubernetes_version: 1.37.0
    message: "unable to do port forwarding: wincat not found"
"""

RETURN = r"""
findings:
  description: All findings, errors first, each as M(winkube.node.hns_check) returns it.
  returned: always
  type: list
  elements: dict
causes:
  description: The findings that no other explains, errors first, each as M(winkube.node.hns_check) returns it, with
    C(consequences), the findings that follow from it.
  returned: when the task does not fail
  type: list
  elements: dict
said:
  description: The same for people, a line each - what is wrong, what fixes it, what is fine.
  returned: when the task does not fail
  type: list
  elements: str
  sample:
    - "The pod network is not there. network cbr0: it is not there; there are: External; wanted a network of this name."
    - "    ansible-playbook winkube.node.repair --limit win1 -e winkube_repair=network"
notes:
  description: What Windows cannot do, and what could not be checked, as findings with the severity V(note).
  returned: when the task does not fail
  type: list
  elements: dict
broken:
  description: The ids of all errors.
  returned: always
  type: list
  elements: str
counts:
  description: How many findings of each severity, and how many notes.
  returned: always
  type: dict
  sample: {errors: 1, warnings: 0, notes: 5}
looked_at:
  description: What was checked, with the running releases, and the number of checks.
  returned: always
  type: str
  sample: "Looked at containerd 2.3.7, kubelet 1.37.1, the network: 131 checks."
host:
  description: The inventory's name of the node.
  returned: always
  type: str
windows:
  description: Its Windows.
  returned: with O(depth=full), when the task does not fail
  type: str
message:
  description: O(message).
  returned: with O(depth=full), when the task does not fail
  type: str
message_means:
  description:
    - The known causes of O(message), the most specific first, each with id, title, cause, remedy, and C(ours), the
      command of this collection for the remedy; with C(causes), their ids, where it is a list of several. Empty for an
      unknown message.
    - The page C(docs/messages.md) lists them.
  returned: with O(depth=full), when the task does not fail
  type: list
  elements: dict
services:
  description: The services with the exit codes that Windows reports, one line each.
  returned: with O(depth=full), when the task does not fail
  type: list
  elements: str
  sample: ["kubelet: running, WIN32_EXIT_CODE 0 (0x0), SERVICE_EXIT_CODE 0 (0x0)"]
facts:
  description: The facts for a bug report, one line each.
  returned: with O(depth=full), when the task does not fail
  type: list
  elements: str
  sample: ["Kubernetes: v1.37.0", "Windows: Windows Server 2025 (10.0.26100)", "container runtime: containerd://2.3.7"]
picture:
  description: The adapters, HNS networks, endpoints and services, and how they are connected, for the report.
  returned: with O(depth=full), when the task does not fail
  type: dict
winkube:
  description: How the node was read.
  returned: always
  type: dict
  contains:
    calls:
      description: Remote calls this task made.
      type: int
"""
