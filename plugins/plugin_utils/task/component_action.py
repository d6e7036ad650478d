# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action of a module that plans and acts: for a component, or with stages of its own."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ..components.declaration import Component
from ..components.layout import Layout
from ..components.registry import COMPONENTS
from ..components.stage import Ending, Stage, nothing_after
from ..engine.plan import Step
from ..engine.reading import Query, Reading
from ..node import restart
from ..node.link import controller
from ..node.run_id import RUN_ID
from . import other_run
from .converge import Converge, Ran
from .node_action import NodeAction
from .screen import display
from .variables import READING


class ConvergingAction(NodeAction):
    """An action that brings something about on a node; a subclass says what in `work`."""

    def converge(
        self,
        stages: Sequence[Stage],
        options: Mapping[str, Any],
        reading: Reading | None = None,
        *,
        after: Ending = nothing_after,
        needed: tuple[Query, ...] = (),
        own: object = None,
    ) -> tuple[Ran, dict[str, Any]]:
        """Goes through the stages (Converge.run_stages).

        Returns:
            What they end with, and the task's result.
        """
        run = self.begin(options, needed, own)
        ran = run.run_stages(stages, reading or self.reading(needed), after=after)
        return ran, self.report_run(run, ran.reading)

    def begin(self, options: Mapping[str, Any], needed: tuple[Query, ...] = (), own: object = None) -> Converge:
        """Nothing done yet. `needed` has to be read before anything is planned; `own` are the options as the stages
        read them."""
        check = self._task.check_mode
        return Converge(self.topic, self._node, options, self._asks, check=check, needed=needed, own=own)

    def report_run(self, run: Converge, reading: Reading) -> dict[str, Any]:
        """The task's result: what was done, and the reading for the next task."""
        layout = self._node.layout
        if run.reboot and not run.restarts:
            self.warn_once(restart.waits_sentence(self._host, run.reboot))
        if run.changed and (told := other_run.describe(reading, layout, self.topic, controller(), run.becomes)):
            self.warn_once(f"{self._host}: {told}")
        facts = self.facts(reading)
        if self._task.check_mode and facts:
            facts["ansible_facts"][READING] |= self._collect(run.steps)
        result = run.result(diff=self._task.diff)
        if diff := result.get("diff"):
            result["diff"] = self._diff_once(diff)
        return result | facts

    def _diff_once(self, diff: list[dict[str, str]]) -> list[dict[str, str]]:
        """The diff, or whose it equals: of ten equal nodes one shows it, and `-v` shows it of each."""
        other = self._host if display.verbosity else self.find_speaker(json.dumps(diff))
        return diff if other == self._host else [{"prepared": f"the same as of {other} (-v shows it)\n"}]

    def _collect(self, steps: Sequence[Step]) -> dict[str, Any]:
        """For the report of drift.yml, of a run in check mode up to here: `planned`, what it would have changed, by
        component (`[{text, diff}]`); `told`, what it has warned of."""
        fact = self.fact() or {}
        earlier: dict[str, Any] = fact if fact.get("run") == RUN_ID else {}
        planned = {self.topic: [_as_data(step) for step in steps]} if steps else {}
        told = dict.fromkeys((*(earlier.get("told") or ()), *self._asks.warned))
        return {"planned": (earlier.get("planned") or {}) | planned, "told": list(told)}


class ComponentAction(ConvergingAction):
    """The action of a component; a subclass names its module, and all the rest is in the component's stages."""

    _declared: ClassVar[Component]

    def __init_subclass__(cls, **keywords: Any) -> None:
        """The module's name tells which component it is."""
        super().__init_subclass__(**keywords)
        cls._declared = next(each for each in COMPONENTS if each.module == cls.module)
        cls.topic = cls._declared.name

    @property
    def about(self) -> str:
        """The component's role, which plans name it by."""
        return self._declared.role

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """All stages of the component."""
        made = self._declared
        own = made.interface.read(options)
        return self.converge(made.stages, options, after=made.after, needed=made.reads(layout), own=own)[1]


def _as_data(step: Step) -> dict[str, str]:
    lines = difflib.unified_diff(step.before.splitlines(), step.after.splitlines(), lineterm="")
    return {"text": step.text, "diff": "\n".join([line for line in lines if not line.startswith(("---", "+++"))])}
