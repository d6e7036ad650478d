# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a node; documented in modules/win_k8s_node_info.py."""

from __future__ import annotations

from typing import Any

from ..plugin_utils import preflight
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.engine.reading import Reading
from ..plugin_utils.engine.resource import Refused
from ..plugin_utils.node_action import NodeAction


class ActionModule(NodeAction):
    """win_k8s_node_info."""

    module = "win_k8s_node_info"

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """The reading, as a result and for the tasks that follow."""
        reading = self.reading(options, layout)
        if options["preflight"] and (problems := preflight.problems(self._run_of(reading, layout))):
            raise Refused(*problems)
        system = reading.parts.get("system", {})
        info = {
            "system": system,
            "services": list(reading.services()),
            "files": {
                str(key).removeprefix("file:"): value
                for key, value in reading.parts.items()
                if str(key).startswith("file:")
            },
            "errors": reading.errors(),
        }
        return {"changed": False, "node": info, "winkube": {"calls": self._link.calls}} | self.facts(reading)

    def _run_of(self, reading: Reading, layout: Layout) -> preflight.Run:
        """The variables as later tasks of this run will see them, and which roles take part in it."""
        names = {name: f"{preflight.PREFIX}{name}" for name in preflight.NAMES}
        values = {name: self._value_of(full) for name, full in names.items() if full in self._task_vars}
        run_tags, skipped = ({str(tag) for tag in self._task_vars.get(f"ansible_{kind}_tags") or ()} for kind in _TAGS)
        return preflight.Run(
            values,
            reading,
            lambda role: role not in skipped and bool({"all", "tagged", role} & (run_tags or {"all"})),
            layout,
        )


_TAGS = ("run", "skip")
