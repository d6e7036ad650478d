# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Claims the Nodes of a batch; documented in modules/k8s_windows_claim.py."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from ..plugin_utils.budget.claim import BudgetFullError
from ..plugin_utils.components.options import read
from ..plugin_utils.components.shared_options import Access, BudgetOptions
from ..plugin_utils.engine.resource import Refused
from ..plugin_utils.engine.sentences import as_steps
from ..plugin_utils.task.budget import build_claim
from ..plugin_utils.task.claimed import noted
from ..plugin_utils.task.cluster_action import ClusterAction
from ..plugin_utils.task.screen import display


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimOptions:
    """The module's options."""

    cluster: Access
    budget: BudgetOptions
    nodes: tuple[str, ...]
    node_name: str
    full: Literal["fail", "report"]


class ActionModule(ClusterAction):
    """k8s_windows_claim."""

    module = "k8s_windows_claim"
    topic = "budget"

    def work(self, options: dict[str, Any]) -> dict[str, Any]:
        """What the first host of the batch was answered."""
        how = read(ClaimOptions, options)
        names = sorted(set(how.nodes))
        if not names:
            return {"changed": False, "steps": [], "full": ""}
        found = self.share_answers(how.cluster)(json.dumps(names), lambda: self._claim(how, names)) or {}
        if found["refused"]:
            raise Refused(*found["refused"])
        if found["full"] and how.full == "fail":
            raise Refused(found["full"])
        steps = [step for step in found["steps"] if step.endswith(f" {how.node_name}")]
        planned = bool(self._task.check_mode)
        return {"changed": bool(steps), "steps": as_steps(steps, planned=planned), "full": found["full"]}

    def _claim(self, how: ClaimOptions, names: list[str]) -> dict[str, Any]:
        """`steps`, or why there are none."""
        claim = build_claim(
            self.open_cluster(how.cluster),
            how.budget,
            lambda sentence: display.display(f"  {', '.join(names)}: {sentence}"),
        )
        found: dict[str, Any] = {"steps": [], "full": "", "refused": []}
        try:
            if self._task.check_mode:
                return found | {"steps": list(claim.plan(names))}
            with noted(names, how.cluster):
                steps = claim.take(names)
        except BudgetFullError as full:
            return found | {"full": str(full)}
        except Refused as refused:
            return found | {"refused": list(refused.sentences)}
        return found | {"steps": list(steps)}
