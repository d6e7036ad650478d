# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes conditions of a Node; documented in modules/k8s_windows_conditions.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible import constants as C  # noqa: N812 - as all of Ansible names it

from ..plugin_utils.cluster.error import ClusterError
from ..plugin_utils.engine.sentences import as_steps
from ..plugin_utils.node_status.condition import (
    HEALTHY,
    Condition,
    describe_steps,
    find_condition,
    healthy,
    not_known,
    plan_report,
    write_report,
)
from ..plugin_utils.task.cluster_action import ClusterAction
from ..plugin_utils.task.node_objects import find_node, server_now
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
            node = find_node(cluster, name, Path(C.DEFAULT_LOCAL_TMP), str(self._task._uuid))
            if node is None:
                return {"changed": False, "steps": []}
            wanted, applied = self._list_conditions(options, node), options["applied"]
            steps = plan_report(node, wanted, applied)
            if steps and not check:
                now = cluster.node(name)  # with the API server's time, and what others have written meanwhile
                steps = write_report(cluster, now, wanted, server_now(cluster), applied=applied) if now else ()
        except ClusterError as error:
            display.warning(f"The conditions of the Node {name} were not written: {error}")
            return {"changed": False, "steps": []}
        return {"changed": bool(steps), "steps": as_steps(steps, planned=check)}

    def _list_conditions(self, options: dict[str, Any], node: dict[str, Any]) -> list[Condition]:
        if options["unknown"]:
            return [not_known(options["unknown"])]
        told = [describe_steps(options["steps"])]
        return told if options["steps"] or find_condition(node, HEALTHY) else [*told, healthy()]
