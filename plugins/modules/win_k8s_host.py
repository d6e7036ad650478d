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
  - Makes the folders that a node's programs lie in, and takes them out of the hands of anybody but administrators.
  - Any user of a Windows machine can make C(C:\k) first and would own it, and services run programs from there as
    LocalSystem. A folder
    that somebody else owns, or may write to, gets a new owner and a protected access list.
  - A link or junction in the place of a folder is refused, never followed.
extends_documentation_fragment:
  - winkube.node.node
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
  sample: [{text: 'make the folder C:\k\cni', state: done}]
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
    batch:
      description: The id of the batch; its journal is on the node.
      type: str
    calls:
      description: Remote calls this task made.
      type: int
"""
