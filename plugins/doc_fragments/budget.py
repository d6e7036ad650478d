# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The option that says how many Nodes may be away at once."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  budget:
    description:
      - How many Windows Nodes may be away at once, over all runs and people. Away is a Node that is cordoned, is not
        Ready, or is marked by a run. Before a run takes a Node away it marks it, in the annotation
        C(winkube.node/mark), and looks whether the budget holds with it; else it takes the mark back and waits.
      - Nodes with the annotation C(winkube.node/paused) are refused, and not counted; nor are Nodes that
        were never Ready.
    type: dict
    suboptions:
      max_unavailable:
        description: A number of Nodes from 1, or a percentage of those that count, rounded down, and at least 1.
        type: str
        default: '1'
      nodes:
        description: A label selector of the Nodes that count.
        type: str
        default: kubernetes.io/os=windows
      timeout:
        description: Seconds for which a full budget is waited for.
        type: int
        default: 600
      take_over:
        description: The id of a run that is dead, as the refusal names it, where only a person can know that it is.
        type: str
        default: ''
      until:
        description: A time of day or a duration, after which a full budget is no longer waited for; empty for none.
        type: str
        default: ''
      events:
        description: Whether a full budget, and a Node that is taken over, are told as Events of the Nodes.
        type: bool
        default: false
      why:
        description: What the run does; others that meet its mark are told.
        type: str
        default: ''
"""
