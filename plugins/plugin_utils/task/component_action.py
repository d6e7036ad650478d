# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action of a module that plans and acts: for a component, or with stages of its own."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ..components.declaration import Component
from ..components.layout import Layout
from ..components.registry import COMPONENTS
from ..components.stage import Ending, Stage, nothing_after
from ..engine import plan
from ..engine.printable import LONGEST_TEXT, escape, shorten
from ..engine.reading import Query, Reading
from ..node import restart
from ..node.link import controller
from ..record.node_record import Step
from . import other_run
from .converge import Converge, Ran
from .node_action import NodeAction


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
        if self._task.check_mode:
            self.adds.planned[self.about] = tuple(_as_step(step, diff=bool(self._task.diff)) for step in run.steps)
        return run.result(diff=self._task.diff) | self.facts(reading)


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


def _as_step(step: plan.Step, *, diff: bool) -> Step:
    """As the record has it."""
    if not diff:
        return Step(text=escape(step.text))
    lines = difflib.unified_diff(step.before.splitlines(), step.after.splitlines(), lineterm="")
    shown = "\n".join(line for line in lines if not line.startswith(("---", "+++")))
    return Step(text=escape(step.text), diff=escape(shorten(shown, LONGEST_TEXT)))
