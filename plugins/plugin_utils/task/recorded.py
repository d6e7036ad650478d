# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a task adds to the record of its host (record/node_record.py), and the file that the records of a run go to."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ansible import constants as C  # noqa: N812 - as all of Ansible names it

from ..cluster.records import NodeObject
from ..engine.printable import make_printable, make_sentence
from ..record.node_record import HIDDEN, READS, UNKNOWN, Added, Failure, Plan, Repair, Seen, Step, Versions
from ..record.store import Store, write_at_end
from .screen import display

WOULD = "would "
DIAGNOSIS = (
    *("windows", "message", "message_means", "counts", "services", "facts", "picture", "causes", "notes", "said"),
)
"""What of a diagnosis the record keeps: what its page shows (diagnosis/page.py)."""
SHORT = 253
"""Characters of what a Node says of itself: no name in Kubernetes is longer."""


def find_store() -> Store:
    """The records of this run."""
    return Store(Path(C.DEFAULT_LOCAL_TMP))


def write_records_at_end() -> None:
    """The run's own process writes the file of records before it ends."""
    write_at_end(Path(C.DEFAULT_LOCAL_TMP), display.warning)


write_records_at_end()


def see_node(node: NodeObject) -> Seen:
    """What the record says of a Node."""
    ready = node.find_condition("Ready")
    return Seen(
        node=_text(node.name),
        ready=_text(ready.status if ready is not None else ""),
        pod_cidr=make_sentence(node.pod_cidr, SHORT),
        versions=Versions(
            kubernetes=_text(node.kubelet.removeprefix("v")),
            containerd=_text(node.containerd),
            windows=_text(node.os_image),
        ),
    )


def _text(value: object) -> str:
    """Another's short text."""
    return make_sentence(value, SHORT) if value else UNKNOWN


@dataclass(slots=True, kw_only=True)
class Adding:
    """What the action of a task notes for the record while it works, beside what its result says."""

    plan: Plan | None = None
    planned: dict[str, tuple[Step, ...]] = field(default_factory=dict)
    waits: dict[str, str] = field(default_factory=dict)
    """The last sentence about each thing that was waited for."""
    notes: list[str] = field(default_factory=list)
    drained: bool = False
    seen: Seen | None = None
    diagnosis: Mapping[str, Any] | None = None
    repair: Repair | None = None
    began: float = field(default_factory=time.time)

    def wait(self, sentence: str) -> None:
        """Something is waited for; of sentences that differ in numbers alone the last one counts."""
        self.waits["".join(each for each in sentence if not each.isdigit())] = sentence

    def diagnose(self, found: Mapping[str, Any]) -> None:
        """What a diagnosis of the node found, as its page has it."""
        told: dict[str, Any] = make_printable({name: found[name] for name in DIAGNOSIS if name in found})
        self.diagnosis = told

    def see(self, node: NodeObject | None) -> None:
        """The Node, where there is one."""
        self.seen = self.seen if node is None else see_node(node)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """The task that adds something: see Added. `check`: it changes nothing; `hides`: it has no_log; `changes`: its
    module brings about what it is about."""

    run: str
    host: str
    id: str
    name: str
    about: str
    check: bool
    hides: bool
    changes: bool
    loops: bool
    goes_on: frozenset[str]
    """The states of a failure with which the play goes on for the host."""


def of_result(task: Task, adding: Adding, result: Mapping[str, Any]) -> Added:
    """What a task that did its work adds."""
    steps = [each for each in result.get("steps") or () if isinstance(each, Mapping)]
    planned = dict(adding.planned)
    orders = tuple(Step(text=text.removeprefix(WOULD)) for text in _texts(steps, "planned"))
    if adding.plan is None and (orders or task.check):  # what follows the batches stands in the result alone
        known = planned.get(task.about, ())
        said = {step.text for step in known}
        planned[task.about] = (*known, *(step for step in orders if step.text not in said))
    failed = Failure(state="failed", task=task.name, reason=str(result.get("msg"))) if result.get("failed") else None
    return _added(
        task,
        adding,
        planned=planned,
        done=_texts(steps, "done"),
        found=_texts(steps, "found"),
        ends=task.changes and not task.check,
        drained=adding.drained or bool((result.get("winkube") or {}).get("drained")),
        restarted=bool(result.get("rebooted")),
        failure=failed,
    )


def of_failure(task: Task, adding: Adding, state: str, reason: str) -> Added:
    """What a task adds that did not do its work."""
    return _added(task, adding, failure=Failure(state=state, task=task.name, reason=make_sentence(reason)))


def _texts(steps: Sequence[Mapping[str, Any]], state: str) -> tuple[str, ...]:
    return tuple(str(each.get("text")) for each in steps if each.get("state") == state)


def _added(task: Task, adding: Adding, *, failure: Failure | None = None, **more: Any) -> Added:
    added = Added(
        run=task.run,
        host=task.host,
        task=task.id,
        name=task.name,
        about=task.about,
        began=adding.began,
        ended=time.time(),
        loops=task.loops,
        plan=adding.plan,
        waits=tuple(adding.waits.values()),
        notes=tuple(adding.notes),
        seen=adding.seen,
        diagnosis=adding.diagnosis,
        repair=adding.repair,
        failure=failure,
        plans=task.check or task.about == READS,
        went_on=failure is not None and failure.state in task.goes_on,
        **more,
    )
    return _hide(added) if task.hides else added


def _hide(added: Added) -> Added:
    """Without the texts of a task with no_log: how many there are may be known."""
    steps = tuple(Step(text=HIDDEN) for _each in added.planned.get(added.about, ()))
    failure = added.failure and replace(added.failure, reason=HIDDEN)
    repair = added.repair and replace(added.repair, why=HIDDEN if added.repair.why else "")
    return replace(
        added,
        planned={added.about: steps} if steps else {},
        done=(HIDDEN,) * bool(added.done),
        found=(HIDDEN,) * bool(added.found),
        waits=(),
        notes=(),
        diagnosis=None,
        repair=repair,
        failure=failure,
    )


def says_anything(added: Added) -> bool:
    """Whether there is more in it than that a task ran."""
    told = (added.planned, added.done, added.found, added.waits, added.notes, added.seen, added.failure, added.repair)
    return any(told) or added.diagnosis is not None
