# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of k8s_windows_claim; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: k8s_windows_claim
short_description: Takes Windows nodes of a batch out of service for a run, as far as a budget allows
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Marks all Nodes of O(nodes) or none, before the first change of a batch. It neither cordons nor drains.
  - Each host of the batch runs the task with the same list; the first one asks the cluster, and all use its answer. So
    no host holds one Node while it waits for another.
  - A list of more Nodes than the budget can ever allow is refused at once. Where the budget is full, the task waits
    O(budget.timeout) seconds, then fails, or with O(full=report) says so and does nothing.
  - A Node that the cluster does not have yet needs no mark. Neither does one that a person has cordoned; a run never
    undoes that cordon.
  - M(winkube.node.win_k8s_uncordon) removes the mark.
  - Asks the cluster only; makes no remote call.
extends_documentation_fragment:
  - winkube.node.cluster
  - winkube.node.budget
attributes:
  check_mode:
    support: full
    description: Says whether the budget has room now.
  diff_mode:
    support: none
    description: There is nothing to show but the steps.
  idempotent:
    support: full
    description: Run again in the same run, it changes nothing.
  platform:
    support: full
    platforms: posix
    description: The work happens on the controller.
options:
  nodes:
    description: The Nodes that the run takes out of service together.
    type: list
    elements: str
    required: true
  node_name:
    description: The Node of this host; the task reports a change if it gets a mark.
    type: str
    default: ''
  full:
    description: What to do if the budget is still full after the timeout.
    type: str
    choices: [fail, report]
    default: fail
seealso:
  - module: winkube.node.win_k8s_drain
  - module: winkube.node.win_k8s_uncordon
"""

EXAMPLES = r"""
- name: Claim the nodes of this batch
  winkube.node.k8s_windows_claim:
    nodes: [win1, win2]
    node_name: win1
    cluster: {kubeconfig: ~/.kube/config}
    budget: {max_unavailable: 25%, why: updates}
"""

RETURN = r"""
steps:
  description: The mark on this host's Node, if it got one now.
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
  sample: [{text: marked win1, state: done}]
full:
  description: Why nothing was marked, with who is away; empty if the Nodes are this run's.
  returned: always
  type: str
  sample: ''
"""
