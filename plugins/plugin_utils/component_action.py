# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shape of every action that converges one component: read once, plan, and act if something differs."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from . import verdict
from .components.layout import Layout
from .components.read_plan import read_plan
from .engine import report
from .engine.batch import Batch
from .engine.plan import Plan, confides, make_plan, reads
from .engine.reading import Reading, file_key, widened
from .engine.resource import Resource
from .node.link import NodeError
from .node.runner_text import runner_sha256
from .node_action import NodeAction, display

STALE_TRIES = 3


class ComponentAction(NodeAction):
    """One component. A subclass names its module and its component and says what is wanted."""

    component: ClassVar[str]

    def resources(
        self, options: Mapping[str, Any], layout: Layout, reading: Reading, mark: str
    ) -> tuple[Resource, ...]:
        """What is wanted on the node. Raises Refused. `mark` is the id of the batch that will bring it about.

        The reading is for what only the node knows (is ctr.exe there?), never for deciding what is wanted.
        """
        raise NotImplementedError

    def stage_first(self, resources: tuple[Resource, ...], reading: Reading) -> Batch | None:
        """A batch that has to run before anything can be planned, such as a download that is compared with what is
        there."""
        return None

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """Plan and act; when the node is no longer as it was read, read it again and plan anew."""
        reading = self.reading(options, layout)
        for attempt in range(STALE_TRIES):
            answer, result = self._once(options, layout, reading)
            if result is not None:
                return result
            host = self._task_vars.get("inventory_hostname")
            display.v(f"{host}, plan {attempt + 1}: {verdict.stale_sentence(answer)}; reading it again")
            reading = self.read(layout)
        raise NodeError(
            f"{self.component}: {verdict.stale_sentence(answer)}. It was planned {STALE_TRIES} times; something "
            "else keeps changing the node."
        )

    def _once(
        self, options: Mapping[str, Any], layout: Layout, reading: Reading
    ) -> tuple[Mapping[str, Any], dict[str, Any] | None]:
        """One plan and its batch: (answer, result), the result None if the answer is `stale`."""
        mark = uuid.uuid4().hex
        resources, reading = self._known(options, layout, reading, mark)
        stage = None if self._task.check_mode else self.stage_first(resources, reading)
        if stage is not None:
            stage = _with_whole_state(stage, layout)
            answer = self._apply(stage, uuid.uuid4().hex, layout, reading)
            if answer.get("answer") == "stale":
                return answer, None
            reading = self._after(reading, stage, answer, layout)
        plan = make_plan(self.component, resources, reading)
        if plan.batch is None or self._task.check_mode:
            return {}, self._finished(plan, plan.predicted if self._task.check_mode else reading)
        batch = _with_whole_state(plan.batch, layout)
        answer = self._apply(batch, mark, layout, reading)
        if answer.get("answer") == "stale":
            return answer, None
        return answer, self._finished(plan, self._after(reading, batch, answer, layout), answer)

    def _apply(self, batch: Batch, batch_id: str, layout: Layout, reading: Reading) -> Mapping[str, Any]:
        """The node's answer: `stale`, or done. NodeError for everything else."""
        answer = self._link.apply(batch, batch_id, reading.file(layout.runner).get("sha256"))
        if answer.get("answer") != "stale":
            verdict.must_be_done(answer, self.component)
        return answer

    def _known(
        self, options: Mapping[str, Any], layout: Layout, reading: Reading, mark: str
    ) -> tuple[tuple[Resource, ...], Reading]:
        """The resources, and the reading with whatever they need that was not read: normally nothing."""
        resources = self.resources(options, layout, reading, mark)
        if missing := reading.missing(reads(resources)):
            reading = reading.merged(self._link.probe(missing), missing)
            resources = self.resources(options, layout, reading, mark)
        confidential = () if self._task.check_mode else confides(resources, reading)
        if confidential:
            reading = reading.merged(self._link.probe(confidential))
        return resources, reading

    def _after(self, reading: Reading, batch: Batch, answer: Mapping[str, Any], layout: Layout) -> Reading:
        """The reading with the new state of what the batch touched; the node's runner is now the one that was sent."""
        runner = {"exists": True, "kind": "file", "sha256": runner_sha256()}
        return reading.merged({**(answer.get("state") or {}), file_key(layout.runner): runner}, batch.state)

    def _finished(self, plan: Plan, reading: Reading, answer: Mapping[str, Any] | None = None) -> dict[str, Any]:
        result = report.result(
            plan, check=self._task.check_mode, diff=self._task.diff, calls=self._link.calls, answer=answer
        )
        return result | self.facts(reading)


def _with_whole_state(batch: Batch, layout: Layout) -> Batch:
    """The batch, asking of what it touches all that any component wants to know of it: the next ones need not ask."""
    return replace(batch, state=widened(batch.state, read_plan(layout)))
