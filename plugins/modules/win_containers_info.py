# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of win_containers_info; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: win_containers_info
short_description: Lists a Windows node's containers, from containerd down to HCS and HNS
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Joins what C(ctr -n k8s.io task ls), the process table, C(crictl), HNS, and for each container C(hcsdiag) (its hosts
    file and its C(ipconfig)) say, and reports where they disagree - a task without a process, an address that is not
    that of the HNS endpoint, a hosts file that is not the kubelet's, a DNS suffix of another namespace.
  - Also says whether the layer below containerd is complete - the shim C(containerd-shim-runhcs-v1.exe) beside
    containerd.exe, the service C(vmcompute).
  - Makes one remote call for the list, one for C(crictl), and one for each running container. It changes nothing, but
    leaves the usual journal in the state folder.
  - The findings are warnings; they do not fail the task.
extends_documentation_fragment:
  - winkube.node.node
attributes:
  check_mode:
    support: none
    description: It reads by starting programs on the node, and is skipped.
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
  containers:
    description: Ids of containers, 64 hexadecimal digits each, as C(ctr -n k8s.io task ls) shows them. Empty for all.
    type: list
    elements: str
    default: []
  hcsdiag:
    description: Whether to inspect running containers with C(hcsdiag.exe), which starts C(ipconfig) in each.
    type: bool
    default: true
  cluster_domain:
    description: The DNS domain of the cluster; a pod's suffix is C(<namespace>.svc.<cluster_domain>).
    type: str
    default: cluster.local
seealso:
  - module: winkube.node.k8s_windows_cri_info
"""

EXAMPLES = r"""
- name: Look at the node's containers
  winkube.node.win_containers_info:
  register: looked

- name: Show which process is which pod
  ansible.builtin.debug:
    msg: "{{ item.pid }} {{ item.process.name | default('-') }} {{ item.namespace }}/{{ item.pod }}"
  loop: "{{ looked.containers }}"
"""

RETURN = r"""
containers:
  description: One for each of containerd's tasks, the sandboxes of pods among them.
  returned: success
  type: list
  elements: dict
  contains:
    id:
      description: The container.
      type: str
    pid:
      description: Its process on the node.
      type: int
    status:
      description: The status according to containerd, such as V(RUNNING).
      type: str
    namespace:
      description: The pod's namespace; empty where there is no C(crictl.exe).
      type: str
    pod:
      description: The pod.
      type: str
    container:
      description: The container's name in the pod; empty for the sandbox.
      type: str
    process:
      description: C(name), C(user) and seconds of CPU time (C(cpu_s)) of that process; empty if there is none.
      type: dict
    pod_ips:
      description: The pod's addresses by its hosts file.
      type: list
      elements: str
    adapters:
      description: The adapters that C(ipconfig) shows in the container, with the HNS endpoint, its network, and the CNI
        plugin that is known by that name.
      type: list
      elements: dict
    findings:
      description: The disagreements.
      type: list
      elements: str
    notes:
      description: What could not be inspected, and why.
      type: list
      elements: str
findings:
  description: All disagreements, and what is missing below containerd.
  returned: success
  type: list
  elements: str
notes:
  description: What could not be asked.
  returned: success
  type: list
  elements: str
winkube:
  description: How it was done.
  returned: success
  type: dict
  contains:
    calls:
      description: Remote calls this task made.
      type: int
"""
