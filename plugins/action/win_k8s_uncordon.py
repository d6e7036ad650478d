# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lets pods come back to a node that was emptied; documented in modules/win_k8s_uncordon.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..plugin_utils.cluster.client import wait_for
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.components.options import read
from ..plugin_utils.components.shared_options import BudgetOptions
from ..plugin_utils.engine.clock import Clock
from ..plugin_utils.engine.sentences import as_steps
from ..plugin_utils.engine.waiting import Wait
from ..plugin_utils.task import claimed, drain
from ..plugin_utils.task.budget import build_claim
from ..plugin_utils.task.node_action import NodeAction


@dataclass(frozen=True, slots=True, kw_only=True)
class UncordonOptions:
    """The module's own options. `timeout` is seconds."""

    node_name: str
    timeout: int
    budget: BudgetOptions


class ActionModule(NodeAction):
    """win_k8s_uncordon."""

    module = "win_k8s_uncordon"
    topic = "uncordon"

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """Nothing, unless a run of this collection cordoned the Node; then wait until it is Ready."""
        how = read(UncordonOptions, options)
        name = how.node_name
        cluster = self._asks.cluster(self._shared.cluster)
        if cluster is None:
            return {"changed": False, "steps": []}
        node = drain.NodeDrain(cluster, name, build_claim(cluster, how.budget, self.say))
        if self._task.check_mode or not node.is_ours():
            steps = node.plan_uncordon()
            return {"changed": bool(steps), "steps": as_steps(steps, planned=True)}
        wait_for(
            Wait(f"waiting for the Node {name} to be Ready", Clock()),
            how.timeout,
            lambda: True if (found := cluster.find_node(name)) and found.is_ready else None,
            f"The Node {name} is not Ready after {how.timeout} s, so it stays cordoned; see playbooks/verify.yml.",
        )
        steps = node.uncordon()
        claimed.forget([name])
        return {"changed": bool(steps), "steps": as_steps(steps, planned=False)}
