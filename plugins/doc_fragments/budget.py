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
        Ready, or is marked by a run. Before a run takes a Node out of service it marks it, in the annotation
        C(winkube.node/mark), and checks that the budget still holds; if not, it removes the mark and waits.
      - Nodes with the annotation C(winkube.node/paused) are refused, and not counted; nor are Nodes that
        were never Ready.
    type: dict
    suboptions:
      max_unavailable:
        description: A number of Nodes, at least 1, or a percentage of the Nodes that count, rounded down, but at least
          1.
        type: str
        default: '1'
      nodes:
        description: A label selector of the Nodes that count.
        type: str
        default: kubernetes.io/os=windows
      timeout:
        description: Seconds to wait while the budget is full.
        type: int
        default: 600
      take_over:
        description: The id of a dead run, as the refusal prints it. Needed where only a person can know that the run is
          dead.
        type: str
        default: ''
      until:
        description: A time of day or a duration after which the run stops waiting for a full budget; empty for no
          limit.
        type: str
        default: ''
      events:
        description: Whether to create Events on the Nodes when the budget is full or a Node is taken over.
        type: bool
        default: false
      why:
        description: What the run does. Other runs that find its mark print this.
        type: str
        default: ''
"""
