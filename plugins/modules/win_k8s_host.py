# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of win_k8s_host; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: win_k8s_host
short_description: Prepares a Windows machine to become a Kubernetes node
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Says first whether the machine can become the node that is wanted at all - Windows build, Kubernetes, containerd,
    pause image, network mode,
    rights, network adapter - with all reasons at once, before anything is touched. With O(kubernetes_version) and
    O(cluster) the cluster's API is asked for its version before that, since all later steps need it.
  - Makes the folders that a node's programs lie in, and takes them out of the hands of anybody but administrators.
  - Any user of a Windows machine can make C(C:\k) first and would own it, and services run programs from there as
    LocalSystem. A folder
    that somebody else owns, or may write to, gets a new owner and a protected access list.
  - A link or junction in the place of a folder is refused, never followed.
  - Turns on the Windows feature Containers, gives the machine its name, and sets the machine's proxy, as far as asked
    for. The feature and
    the name are in force after a restart, which the task makes and waits for.
options:
  kubernetes_version:
    description: The Kubernetes release that the node is for. Empty for none.
    type: str
    default: ""
  containerd_version:
    description: The containerd release that the node is for. Empty for none.
    type: str
    default: ""
  pause_image:
    description: The sandbox image; empty for the one that fits the Kubernetes release.
    type: str
    default: ""
  pause_image_source:
    description: Whose sandbox image; V(microsoft) has signed programs.
    type: str
    choices: [kubernetes, microsoft]
    default: kubernetes
  allow_unsupported_os:
    description: Try a build of Windows that this Kubernetes does not support. What cannot work is refused all the same.
    type: bool
    default: false
  network:
    description: The cluster's network, and the node's place in it.
    type: dict
    suboptions:
      mode:
        description: V(overlay) needs more of Windows than V(l2bridge). Empty where no network is set up.
        type: str
        default: ""
      interface_name:
        description: The network adapter of the node's address. It has to be there if O(kubernetes_version) is given.
        type: str
        default: Ethernet
      address:
        description: The node's address; empty for the first of the adapter.
        type: str
        default: ""
      cluster_cidr:
        description: The pods' network, not reached by way of a proxy.
        type: str
        default: ""
      service_cidr:
        description: The services' network, not reached by way of a proxy.
        type: str
        default: ""
      domain:
        description: The cluster's domain, not reached by way of a proxy.
        type: str
        default: ""
  computer_name:
    description: The machine's name, up to 15 characters, set before it joins a cluster. Empty leaves it as it is.
    type: str
    default: ""
  proxy:
    description:
      - The web proxy as variables of the machine's environment (HTTP_PROXY, HTTPS_PROXY, NO_PROXY). Services see them
        after a restart of the
        machine only, so each service has its own setting for this. Without a proxy the variables are left alone.
    type: dict
    suboptions:
      http:
        description:
          - Secret. It may hold a password.
          - The address of the proxy for http.
        type: str
        default: ""
      https:
        description:
          - Secret. It may hold a password.
          - The address of the proxy for https.
        type: str
        default: ""
      no_proxy:
        description:
          - What is reached without the proxy, beside the machine itself, its own network, and the cluster's
            networks and domain.
        type: list
        elements: str
        default: []
  page_file_min_mb:
    description:
      - Megabytes that the page files together have to be allowed to grow to; less is a warning, none at all always.
    type: int
    default: 0
  require_encryption:
    description:
      - Refuse the machine unless BitLocker protects the volume of the kubelet's folder; otherwise that is a
        warning.
    type: bool
    default: false
  gmsa:
    description:
      - Whether pods will use group Managed Service Accounts. What of Windows stands in their way is a warning; nothing
        is changed for them.
    type: bool
    default: false
  log:
    description:
      - Limits of the services' logs that nobody else keeps small, what nssm has rotated and the one that containerd
        holds open. A scheduled task looks at them each hour; not where O(runner=inline), which makes no tasks.
    type: dict
    suboptions:
      max_mb:
        description: Megabytes at which containerd's log is put aside and emptied.
        type: int
        default: 10
      keep_files:
        description: So many older files of each log stay. V(0) takes the task away, and none is removed.
        type: int
        default: 10
      keep_days:
        description: Days after which older files are removed.
        type: int
        default: 14
  reboot:
    description:
      - Restart the machine where a change is only in force after a restart. With V(false) a warning says what waits
        for it.
    type: bool
    default: true
  reboot_timeout:
    description: Seconds for which a machine that restarts is waited for.
    type: int
    default: 900
extends_documentation_fragment:
  - winkube.node.node
  - winkube.node.drain
  - winkube.node.cluster
  - winkube.node.attributes
seealso:
  - module: winkube.node.win_containerd
  - module: winkube.node.win_k8s_node_info
"""

EXAMPLES = r"""
- name: Prepare the machine
  winkube.node.win_k8s_host:

- name: Prepare the machine, with the programs on another drive
  winkube.node.win_k8s_host:
    node:
      root: D:\k
      cni_bin_dir: D:\k\cni
      cni_conf_dir: D:\k\cni\config

- name: Prepare the machine for Kubernetes 1.37, with a name of its own, and restart it if that is needed
  winkube.node.win_k8s_host:
    kubernetes_version: 1.37.1
    containerd_version: 2.3.7
    computer_name: win1
    network:
      mode: overlay
      interface_name: Ethernet
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
  sample: [{text: 'created the folder C:\k\cni', state: done}]
rebooted:
  description: Whether the machine was restarted.
  returned: when something needs a restart
  type: bool
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
