# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes conditions of a Node; documented in modules/k8s_windows_conditions.py."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..plugin_utils.cluster.error import ClusterError
from ..plugin_utils.engine.sentences import as_steps
from ..plugin_utils.node_status.condition import (
    HEALTHY,
    Condition,
    Object,
    describe_steps,
    find_condition,
    healthy,
    not_known,
    plan_report,
)
from ..plugin_utils.task.cluster_action import ClusterAction
from ..plugin_utils.task.node_conditions import write_conditions
from ..plugin_utils.task.screen import display


class ActionModule(ClusterAction):
    """k8s_windows_conditions."""

    module = "k8s_windows_conditions"
    topic = "conditions"

    def work(self, options: dict[str, Any]) -> dict[str, Any]:
        """What is new on the Node; a cluster that does not take it is a warning, since the machine is as it is."""
        name, check = options["node_name"], bool(self._task.check_mode)
        cluster = self.open_cluster(options)
        try:
            node = self.recall_cluster(options).node(name)
            if node is None:
                return {"changed": False, "steps": []}
            judge, applied = partial(_list_conditions, options), options["applied"]
            steps = plan_report(node, judge(node), applied)
            if steps and not check:
                steps = write_conditions(cluster, name, judge, applied)
        except ClusterError as error:
            display.warning(f"The conditions of the Node {name} were not written: {error}")
            return {"changed": False, "steps": []}
        return {"changed": bool(steps), "steps": as_steps(steps, planned=check)}


def _list_conditions(options: dict[str, Any], node: Object) -> list[Condition]:
    if options["unknown"]:
        return [not_known(options["unknown"])]
    told = [describe_steps(options["steps"])]
    return told if options["steps"] or find_condition(node, HEALTHY) else [*told, healthy()]
