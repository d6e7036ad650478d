# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a machine ready to become an image; documented in modules/win_k8s_golden_image.py."""

from __future__ import annotations

from typing import Any

from ..plugin_utils.components.layout import Layout
from ..plugin_utils.components.options import read
from ..plugin_utils.components.stage import Stage
from ..plugin_utils.engine.plan import reads
from ..plugin_utils.engine.reading import Reading, file_query, merge_queries
from ..plugin_utils.engine.resource import Refused
from ..plugin_utils.golden_image import findings, rest
from ..plugin_utils.golden_image.findings import Scope
from ..plugin_utils.task.component_action import ConvergingAction

STAGES = (
    Stage("stopped", lambda given: (rest.Stopped(given.layout),)),
    Stage("cleared", lambda given: (rest.Cleared(given.layout, given.mark),)),
)


class ActionModule(ConvergingAction):
    """win_k8s_golden_image."""

    module = "win_k8s_golden_image"
    topic = rest.NAME

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """Look for what may not be cloned; where nothing is in the way, stop the services and clear up."""
        scope = read(Scope, options, layout=layout)
        looked = self._look(scope, self.reading())
        if found := findings.find(scope, looked):
            raise Refused(
                f"{self._host} is not ready to be generalised: what follows would be the same on every node.",
                *(each.sentence for each in found),
            )
        _ran, result = self.converge(STAGES, options, looked)
        would = "would be" if looked.predicted and result["changed"] else "is"
        return result | {
            "msg": f"{self._host} {would} ready to generalise.",
            "left_to_do": list(findings.list_remaining(layout, looked)),
        }

    def _look(self, scope: Scope, reading: Reading) -> Reading:
        """With what a node's tasks do not ask for: one call more, and one before where no one has said which receipts
        there are."""
        folder = file_query(findings.receipt_folder(scope.layout), entries=True)
        ask = self._node.complete if reading.predicted else self._node.ask_again
        reading = ask(reading, reading.find_missing((folder,)))
        at_rest = reads((rest.Stopped(scope.layout), rest.Cleared(scope.layout, "")))
        return ask(reading, merge_queries((*findings.reads(scope, reading), *at_rest)))
