# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of hns_check; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hns_check
short_description: Finds what is wrong with the pod network of a Windows node
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Asks the Host Network Service (HNS) for its networks, endpoints, namespaces and policy lists, and reads the
    adapters, the services C(hns) and C(vmcompute), C(cni.conf), C(net-conf.json), C(subnet.env) and the arguments of
    kube-proxy and flanneld, all in one remote call. Changes nothing.
  - Compares all of these with each other and with the expected values, and, with access to the cluster, with its
    Services, EndpointSlices, the node's pods and its Node. Without access RV(left_out) names the checks that were not
    made.
  - Each finding has a stable id, the value that was seen, the value that was expected, its cause and its remedy. The
    page C(docs/hns-check.md) lists the checks.
  - An expected value that is empty is not checked.
extends_documentation_fragment:
  - winkube.node.node
  - winkube.node.cluster
attributes:
  check_mode:
    support: full
    description: It only reads.
  diff_mode:
    support: full
    description: It changes nothing, and shows what can be fixed in the CNI configuration.
  idempotent:
    support: full
    description: It only reads.
  platform:
    support: full
    platforms: windows
    description: The nodes are Windows.
options:
  node_name:
    description: The name of the Node object, which kube-proxy must use as its own.
    type: str
    default: ''
  network_name:
    description: The pod network's name in HNS, such as V(cbr0). Empty for the one that C(cni.conf) names.
    type: str
    default: ''
  network_mode:
    description: The pod network's mode, which is its type in HNS.
    type: str
    choices: ['', l2bridge, overlay, transparent, l2tunnel]
    default: ''
  vni:
    description: The overlay's VNI; V(0) for the one in C(net-conf.json).
    type: int
    default: 0
  subnet:
    description: The node's own range of pod addresses, such as V(10.244.3.0/24). Empty for flanneld's lease.
    type: str
    default: ''
  interface_name:
    description: The physical adapter that the pod network is on, such as V(Ethernet).
    type: str
    default: ''
  management_ip:
    description: The host's address in the cluster.
    type: str
    default: ''
  cluster_cidr:
    description: The pods' network.
    type: str
    default: ''
  service_cidr:
    description: The services' network.
    type: str
    default: ''
  cluster_domain:
    description: The cluster's DNS domain, such as V(cluster.local).
    type: str
    default: ''
  plugins_version:
    description: The release of the CNI plugins, which decides the possible values of C(cniVersion). Empty if unknown.
    type: str
    default: ''
  cni_managed_by:
    description: Who runs the pod network, flanneld as a V(service) of the host or the V(cluster). With V(cluster) the
      files of flannel and C(cni.conf) are not compared.
    type: str
    choices: [service, cluster]
    default: service
  kube_proxy_managed_by:
    description: Who runs kube-proxy. With V(cluster) its arguments are not compared.
    type: str
    choices: [service, cluster]
    default: service
  dump:
    description:
      - HNS's answers from elsewhere, as JSON text, used instead of asking the node. Of both of its APIs, v1
        (C(Get-HnsEndpoint | ConvertTo-Json -Depth 20)) and v2 (C(hnsdiag)).
      - Nothing else is read then; HNS's answers are compared only with each other and with the cluster.
    type: dict
    suboptions:
      networks:
        description: Its networks.
        type: str
        default: ''
      endpoints:
        description: Its endpoints.
        type: str
        default: ''
      namespaces:
        description: Its namespaces.
        type: str
        default: ''
      policylists:
        description: Its policy lists or load balancers.
        type: str
        default: ''
      cni_conf:
        description: The text of a CNI configuration, of a node or of your repository.
        type: str
        default: ''
      cni_conf_name:
        description: The name of its file. The extension decides whether it holds one plugin or a list.
        type: str
        default: cni.conf
  port_ranges:
    description:
      - What C(netsh.exe interface ipv4 show dynamicport) and C(show excludedportrange) print on the node, as the
        example shows. With it the free blocks of ports that HNS can still reserve are counted.
    type: dict
    suboptions:
      tcp_dynamic:
        description: The dynamic TCP ports.
        type: str
        default: ''
      tcp_excluded:
        description: The excluded TCP ports.
        type: str
        default: ''
      udp_dynamic:
        description: The dynamic UDP ports.
        type: str
        default: ''
      udp_excluded:
        description: The excluded UDP ports.
        type: str
        default: ''
  vm_adapters:
    description:
      - The network adapters of the node's virtual machine as its Hyper-V host lists them, as JSON. Whether the host
        lets pods send packets cannot be seen from inside the machine. The example shows the command.
      - Without it RV(reminders) asks you to check this, if the node looks like a virtual machine.
    type: str
    default: ''
  fail_on:
    description: The lowest severity of a finding that makes the task fail.
    type: str
    choices: [error, warning, never]
    default: error
seealso:
  - module: winkube.node.win_k8s_repair
  - module: winkube.node.win_k8s_diagnose
