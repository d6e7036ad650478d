# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare what is wanted with the reading, and order the steps into one batch.

The order is the same for every component: place new files beside the old (services run), stop dependants and then the
service, swap, define, start the service, wait until it is ready, start the dependants, write the receipt, check
readiness.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .answer import Answer
from .batch import Batch, Op, flatten
from .reading import Expectation, Query, Reading, expect_unchanged, merge_queries, service_key, services_query
from .resource import Change, ReadsForUndo, Refused, Resource
from .resources.directory import each_once
from .resources.service import RUNNING, STOPPED, NoService, Service, add_start_undo
from .sentences import as_steps
from .tools import halt, start_ops, stop_ops


@dataclass(frozen=True, slots=True)
class Step:
    """One sentence of the plan, and what it changes, for the diff."""

    label: str
    text: str
    before: str = ""
    after: str = ""


def fingerprint(parts: Iterable[tuple[str, str]]) -> str:
    """16 hex digits that identify labels and texts in any order; empty for none."""
    found = sorted(parts)
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()[:16] if found else ""


@dataclass(frozen=True, slots=True)
class Plan:
    """A component's work: none (`batch` is None) or one batch; and the reading after it.

    `reboot` are the reasons to restart the machine after the batch, or without one. `waits`: the batch waits for a
    running service that was not ready when it was read; if it stays so, the next plan restarts it.
    """

    component: str
    steps: tuple[Step, ...]
    batch: Batch | None
    predicted: Reading
    reboot: tuple[str, ...] = ()
    waits: bool = False

    @property
    def becomes(self) -> str:
        """The fingerprint of the new state. A batch that reverts it has this as its `was`."""
        return fingerprint((step.label, step.after) for step in self.steps if step.before != step.after)

    @property
    def changed(self) -> bool:
        """Whether there is work, not counting a restart of the machine."""
        return self.batch is not None


@dataclass(frozen=True, slots=True)
class _Restart:
    """How to stop one service before the swap and start it after."""

    stop: tuple[Op, ...]
    start: tuple[Op, ...]
    gate: tuple[Op, ...]
    steps: tuple[Step, ...]
    halt: tuple[Op, ...] = ()
    waits: bool = False


def reads(resources: Sequence[Resource]) -> tuple[Query, ...]:
    """The queries needed to plan these resources."""
    return merge_queries(query for resource in resources for query in resource.reads())


def reads_for_undo(resources: Sequence[Resource], reading: Reading) -> tuple[Query, ...]:
    """Queries for the undo, made only before these resources change; normally none."""
    asking = (resource for resource in resources if isinstance(resource, ReadsForUndo))
    return merge_queries(query for resource in asking for query in resource.reads_for_undo(reading))


def make_plan(
    component: str,
    resources: Sequence[Resource],
    reading: Reading,
    *,
    deadline_s: int = 900,
    restart_unready: bool = False,
) -> Plan:
    """The plan that makes `resources` true on the node of `reading`. Refused if one of them is impossible.

    A running service that is not ready is waited for, since it may just have been started; with `restart_unready` it is
    restarted.
    """
    resources = each_once(resources)
    _refuse_unread(resources, reading)
    planned = [(resource, change) for resource in resources if (change := resource.change(reading)) is not None]
    changes = [change for resource, change in planned]
    touched = frozenset(key for change in changes for key in change.touches)
    redefined = {resource.label for resource, change in planned if change.define and not change.at_once}
    services = [resource for resource in resources if isinstance(resource, Service)]
    restarts = [
        _restart(service, reading, touched, service.label in redefined, service is not services[-1], restart_unready)
        for service in services
    ]
    reboot = tuple(dict.fromkeys(change.reboot for change in changes if change.reboot))
    steps = tuple(
        Step(resource.label, change.text, change.before, change.after) for resource, change in planned if change.text
    )
    steps += tuple(step for restart in restarts for step in restart.steps)
    ops = (
        *flatten(change.prepare for change in changes),
        *flatten(restart.stop for restart in restarts),
        *_stop_before_undo(flatten(change.commit for change in changes), restarts),
        *flatten(change.define for change in changes),
        *flatten(restart.start for restart in restarts),
        *flatten(change.finish for change in changes),
    )
    if not ops:
        return Plan(component, (), None, reading, reboot)
    batch = Batch(
        component=component,
        ops=ops,
        gate=flatten(restart.gate for restart in restarts),
        pre=_list_expectations(resources, reading),
        state=merge_queries(
            (*(query for change in changes for query in change.state), *_services_again(services, reading))
        ),
        deadline_s=deadline_s,
        was=fingerprint((step.label, step.before) for step in steps if step.before != step.after),
    )
    waits = any(restart.waits for restart in restarts)
    return Plan(component, steps, batch, _predict(changes, services, restarts, reading), reboot, waits)


def _refuse_unread(resources: Sequence[Resource], reading: Reading) -> None:
    errors = reading.errors()
    problems = [
        f"{dict(query.args).get('path') or query.key} could not be read on the node: {errors[query.key]}"
        for query in reads(resources)
        if query.key in errors
    ]
    if problems:
        raise Refused(*problems)


