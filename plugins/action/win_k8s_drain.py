# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Empties a node; documented in modules/win_k8s_drain.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..plugin_utils.components.layout import Layout
from ..plugin_utils.components.options import read
from ..plugin_utils.components.shared_options import DrainOptions
from ..plugin_utils.engine.resource import Refused
from ..plugin_utils.engine.sentences import as_steps
from ..plugin_utils.task import drain
from ..plugin_utils.task.budget import build_claim
from ..plugin_utils.task.node_action import NodeAction


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDrainOptions(DrainOptions):
    """The module's own options: besides, whether a run that ends before the updates begin uncordons the Node."""

    give_back: bool


class ActionModule(NodeAction):
    """win_k8s_drain."""

    module = "win_k8s_drain"
    topic = "drain"

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """Cordoned and empty; what was on it is told, for the next change of the machine."""
        wanted = read(NodeDrainOptions, options)
        cluster = self._asks.cluster(self._shared.cluster)
        if cluster is None:
            raise Refused(
                f"The Node {wanted.node_name} cannot be drained, since the controller has no way to the cluster: "
                "name its kubeconfig in winkube_cluster.kubeconfig."
            )
        claim = build_claim(cluster, wanted.budget, self.say)
        node = drain.NodeDrain(cluster, wanted.node_name, claim, drain.Rules.from_options(wanted))
        pods = node.list_evictable()
        check = self._task.check_mode
        steps = node.plan_steps() if check else drain.empty(node, self._shared.cluster, give_back=wanted.give_back)
        return {"changed": bool(steps), "steps": as_steps(steps, planned=check), "pods": pods}
