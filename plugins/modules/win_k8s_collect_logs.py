# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of win_k8s_collect_logs; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: win_k8s_collect_logs
short_description: Collects logs and state of a Windows node, without secrets, into a bundle on the controller
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Reads logs (C(C:\k\*.log), the folders that the services' own command lines name, containerd's), settings
    (config.toml, cni.conf, subnet.env, SourceVip.json, net-conf.json, the kubelet's), HNS's own JSON, adapters and
    services, and runs Windows' own tools and crictl for the rest (ipconfig, routes, ports, firewall, sc.exe, event
    logs).
  - The bundle is a folder of the host's name below O(dest) and a zip of the same name beside it. It has a
    C(manifest.json) that says where each file comes from and what was left out, and an C(issue_report.md) to be filled
    in.
  - Secrets are removed from each text on the controller, before it is written to disk. Kubeconfigs, keys, credential
    specs and the volumes of pods are not even fetched. A trace (O(hnstrace=stop)) is not text and stays as Windows
    wrote it.
  - Of a file larger than 384 KB the first 64 KB and the last 320 KB are fetched, of a program's output 64 KB.
  - Run again with the same O(dest), it fetches only files that have changed or are missing.
extends_documentation_fragment:
  - winkube.node.node
  - winkube.node.components
  - winkube.node.cluster
attributes:
  check_mode:
    support: full
    description: Says what would be collected. No program is run, nothing is written.
  diff_mode:
    support: none
    description: It changes nothing but the bundle.
  idempotent:
    support: partial
    description: Files are fetched once; what programs say differs each time.
  platform:
    support: full
    platforms: windows
    description: The nodes are Windows.
options:
  dest:
    description: The folder on the controller in which the bundle is created.
    type: path
    required: true
  files:
    description: More files of the node, by full path. Files that may contain secrets are left out here as well.
    type: list
    elements: str
    default: []
  redact:
    description: Regular expressions for other text that must not be in the bundle.
    type: list
    elements: str
    default: []
  max_total:
    description: The maximum size of all files of the bundle together, in MB, without a trace. The manifest names what
      did not fit.
    type: int
    default: 20
  events:
    description: How many of the newest events to collect from each event log.
    type: int
    default: 200
  channels:
    description:
      - The event logs. Empty for System, Application, and the logs of HNS, the compute service and the virtual switch.
    type: list
    elements: str
    default: []
  cloud:
    description: The cloud provider, for the report; empty to take it from the Node (C(providerID)).
    type: str
    default: ''
  hnstrace:
    description:
      - V(start) begins a trace of HNS and the virtual switch and collects nothing. V(stop) ends it, and collects its
        file with everything else.
    type: str
    choices: [none, start, stop]
    default: none
  hnstrace_script:
    description:
      - A script on the node that begins the trace, such as V(C:\\k\\debug\\starthnstrace.cmd); empty for netsh.exe.
    type: str
    default: ''
  hnstrace_file:
    description: Where on the node the trace is written.
    type: str
    default: C:\server.etl
  hnstrace_max:
    description: The maximum size of the trace in MB; the oldest events are overwritten. A script of your own decides
      this itself.
    type: int
    default: 250
  node_name:
    description: The name of the Node; empty for the name in the inventory.
    type: str
    default: ''
  kubernetes_version:
    description: The Kubernetes that the node runs. Empty if it runs none; then only containerd's logs are looked for.
    type: str
    default: ''
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
    description: The kind of pod network, for the report.
    type: str
    default: l2bridge
  cluster_cidr:
    description: The pods' network, for the report.
    type: str
    default: ''
  service_cidr:
    description: The services' network, for the report.
    type: str
    default: ''
seealso:
  - module: winkube.node.win_k8s_diagnose
"""

EXAMPLES = r"""
- name: Collect what an issue needs
  winkube.node.win_k8s_collect_logs:
    dest: ./logs
    node: "{{ winkube_node }}"
    kubernetes_version: "{{ winkube_kubernetes_version }}"
    cluster: "{{ winkube_cluster }}"

- name: Without the name of the project
  winkube.node.win_k8s_collect_logs:
    dest: ./logs
    redact: ['(?i)falcon']
    files: ['C:\app\app.log']
    node: "{{ winkube_node }}"
"""

RETURN = r"""
bundle:
  description: The zip on the controller.
  returned: when something was collected
  type: str
  sample: /srv/logs/win1.zip
directory:
  description: The folder that the zip was made from.
  returned: when something was collected
  type: str
report:
  description: The issue's text.
  returned: when something was collected
  type: str
files:
  description: How many files the bundle has.
  returned: when something was collected
  type: int
fetched:
  description: How many of them are new or have changed.
  returned: when something was collected
  type: int
bytes:
  description: Their total size in bytes.
  returned: when something was collected
  type: int
redacted:
  description: How many secrets were removed from them.
  returned: when something was collected
  type: int
left_out:
  description: What is not in the bundle, and why.
  returned: when something was collected
  type: dict
  sample: {events/Microsoft-Windows-Hyper-V-Compute-Admin.txt: wevtutil.exe is not on the node}
would_collect:
  description: Files and programs.
  returned: in check mode
  type: list
  elements: str
trace:
  description: Where the trace is written.
  returned: with O(hnstrace=start)
  type: str
winkube:
  description: How it was done.
  returned: always
  type: dict
  contains:
    calls:
      description: Remote calls this task made.
      type: int
"""
