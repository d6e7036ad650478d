# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes conditions of a Node; documented in modules/k8s_windows_conditions.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..plugin_utils.cluster.error import ClusterError
from ..plugin_utils.cluster.records import NodeObject
from ..plugin_utils.components.options import read
from ..plugin_utils.components.shared_options import Access
from ..plugin_utils.engine.sentences import as_steps
from ..plugin_utils.node_status.condition import Condition, plan_report
from ..plugin_utils.task.cluster_action import ClusterAction
from ..plugin_utils.task.node_conditions import judge_repairs, list_conditions, write_conditions
from ..plugin_utils.task.recorded import find_store
from ..plugin_utils.task.screen import display


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionsOptions:
    """The module's options."""

    cluster: Access
    node_name: str
    applied: str
    repair_alone: bool


class ActionModule(ClusterAction):
    """k8s_windows_conditions."""

    module = "k8s_windows_conditions"
    topic = "conditions"

    def work(self, options: dict[str, Any]) -> dict[str, Any]:
        """What is new on the Node; a cluster that does not take it is a warning, since the machine is as it is."""
        how = read(ConditionsOptions, options)
        name, check = how.node_name, bool(self._task.check_mode)
        try:
            node = self.recall_cluster(how.cluster).find_node(name)
            if node is None:
                return {"changed": False, "steps": []}
            self.adds.see(node)
            record = find_store().record(self._host)
            told = judge_repairs(record) if how.repair_alone else None

            def judge(node: NodeObject) -> Sequence[Condition]:
                return list_conditions(record, node) if told is None else told

            steps = plan_report(node, judge(node), how.applied)
            if steps and not check:
                steps = write_conditions(self.open_cluster(how.cluster), name, judge, how.applied)
        except ClusterError as error:
            display.warning(f"The conditions of the Node {name} were not written: {error}")
            return {"changed": False, "steps": []}
        return {"changed": bool(steps), "steps": as_steps(steps, planned=check)}
