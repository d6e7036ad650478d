# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a machine ready to become an image; documented in modules/win_k8s_golden_image.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..plugin_utils.component_action import ComponentAction
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.engine.plan import reads
from ..plugin_utils.engine.reading import Query, Reading, file_query, merge_queries
from ..plugin_utils.engine.resource import Refused, Resource
from ..plugin_utils.golden_image import findings, rest


class ActionModule(ComponentAction):
    """win_k8s_golden_image."""

    module = "win_k8s_golden_image"
    component = rest.NAME

    _clears = False
    """Whether the second batch is due."""

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """Look for what may not be cloned; where nothing is in the way, stop the services and clear up."""
        scope = findings.Scope(layout, options["cni_data_dir"])
        reading = self._looked(scope, self.reading(options, layout))
        if found := findings.find(scope, reading):
            raise Refused(
                f"{self._host} is not ready to be generalised: what follows would be the same on every node.",
                *(each.sentence for each in found),
            )
        done = [self._converged(options, layout, reading)]
        self._clears = True
        done.append(self._converged(options, layout, done[-1].reading))
        would = "would be" if reading.predicted and any(each.plan.changed for each in done) else "is"
        return self._finished(done, options) | {
            "msg": f"{self._host} {would} ready to generalise.",
            "left_to_do": list(findings.left_to_do(layout, reading)),
        }

    def resources(
        self, options: Mapping[str, Any], layout: Layout, reading: Reading, mark: str
    ) -> tuple[Resource, ...]:
        """Those of the batch that is due."""
        return (rest.Cleared(layout, mark),) if self._clears else (rest.Stopped(layout),)

    def _looked(self, scope: findings.Scope, reading: Reading) -> Reading:
        """With what a node's tasks do not ask for: one call more, and one before where nobody has said which receipts
        there are."""
        folder = file_query(findings.receipt_folder(scope.layout), entries=True)
        reading = self._asked(reading, reading.missing((folder,)))
        at_rest = reads((rest.Stopped(scope.layout), rest.Cleared(scope.layout, "")))
        return self._asked(reading, merge_queries((*findings.reads(scope, reading), *at_rest)))

    def _asked(self, reading: Reading, queries: tuple[Query, ...]) -> Reading:
        """What is only planned stays so."""
        wanted = reading.missing(queries) if reading.predicted else queries
        return reading.merged(self._link.probe(wanted), wanted) if wanted else reading
