# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of win_k8s_uncordon; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: win_k8s_uncordon
short_description: Lets pods return to a Windows node that a run of this collection drained
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - The last task of a run that has taken Nodes out of service. Waits until the Node is Ready, then uncordons it and
    removes the run's mark, the annotation C(winkube.node/mark).
  - A Node that someone else cordoned stays cordoned, and so does a Node that another run is working on. A Node that a
    dead run left cordoned is uncordoned if this run can tell that the other is over, or if O(budget.take_over) names
    it.
  - Asks the cluster only; makes no remote call to the node.
extends_documentation_fragment:
  - winkube.node.node
  - winkube.node.cluster
  - winkube.node.budget
attributes:
  check_mode:
    support: full
    description: Says what it would do.
  diff_mode:
    support: none
    description: There is nothing to show but the step.
  idempotent:
    support: full
    description: Run again, it changes nothing.
  platform:
    support: full
    platforms: windows
    description: The nodes are Windows; the work happens on the controller.
options:
  node_name:
    description: The name of the Node.
    type: str
    required: true
  timeout:
    description: Seconds to wait for the Node to be Ready.
    type: int
    default: 300
seealso:
  - module: winkube.node.win_k8s_diagnose
"""

EXAMPLES = r"""
- name: Uncordon the node
  winkube.node.win_k8s_uncordon:
    node_name: win1
    cluster: {kubeconfig: ~/.kube/config}
"""

RETURN = r"""
steps:
  description: What was done, or in check mode would be done.
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
  sample: [{text: uncordoned win1, state: done}]
"""
