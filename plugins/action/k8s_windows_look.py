# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks at a Node object; documented in modules/k8s_windows_look.py."""

from __future__ import annotations

from typing import Any

from ..plugin_utils.cluster.error import ClusterError
from ..plugin_utils.engine.sentences import as_steps
from ..plugin_utils.node_status.condition import Condition, Object, plan_report
from ..plugin_utils.node_status.look import Wanted, look_at, look_condition
from ..plugin_utils.task.cluster_action import ClusterAction
from ..plugin_utils.task.fingerprint import make_fingerprint
from ..plugin_utils.task.node_conditions import write_conditions
from ..plugin_utils.task.screen import display


class ActionModule(ClusterAction):
    """k8s_windows_look."""

    module = "k8s_windows_look"
    topic = "look"

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """With the host's variables at hand."""
        self._task_vars = task_vars or {}
        return super().run(tmp, task_vars)

    def work(self, options: dict[str, Any]) -> dict[str, Any]:
        """What the one list of all Nodes, shared by the hosts of the task, says of this host's."""
        name = options["node_name"]
        node = self.recall_cluster(options).node(name)
        fingerprint = make_fingerprint(self._templar, self._task_vars) if options["applied"] else ""
        wanted = Wanted(name, options["kubernetes_version"], options["containerd_version"], fingerprint)
        steps = self._write(options, node, wanted) if options["conditions"] and node is not None else ()
        told = as_steps(steps, planned=bool(self._task.check_mode))
        return {"changed": bool(steps), "steps": told, **look_at(node, wanted).to_data()}

    def _write(self, options: dict[str, Any], node: Object, wanted: Wanted) -> tuple[str, ...]:
        """The condition that a look may set; a cluster that does not take it is a warning."""

        def judge(now: Object) -> list[Condition]:
            found = look_condition(now, wanted)
            return [] if found is None else [found]

        steps = plan_report(node, judge(node))
        if not steps or self._task.check_mode:
            return steps
        try:
            return write_conditions(self.open_cluster(options), wanted.node_name, judge)
        except ClusterError as error:
            display.warning(f"The condition of the Node {wanted.node_name} was not written: {error}")
            return ()
