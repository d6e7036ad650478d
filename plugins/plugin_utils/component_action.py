# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shape of every action that installs or configures one component: read once, plan, act if something differs."""

from __future__ import annotations

import difflib
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from . import argument_spec, drain, other_run, restart, verdict
from .argument_spec import plain
from .components.layout import Layout
from .components.registry import read_plan
from .engine.batch import Batch
from .engine.plan import Plan, Step, confides, make_plan, reads, task_result
from .engine.reading import Reading, file_key, widened
from .engine.resource import Resource
from .node.link import NodeError, OutcomeUnknown, controller
from .node.runner_text import runner_sha256
from .node_action import FACT, NodeAction, display
from .run_id import RUN_ID

STALE_TRIES = 3
RESTARTS = 3
"""So many restarts of the machine may one task take."""
REBOOT_TIMEOUT_S = 900


@dataclass(frozen=True, slots=True)
class _Done:
    """One plan, the reading after it, and the node's answer to its batch; empty if there was none."""

    plan: Plan
    reading: Reading
    answer: Mapping[str, Any]


class ComponentAction(NodeAction):
    """One component. A subclass names its module and its component and says what is wanted."""

    component: str
    _emptied: tuple[str, ...] = ()
    """What was done to empty the node before it was changed."""
    _left: Reading
    """The node as the task leaves it."""
    deadline_s: int = 900
    """So long the node may work on a batch before it rolls it back."""

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
        """Plan and act; restart the machine where that is wanted, and go on from there."""
        reading = self.reading(options, layout)
        done: list[_Done] = []
        for _round in range(RESTARTS + 1):
            done.append(self._converged(options, layout, reading))
            reasons = done[-1].plan.reboot
            if not reasons or self._task.check_mode or not options.get("reboot", True):
                return self._finished(done, options)
            if len(done) <= RESTARTS:
                reading = self._restarted(reasons, done[-1].reading, options, layout)
        raise NodeError(
            f"{self.component}: after {RESTARTS} restarts the machine still has to be restarted: {'; '.join(reasons)}. "
            "Something on it reverts the change, or another installation is under way."
        )

    @classmethod
    def planned(
        cls, first: NodeAction, arguments: Mapping[str, Any], reading: Reading, answers: dict[str, Any]
    ) -> tuple[dict[str, Any], Reading]:
        """What a task with these arguments would do to the node of `first`, as in check mode: its result, and the
        reading as it would be. Nothing is changed. `answers` are the cluster's, which those that are planned share."""
        task = first._task.copy(exclude_parent=True)
        task.args, task.check_mode, task.diff = dict(arguments), True, False
        action = cls(
            task=task,
            connection=first._connection,
            play_context=first._play_context,
            loader=first._loader,
            templar=first._templar,
            shared_loader_obj=first._shared_loader_obj,
        )
        action._task_vars, action._link, action._given = first._task_vars, first._link, reading
        action.__dict__["_answers"] = answers
        options = plain(action.validate_argument_spec(argument_spec=argument_spec.of_module(cls.module))[1])
        result = action.work(options, Layout.of(options["node"]))
        return result, action._left

    def _unsettled(self, reading: Reading) -> bool:
        """Whether this is only planned, and behind changes that are only planned as well."""
        return bool(self._task.check_mode) and reading.predicted

    def _converged(self, options: Mapping[str, Any], layout: Layout, reading: Reading) -> _Done:
        """Plan and act; when the node is no longer as it was read, read it again and plan anew."""
        for attempt in range(STALE_TRIES):
            done = self._once(options, layout, reading)
            if done.answer.get("answer") != "stale":
                return done
            host = self._task_vars.get("inventory_hostname")
            display.v(f"{host}, plan {attempt + 1}: {verdict.stale_sentence(done.answer)}; reading it again")
            reading = self.read(layout)
        raise NodeError(
            f"{self.component}: {verdict.stale_sentence(done.answer)}. It was planned {STALE_TRIES} times; something "
            "else keeps changing the node."
        )

    def _once(self, options: Mapping[str, Any], layout: Layout, reading: Reading) -> _Done:
        """One plan and its batch; nothing was done if the answer is `stale`."""
        mark = uuid.uuid4().hex
        resources, reading = self._known(options, layout, reading, mark)
        stage = None if self._task.check_mode else self.stage_first(resources, reading)
        if stage is not None:
            stage = with_whole_state(stage, layout)
            answer = self._apply(stage, uuid.uuid4().hex, layout, reading)
            if answer.get("answer") == "stale":
                return _Done(Plan(self.component, (), None, reading), reading, answer)
            reading = self._after(reading, stage, answer, layout)
        plan = make_plan(self.component, resources, reading, deadline_s=self.deadline_s)
        if plan.batch is None or self._task.check_mode:
            return _Done(plan, plan.predicted if self._task.check_mode else reading, {})
        try:
            return self._acted(plan, plan.batch, mark, options, layout, reading)
        except NodeError as error:
            if not plan.waits:
                raise
            display.v(f"{self._host}: {error}")
        plan = make_plan(self.component, resources, reading, deadline_s=self.deadline_s, restart_unready=True)
        if plan.batch is None:
            return _Done(plan, reading, {})
        return self._acted(plan, plan.batch, uuid.uuid4().hex, options, layout, reading)

    def _acted(
        self, plan: Plan, planned: Batch, batch_id: str, options: Mapping[str, Any], layout: Layout, reading: Reading
    ) -> _Done:
        """The plan's batch sent; nothing was done if the answer is `stale`."""
        batch = with_whole_state(planned, layout)
        self._emptied += drain.before(batch, options, RUN_ID)
        answer = self._apply(batch, batch_id, layout, reading)
        if answer.get("answer") == "stale":
            return _Done(plan, reading, answer)
        return _Done(plan, self._after(reading, batch, answer, layout), answer)

    def _restarted(
        self, reasons: tuple[str, ...], reading: Reading, options: Mapping[str, Any], layout: Layout
    ) -> Reading:
        """Restart the machine, wait until it is back, and read it anew."""
        display.v(f"{self._host}: {restart.step(reasons).text}")
        batch = restart.batch(self.component, reasons, reading)
        self._emptied += drain.before(batch, options, RUN_ID)
        try:
            self._apply(batch, uuid.uuid4().hex, layout, reading)
        except OutcomeUnknown as lost:
            display.vv(f"{self._host}: {lost}; the machine is going down")
        restart.wait_until_back(self._link, reading.boot_id, options.get("reboot_timeout", REBOOT_TIMEOUT_S))
        return self.read(layout)

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

    def _finished(self, done: Sequence[_Done], options: Mapping[str, Any]) -> dict[str, Any]:
        last = done[-1]
        reasons = tuple(dict.fromkeys(reason for each in done for reason in each.plan.reboot))
        restarts = bool(reasons) and bool(options.get("reboot", True))
        steps = (
            *(Step("the cluster", text) for text in self._emptied),
            *(step for each in done for step in each.plan.steps),
        )
        if restarts:
            steps += (restart.step(reasons),)
        elif reasons:
            self.warn_once(restart.waits_sentence(self._host, reasons))
        if steps and (told := self._other_run(last.reading, options)):
            self.warn_once(f"{self._host}: {told}")
        acted = [each for each in done if each.answer]
        result = task_result(
            replace(last.plan, steps=steps, batch=next((each.plan.batch for each in done if each.plan.batch), None)),
            check=self._task.check_mode,
            diff=self._task.diff,
            calls=self._link.calls,
            answer=acted[-1].answer if acted else None,
        )
        if reasons:
            result |= {"changed": result["changed"] or restarts, "rebooted": restarts and not self._task.check_mode}
        self._left = last.reading
        facts = self.facts(last.reading)
        if self._task.check_mode and facts:
            facts["ansible_facts"][FACT]["planned"] = self._planned(steps)
        return result | facts

    def _other_run(self, reading: Reading, options: Mapping[str, Any]) -> str:
        return other_run.sentence(reading, Layout.of(options["node"]), self.component, controller())

    def _planned(self, steps: Sequence[Step]) -> dict[str, Any]:
        """What a run in check mode would have changed up to here, by component: `[{text, diff}]`; drift.yml reports
        it."""
        fact = (self._task_vars.get("ansible_facts") or {}).get(FACT)
        if not isinstance(fact, Mapping) or fact.get("run") != RUN_ID or fact.get("host") != self._host:
            fact = {}
        earlier: dict[str, Any] = plain(fact.get("planned") or {})
        return earlier | ({self.component: [_told(step) for step in steps]} if steps else {})


def _told(step: Step) -> dict[str, str]:
    lines = difflib.unified_diff(step.before.splitlines(), step.after.splitlines(), lineterm="")
    return {"text": step.text, "diff": "\n".join([line for line in lines if not line.startswith(("---", "+++"))])}


def with_whole_state(batch: Batch, layout: Layout) -> Batch:
    """The batch, asking of what it touches all that any component wants to know of it: the next ones need not ask."""
    return replace(batch, state=widened(batch.state, read_plan(layout)))
