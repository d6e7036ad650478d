# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks at a Node object; documented in modules/k8s_windows_look.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..plugin_utils.cluster.error import ClusterError
from ..plugin_utils.cluster.records import NodeObject
from ..plugin_utils.components.options import read
from ..plugin_utils.components.shared_options import Access
from ..plugin_utils.engine.clock import Clock
from ..plugin_utils.engine.sentences import as_steps
from ..plugin_utils.engine.waiting import Wait
from ..plugin_utils.node_status.condition import Condition, plan_report
from ..plugin_utils.node_status.look import Wanted, look_at, look_condition
from ..plugin_utils.task.cluster_action import ClusterAction
from ..plugin_utils.task.fingerprint import make_fingerprint
from ..plugin_utils.task.node_conditions import write_conditions
from ..plugin_utils.task.screen import display

AGAIN_S = 2
"""Between two looks at a Node that is not Ready."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookOptions(Wanted):
    """The module's options."""

    cluster: Access
    applied: bool
    conditions: bool
    timeout: int


class ActionModule(ClusterAction):
    """k8s_windows_look."""

    module = "k8s_windows_look"
    topic = "look"

    def work(self, options: dict[str, Any]) -> dict[str, Any]:
        """What the one list of all Nodes, shared by the hosts of the task, says of this host's."""
        how = read(LookOptions, options)
        fingerprint = make_fingerprint(self._templar, self._task_vars) if how.applied else ""
        node = self._wait(how) if how.timeout else self.recall_cluster(how.cluster).find_node(how.node_name)
        self.adds.see(node)
        steps = self._write(how, fingerprint, node) if how.conditions and node is not None else ()
        told = as_steps(steps, planned=bool(self._task.check_mode))
        seen = look_at(node, how, fingerprint)
        self.adds.notes += [f"{finding.reason}: {finding.message}" for finding in seen.findings]
        return {"changed": bool(steps), "steps": told, **seen.to_data()}

    def _wait(self, how: LookOptions) -> NodeObject | None:
        """The Node once it is Ready, as it is when the time is up; None where the cluster does not tell."""
        clock, name = Clock(), how.node_name
        end, wait = clock.now() + how.timeout, Wait(f"waiting for the Node {name} to be Ready", clock)
        try:
            node = self.recall_cluster(how.cluster).find_node(name)
            if node is None or node.is_ready:
                return node
            cluster = self.open_cluster(how.cluster)
            while node is not None and not node.is_ready and clock.now() < end:
                wait.sleep(AGAIN_S)
                node = cluster.find_node(name)
        except ClusterError as error:
            display.warning(f"Whether the Node {name} is Ready is not known: {error}")
            return None
        return node

    def _write(self, how: LookOptions, fingerprint: str, node: NodeObject) -> tuple[str, ...]:
        """The condition that a look may set; a cluster that does not take it is a warning."""

        def judge(now: NodeObject) -> list[Condition]:
            found = look_condition(now, how, fingerprint)
            return [] if found is None else [found]

        steps = plan_report(node, judge(node))
        if not steps or self._task.check_mode:
            return steps
        try:
            return write_conditions(self.open_cluster(how.cluster), how.node_name, judge)
        except ClusterError as error:
            display.warning(f"The condition of the Node {how.node_name} was not written: {error}")
            return ()