"""

EXAMPLES = r"""
- name: Look at the node's network
  winkube.node.hns_check:
    node_name: win1
    network_name: cbr0
    network_mode: l2bridge
    interface_name: Ethernet
    cluster_cidr: 10.244.0.0/16
    service_cidr: 10.96.0.0/12
    cluster: {kubeconfig: ~/.kube/config}

- name: Ask the Hyper-V host whether it lets pods send
  ansible.windows.win_powershell:
    script: |
      Get-VMNetworkAdapter -VMName * | Select-Object VMName, Name, MacAddress,
        @{n='MacAddressSpoofing'; e={[string]$_.MacAddressSpoofing}} | ConvertTo-Json
  delegate_to: hyperv1
  register: vms

- name: Look at the node's network with that
  winkube.node.hns_check:
    vm_adapters: "{{ vms.output | first }}"

- name: List the node's TCP ports
  ansible.windows.win_command:
    argv: [netsh.exe, interface, ipv4, show, "{{ item }}", tcp]
  loop: [dynamicport, excludedportrange]
  register: ports
  changed_when: false

- name: Look whether HNS has ports left
  winkube.node.hns_check:
    port_ranges:
      tcp_dynamic: "{{ ports.results[0].stdout }}"
      tcp_excluded: "{{ ports.results[1].stdout }}"

- name: Look at what a colleague has sent
  winkube.node.hns_check:
    dump:
      endpoints: "{{ lookup('file', 'endpoints.json') }}"
      networks: "{{ lookup('file', 'networks.json') }}"
    fail_on: never

- name: Look at a CNI configuration before it is rolled out
  winkube.node.hns_check:
    dump:
      cni_conf: "{{ lookup('file', 'cni.conf') }}"
    network_name: cbr0
    cluster_cidr: 10.244.0.0/16
    service_cidr: 10.96.0.0/12
  register: looked
  ignore_errors: true

- name: Write it as it should be
  ansible.builtin.copy:
    content: "{{ looked.cni_conf.mended }}"
    dest: files/cni.conf
    mode: '0644'
  delegate_to: localhost
"""

RETURN = r"""
findings:
  description: What is wrong, errors first.
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
      description: The value that was found.
      type: str
    wanted:
      description: The value that was expected; may be empty.
      type: str
    cause:
      description: The usual cause.
      type: str
    remedy:
      description: The remedy. C(text) says it for any cluster, C(ours) what of this collection does it on this host,
        C(action) what carries it out (V(advice) for work by hand), C(command) the command for this host that was
        tried (empty for advice), C(cuts_off) what stops working meanwhile.
      type: dict
    evidence:
      description: Lines that were read.
      type: list
      elements: str
    source:
      description: A public thread about this fault; may be empty.
      type: str
    explains:
      description: The ids, or patterns of ids, of findings that follow from this one.
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
        text: "Restart-Service flanneld: it makes the network; if it does not come, its log says why."
        ours: ansible-playbook winkube.node.repair --limit win1 -e winkube_repair=network
        action: network
        command: ansible-playbook winkube.node.repair --limit win1 -e winkube_repair=network
        cuts_off: Pods of this node have no network until flanneld and kube-proxy are up again.
      evidence: []
      source: https://github.com/kubernetes-sigs/sig-windows-tools/issues/89
      explains: ["cni.network-name", "flannel.*"]
left_out:
  description: The ids of checks that were not made, since the cluster was not asked.
  returned: always
  type: list
  elements: str
cni_conf:
  description:
    - The CNI configuration that the runtime uses - C(path), C(mended), its text with what can be mended (the same text
      if that is nothing), and C(patch), a unified diff, empty if nothing can. M(winkube.node.win_k8s_repair) with
      C(action=cni_conf) writes it on the node.
    - Null if there is none, or if it belongs to another CNI (O(cni_managed_by=cluster)).
  returned: always
  type: dict
reminders:
  description: What cannot be seen from inside the node and was not supplied, one sentence each.
  returned: always
  type: list
  elements: str
counts:
  description: How many objects HNS has of each kind and type, and how many findings there are.
  returned: always
  type: dict
  sample: {networks: 2, networks_l2bridge: 2, endpoints: 4, endpoints_local: 2, endpoints_remote: 2, namespaces: 1,
    policy_lists: 3, policies_elb: 3, errors: 0, warnings: 0}
cni:
  description: Which CNI made the networks, by their names (C(flannel), C(calico), C(azure), C(ovn), C(antrea),
    C(aws-vpc) or C(unknown)), why, and which other CNIs have left traces.
  returned: always
  type: dict
  sample: {name: flannel, why: [network cbr0], others: []}
networks:
  description: HNS's networks, of either API in one shape.
  returned: always
  type: list
  elements: dict
endpoints:
  description: HNS's endpoints.
  returned: always
  type: list
  elements: dict
namespaces:
  description: HNS's namespaces.
  returned: always
  type: list
  elements: dict
policy_lists:
  description: HNS's policy lists, each with its load balancing rules.
  returned: always
  type: list
  elements: dict
adapters:
  description: The host's adapters.
  returned: always
  type: list
  elements: dict
winkube:
  description: How the node was read.
  returned: always
  type: dict
  contains:
    calls:
      description: Remote calls this task made.
      type: int
"""
