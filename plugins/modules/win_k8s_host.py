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
  - Checks first whether the machine can become the wanted node at all - Windows build, Kubernetes, containerd,
    pause image, network mode,
    rights, network adapter - with all reasons at once, before anything is touched. With O(kubernetes_version) and
    O(cluster) the cluster's API is asked for its version before that, since all later steps need it.
  - Creates the folders for a node's programs, and lets nobody but administrators write to them.
  - Any user of a Windows machine can create C(C:\k) first and would then own it, and services run programs from there
    as LocalSystem. A folder that someone else owns, or may write to, gets a new owner and a protected access list.
  - A link or junction in place of a folder is refused, never followed.
  - Turns on the Windows feature Containers, and, if asked to, sets the machine's name and proxy. The feature and the
    name take effect after a restart, which the task makes and waits for.
extends_documentation_fragment:
  - winkube.node.node
  - winkube.node.golden_image
  - winkube.node.drain
  - winkube.node.cluster
  - winkube.node.components.host
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
      description: The node's answer to the batch; null if nothing had to be done.
      type: str
    outcome:
      description: The outcome of the batch.
      type: str
    recovered:
      description: The batch of an earlier run that was finished or rolled back first, and its outcome.
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