def _restart(
    service: Service,
    reading: Reading,
    touched: frozenset[str],
    redefined: bool,
    more: bool,
    restart_unready: bool,
) -> _Restart:
    """How to restart a service. It restarts if and only if its definition, in a part that takes a restart, or a file
    that it uses changes. A stopped service that should run is started unless it rests; one that must not start yet
    is at most stopped. If `more` services start after it, it must be ready first."""
    affected = redefined or bool(service.uses & touched)
    unready = service.unready(reading) if service.run and service.is_running(reading) and not affected else ""
    if unready and not restart_unready:
        text = f"wait until {service.name} is ready ({unready}), and restart it if it stays so"
        ready = tuple(service.watch(op) for op in service.ready)
        return _Restart((), ready, (), (Step(service.label, text),), waits=True)
    affected = affected or bool(unready)
    stops = affected and service.is_active(reading)
    if not affected and service.is_running(reading):
        return _Restart((), (), (), ())
    there = reading.service(service.name) is not None
    if not stops and (not service.run or (service.rests and there and not affected)):
        return _Restart((), (), (), ())
    dependants = service.dependants(reading) if stops else ()
    stop: list[Op] = []
    for name in dependants:
        ran = (reading.service(name) or {}).get("state") == RUNNING
        stop += add_start_undo(
            name,
            stop_ops(name, "", service.stop_timeout_s),
            service.start_timeout_s,
            ran=ran,
        )
    if stops:
        stop += service.stop(reading)
    halted = service.halt() if there else ()
    if not service.run:
        also = f" and its dependants: {', '.join(dependants)}" if dependants else ""
        return _Restart(tuple(stop), (), (), (Step(service.label, f"stop {service.name}{also}"),), halted)
    ready = tuple(service.watch(op) for op in service.ready)
    start = list(service.start())
    if dependants or more:
        start += ready
    for name in reversed(dependants):
        first, *waits = start_ops(name, service.start_timeout_s)
        start += [first.with_undo(halt(name, service.stop_timeout_s)), *waits]
    why = f", which was not ready: {unready}" if unready else ""
    steps = [Step(service.label, f"{'restart' if stops else 'start'} {service.name}{why}")]
    if dependants:
        steps.append(Step(service.label, f"restart its dependants: {', '.join(dependants)}"))
    gate = (*ready, *(service.watch(op) for op in service.stays))
    return _Restart(tuple(stop), tuple(start), gate, tuple(steps), halted)


def _stop_before_undo(commit: tuple[Op, ...], restarts: Sequence[_Restart]) -> tuple[Op, ...]:
    """The undo of a swap. After a power loss the machine boots and starts the service with a half finished swap, so
    it is stopped before anything is put back."""
    halt = flatten(restart.halt for restart in restarts)
    return tuple(op.with_undo(*halt, *op.undo) if op.undo else op for op in commit)


def _list_expectations(resources: Sequence[Resource], reading: Reading) -> tuple[Expectation, ...]:
    """Everything the plan was made from, including what it leaves alone: a batch only fits the node that was read."""
    files = [expectation for query in reads(resources) if (expectation := expect_unchanged(query, reading)) is not None]
    return (
        *files,
        *(resource.relies_on(reading) for resource in resources if isinstance(resource, Service | NoService)),
    )


def _services_again(services: Sequence[Service], reading: Reading) -> tuple[Query, ...]:
    if not services:
        return ()
    listed = reading.parts.get("services") or ()
    asked = (query for service in services for query, _ready in service.asks() if query.key in reading.parts)
    return (services_query((*(service.name for service in services), *listed)), *asked)


def _predict(
    changes: Sequence[Change],
    services: Sequence[Service],
    restarts: Sequence[_Restart],
    reading: Reading,
) -> Reading:
    parts = {key: value for change in changes for key, value in change.predicted.items()}
    for service, restart in zip(services, restarts, strict=True):
        key = service_key(service.name)
        if (restart.start or restart.stop) and key not in parts and reading.service(service.name) is not None:
            parts[key] = {**(reading.service(service.name) or {}), "state": RUNNING if restart.start else STOPPED}
        if restart.start:
            parts |= {query.key: ready for query, ready in service.asks() if query.key in reading.parts}
    return reading.merge(parts, predicted=True)


# A task's result from a plan: `changed`, `diff` and `steps` come from the same object.


def task_result(plan: Plan, *, check: bool, diff: bool, calls: int, answer: Answer | None = None) -> dict[str, Any]:
    """`{changed, steps: [{text, state}], winkube: {answer, outcome, batch, calls}, diff?}`. `state` is `planned` or
    `done`. A failed component has no result."""
    outcome = answer.outcome or None if answer else None
    found: dict[str, Any] = {
        "changed": plan.changed if check else outcome == "done",
        "steps": as_steps((step.text for step in plan.steps), planned=check),
        "winkube": {
            "answer": answer.answer if answer else None,
            "outcome": outcome,
            "batch": answer.batch if answer else None,
            "calls": calls,
        },
    }
    if diff:
        found["diff"] = [
            {"before_header": step.label, "after_header": step.label, "before": step.before, "after": step.after}
            for step in plan.steps
            if step.before != step.after
        ] or [{"prepared": "".join(f"{step.text}\n" for step in plan.steps)}] * bool(plan.steps)
    return found
