# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One component brought from a reading to what is wanted, stage by stage: read, plan, act if something differs.

It needs a node and answers, no action of Ansible's: the first task of a run plans every component with it.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from ..cluster.error import ClusterError
from ..components.asks import Asks
from ..components.host.options import RestartOptions
from ..components.options import read
from ..components.registry import DAEMONS
from ..components.shared_options import SharedOptions
from ..components.stage import After, Ending, First, Given, Learned, Resources, Stage, nothing_after
from ..engine.answer import Answer
from ..engine.batch import Batch
from ..engine.plan import Plan, Step, make_plan, reads, reads_for_undo, task_result
from ..engine.reading import Query, Reading, merge_queries
from ..engine.sentences import as_steps
from ..node import restart
from ..node.link import NodeError, OutcomeUnknown
from . import drain
from .screen import display
from .task_node import NotAsReadError, TaskNode, widen_state

STALE_TRIES = 3
RESTARTS = 3
"""So many restarts of the machine may one stage take."""


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ran:
    """What a run through stages ends with: the node as it is then, in check mode as it would be; and what the stages
    learned."""

    reading: Reading
    learned: Learned


class Converge:
    """One component of one node: the one place from which batches are sent that change it.

    `name` is the component's; `options` are the module's, checked, and `own` are they as the stages read them; `needed`
    has to be read besides what every component reads. What has been done so far is in the attributes, from which
    `result` makes the task's.
    """

    def __init__(
        self,
        name: str,
        node: TaskNode,
        options: Mapping[str, Any],
        asks: Asks,
        *,
        check: bool,
        needed: tuple[Query, ...] = (),
        own: object = None,
    ) -> None:
        self.name = name
        self.acted: list[str] = []
        """The stages that have sent a batch."""
        self.changed = False
        """Whether a plan had a batch."""
        self.interrupts = False
        """Whether a plan interrupts pods."""
        self.becomes: list[str] = []
        """The fingerprints of what the plans bring about."""
        self.reboot: list[str] = []
        """Why the machine has, or had, to be restarted."""
        self._node, self._asks, self._check = node, asks, check
        self._own: Any = options if own is None else own
        self._shared = read(SharedOptions, options)
        self._restart = read(RestartOptions, options)
        self._needed = needed
        self.emptied: list[str] = []
        """What was done to empty the node, before batches that interrupt pods."""
        self._learned = Learned()
        self._steps: list[Step] = []
        self._answer: Answer | None = None
        self._after = After()

    def run_stages(self, stages: Sequence[Stage], reading: Reading, *, after: Ending = nothing_after) -> Ran:
        """Goes through the stages from top to bottom.

        Args:
            stages: The component's.
            reading: The node as it is.
            after: What is done when they are through.

        Raises:
            Refused: Something cannot be as it is wanted.
            NodeError: The node or the cluster could not do its part.
        """
        try:
            reading = self._node.complete(reading, self._needed)
            for stage in stages:
                if stage.wanted(self._give(stage, reading)):
                    reading = self._run_stage(stage, reading)
            self._after = after(self._give(None, reading), self.acted, self.changed or self.restarts)
        except ClusterError as error:
            raise NodeError(f"{self.name}: {error}") from error
        if self._after.problem:
            raise NodeError(f"{self.name}: {self._after.problem}")
        return Ran(reading, self._learned)

    def plan_until_as_read(
        self, plan_and_send: Callable[[Reading], T], reading: Reading, read: Callable[[], Reading]
    ) -> T:
        """What `plan_and_send` makes of a reading. A node that is no longer as it was read is read and planned again.
        NodeError if it has changed again and again."""
        tries = 1
        while True:
            try:
                return plan_and_send(reading)
            except NotAsReadError as changed:
                if tries == STALE_TRIES:
                    raise NodeError(
                        f"{self.name}: {changed}. It was planned {STALE_TRIES} times; something else keeps changing "
                        "the node."
                    ) from None
                display.v(f"{self._asks.host}, plan {tries}: {changed}; reading it again")
            tries, reading = tries + 1, read()

    def send(
        self, batch: Batch, batch_id: str, reading: Reading, *, beside: Sequence[Query] = ()
    ) -> tuple[Reading, Answer]:
        """Empties the node if the batch interrupts pods and that is wanted, and sends it.

        Args:
            batch: What is done.
            batch_id: Its id.
            reading: What it was planned from.
            beside: What is asked for as well, and does not get into the reading.

        Returns:
            The reading with what the batch has changed, and the node's answer.

        Raises:
            NotAsReadError: Nothing was done.
            NodeError: The batch was rolled back, or the node could not be emptied.
        """
        whole = widen_state(batch, self._node.layout)
        sent = replace(whole, state=merge_queries((*whole.state, *beside)))
        self.emptied += drain.empty_before(sent, self._shared.drain, self._asks)
        answer = self._node.apply(sent, batch_id, reading)
        aside = {query.key for query in beside}
        kept = {key: value for key, value in answer.state.items() if key not in aside}
        return self._node.after(reading, whole, replace(answer, state=kept)), answer

    # -- one stage ---------------------------------------------------------------------------------------------------

    def _run_stage(self, stage: Stage, reading: Reading) -> Reading:
        """Plans the stage and sends its batch. A node that is no longer as it was read is read and planned again; after
        a restart of the machine the stage begins again."""
        restarts = 0
        try:
            stage.before(self._give(stage, reading))
            while True:
                plan, reading = self.plan_until_as_read(partial(self._plan_and_send, stage), reading, self._read)
                self.reboot += [reason for reason in plan.reboot if reason not in self.reboot]
                if not plan.reboot or self._check or not self._restart.reboot:
                    return reading
                if restarts == RESTARTS:
                    raise NodeError(
                        f"{self.name}: after {RESTARTS} restarts the machine still has to be restarted: "
                        f"{'; '.join(plan.reboot)}. Something on it reverts the change, or another installation is "
                        "under way."
                    )
                reading = self._restart_machine(plan.reboot, reading)
                restarts += 1
        except NodeError as error:
            raise NodeError(f"{error} {self._explain_failure(stage, reading)}".rstrip()) from error
        finally:
            self._asks.let_go()

    def _plan_and_send(self, stage: Stage, reading: Reading) -> tuple[Plan, Reading]:
        """The plan, and the node after it. NotAsReadError if nothing was done."""
        given, resources = self._complete(stage, self._give(stage, reading))
        if self._check:
            plan = self._plan(stage, given, resources)
            self._note(plan)
            return plan, plan.predicted

        for first in stage.first:
            given, resources = self._ask_node(first, stage, given, resources)
        plan, reading = self._plan(stage, given, resources), given.reading
        try:
            if plan.batch is not None:
                reading = self._apply(stage, plan.batch, given)
        except NodeError as error:
            if not plan.waits:
                raise
            display.v(f"{self._asks.host}: {error}")
            plan = self._plan(stage, given, resources, restart_unready=True)
            if plan.batch is not None:
                reading = self._apply(stage, plan.batch, replace(given, mark=uuid.uuid4().hex))
        self._note(plan)
        return plan, reading

    def _give(self, stage: Stage | None, reading: Reading) -> Given[Any]:
        return Given(
            name=stage.called or self.name if stage else self.name,
            options=self._own,
            shared=self._shared,
            layout=self._node.layout,
            reading=reading,
            asks=self._asks,
            mark=uuid.uuid4().hex,
            check=self._check,
            programs=tuple(DAEMONS),
            learned=self._learned,
        )

    def _complete(self, stage: Stage, given: Given[Any]) -> tuple[Given[Any], Resources]:
        """The resources, and the reading with whatever they need that was not read: normally nothing."""
        resources = stage.build_resources(given)
        while (reading := self._node.complete(given.reading, reads(resources))) is not given.reading:
            given = replace(given, reading=reading)  # what has been read may name more, such as files of a folder
            resources = stage.build_resources(given)
        more = () if self._check else reads_for_undo(resources, given.reading)
        if more:
            given = replace(given, reading=given.reading.merge(self._node.probe(more)))
        return given, resources

    def _ask_node(
        self, first: First, stage: Stage, given: Given[Any], resources: Resources
    ) -> tuple[Given[Any], Resources]:
        """The node asked by a batch, and what is wanted now that it has answered."""
        batch = first.batch(given, resources)
        if batch is None:
            return given, resources
        if first.planned:
            self._plan(stage, given, resources)
        steps = first.steps(given, resources)

        reading, answer = self._send(stage, batch, uuid.uuid4().hex, given.reading)
        if steps:
            self._steps += steps
            self._answer = answer
        reading = reading.merge(first.learned(given, batch, answer))

        given, resources = self._complete(stage, replace(given, reading=reading))
        if first.unsettled and first.batch(given, resources) is not None:
            raise NotAsReadError(first.unsettled)
        return given, resources

    def _plan(self, stage: Stage, given: Given[Any], resources: Resources, *, restart_unready: bool = False) -> Plan:
        """Refused for a plan that restarts the machine, if it would not be reached again."""
        deadline = stage.deadline(given)
        plan = make_plan(given.name, resources, given.reading, deadline_s=deadline, restart_unready=restart_unready)
        if plan.reboot and self._restart.reboot:
            self._node.refuse_restart(given.reading)
        return plan

    def _apply(self, stage: Stage, batch: Batch, given: Given[Any]) -> Reading:
        """The plan's batch sent. NotAsReadError if nothing was done."""
        reading, self._answer = self._send(stage, batch, given.mark, given.reading)
        self.acted.append(stage.name)
        return reading

    def _send(self, stage: Stage, batch: Batch, batch_id: str, reading: Reading) -> tuple[Reading, Answer]:
        """`send`, asking for what the stage wants to know afterwards as well."""
        more = merge_queries((*batch.state, *stage.state(self._node.layout)))
        return self.send(replace(batch, state=more), batch_id, reading)

    def _note(self, plan: Plan) -> None:
        self._steps += plan.steps
        self.changed = self.changed or plan.changed
        self.becomes.append(plan.becomes)
        self.interrupts = self.interrupts or (plan.batch is not None and drain.interrupts(plan.batch))

    def _restart_machine(self, reasons: tuple[str, ...], reading: Reading) -> Reading:
        """Restart the machine, wait until it is back, and read it again."""
        display.v(f"{self._asks.host}: {restart.step(reasons).text}")
        batch = restart.batch(self.name, reasons, reading)
        self.emptied += drain.empty_before(batch, self._shared.drain, self._asks)
        try:
            self._node.apply(batch, uuid.uuid4().hex, reading)
        except OutcomeUnknown as lost:
            display.vv(f"{self._asks.host}: {lost}; the machine is going down")
        self._node.wait_until_back(reading.boot_id, self._restart.reboot_timeout)
        return self._read()

    def _read(self) -> Reading:
        return self._node.read(self._needed)

    def _explain_failure(self, stage: Stage, reading: Reading) -> str:
        try:
            return stage.failed(self._give(stage, reading), self._node.probe)
        except NodeError:
            return ""

    # -- what is said of it ------------------------------------------------------------------------------------------

    @property
    def restarts(self) -> bool:
        """Whether the machine was restarted, or would be."""
        return bool(self.reboot) and self._restart.reboot

    @property
    def steps(self) -> tuple[Step, ...]:
        """What was done, or would be, on the node and to empty it."""
        emptied = tuple(Step("the cluster", text) for text in self.emptied)
        return (*emptied, *self._steps, *((restart.step(self.reboot),) if self.restarts else ()))

    def result(self, *, diff: bool) -> dict[str, Any]:
        """The task's result, without facts."""
        found = task_result(
            Plan(self.name, self.steps, None, Reading()),
            check=self._check,
            diff=diff,
            calls=self._node.calls,
            answer=self._answer,
        )
        if self._check:
            found["changed"] = self.changed
        if self.emptied:
            found["winkube"]["drained"] = True
        if self.reboot:
            found |= {
                "changed": found["changed"] or self.restarts,
                "rebooted": self.restarts and not self._check,
            }

        after = self._after
        found["steps"] += as_steps(after.steps, planned=self._check)
        found["changed"] = found["changed"] or bool(after.steps)
        if after.told is not None:
            for step in found["steps"]:
                step["text"] = after.told(step["text"])
            for part in found.get("diff") or ():
                part |= {key: after.told(value) for key, value in part.items()}
        return {**found, **after.result}
