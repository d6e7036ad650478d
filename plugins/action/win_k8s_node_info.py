# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a node; documented in modules/win_k8s_node_info.py."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..plugin_utils import node_plan, preflight
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.components.registry import COMPONENTS
from ..plugin_utils.engine.reading import Reading
from ..plugin_utils.engine.resource import Refused
from ..plugin_utils.node_action import NodeAction
from ..plugin_utils.rendering import Rendering


class ActionModule(NodeAction):
    """win_k8s_node_info."""

    module = "win_k8s_node_info"

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Renders with variables of its own, each of which is rendered once."""
        known = self._templar.available_variables = dict(task_vars or {})
        self._rendering = Rendering(known, super().render_value)
        return super().run(tmp, known)

    def render_value(self, value: Any) -> Any:
        """A value with its templates filled in, each variable once. AnsibleError if that cannot be done now."""
        return self._rendering.of(value)

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """The reading, as a result and for the tasks that follow."""
        reading = self.reading(options, layout)
        if options["preflight"] and (problems := preflight.problems(self._run_of(reading, layout))):
            raise Refused(*problems)
        if options["plan"]:
            plan = node_plan.plan_node(self, self._link, reading, ACTIONS, self._takes_part)
            told = {"changed": False, "plan": plan.told(), "winkube": {"calls": self._link.calls}}
            return told | self.facts(plan.reading)
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
        return preflight.Run(values, reading, self._takes_part, layout)

    def _takes_part(self, role: str) -> bool:
        """Whether the tags of the run leave this role in it: its task has its name, and the tags of the play."""
        run, skip = ({str(tag) for tag in self._task_vars.get(f"ansible_{kind}_tags") or ()} for kind in _TAGS)
        return node_plan.takes_part({role, *map(str, self._task.tags)} - {"always"}, run or {"all"}, skip)


_TAGS = ("run", "skip")
ACTIONS = {each.module: import_module(f"{__package__}.{each.module}").ActionModule for each in COMPONENTS}
"""The components' actions. They are loaded before workers are forked, as this one is."""
node_plan.parts()
