# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of k8s_windows_conditions; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: k8s_windows_conditions
short_description: Records on a Node, as a condition and an Event, whether it is as wanted
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Publishes what this run's record of the host says (docs/record.md). C(winkube.node/UpToDate) is V(False) with the
    steps that were planned and are not done, V(True) if there are none, V(Unknown) where the machine could not be
    planned.
  - C(winkube.node/Healthy) is V(False) if the last repair of the run was in vain, and V(Unknown) while one has left its
    work to roles. Without a repair in the run it is written, as V(True), to a Node of which nothing is left to do and
    that has no such condition yet, or is V(Unknown).
  - A condition is written only if status, reason or message changes, with one Event for each. Nothing is written to
    a Node that already says so.
  - The Nodes are read in one list for all hosts of the task; that of a host which the run has changed or repaired is
    read by itself. Where there is no such Node, nothing is done.
  - A cluster that refuses it, or does not answer, is a warning.
extends_documentation_fragment:
  - winkube.node.cluster
attributes:
  check_mode:
    support: full
    description: Says what it would write.
  diff_mode:
    support: none
    description: There is nothing to show but the steps.
  idempotent:
    support: full
    description: Run again, it writes nothing.
  platform:
    support: full
    platforms: posix
    description: The work happens on the controller.
options:
  node_name:
    description: The Node.
    type: str
    required: true
  applied:
    description:
      - The fingerprint of the variables that are true now, kept in the annotation C(winkube.node/applied);
        M(winkube.node.win_k8s_node_info) returns it. Empty leaves the annotation as it is.
    type: str
    default: ''
  repair_alone:
    description: Writes C(winkube.node/Healthy) alone, of the last repair of the run. For a run that has not planned the
      node.
    type: bool
    default: false
seealso:
  - module: winkube.node.k8s_windows_look
  - module: winkube.node.win_k8s_node_info
"""

EXAMPLES = r"""
- name: Say on the Node what differs
  winkube.node.k8s_windows_conditions:
    node_name: win1
    cluster: {kubeconfig: ~/.kube/config}
"""

RETURN = r"""
steps:
  description: What was written.
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
  sample: [{text: set winkube.node/UpToDate of win1 to False (Differs), state: done}]
"""
