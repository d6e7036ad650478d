# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of one node in one run, and how what a task adds gets into it.

Shape: docs/record.md; record.schema.json is made of these classes. Each task of this collection adds what it planned,
did, saw or failed at; what Ansible alone knows - that a task of others failed, that a failure was ignored or rescued -
is added at the end of the run from Ansible's own counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

SCHEMA = 1
UNKNOWN = "unknown"
"""What the run did not see."""
OK, FAILED, UNREACHABLE = "ok", "failed", "unreachable"
READS = "node_info"
"""What the task is about that reads the node, with which a plan begins."""
HIDDEN = "hidden, since the task has no_log"


def _told(description: str) -> Mapping[str, str]:
    """Of a field what the schema says of it."""
    return {"description": description}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Something that a run would do."""

    text: str = field(metadata=_told("An order, such as 'restart containerd'."))
    diff: str = field(default="", metadata=_told("The lines that differ, with --diff."))


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The plan of a whole node, which the first task of site.yml makes."""

    whole: bool = field(
        metadata=_told("Whether every component that takes part was planned; else tasks plan the rest.")
    )
    looked: bool = field(default=True, metadata=_told("Whether the tags of the run left any component in it."))
    unpinned: tuple[str, ...] = field(
        default=(), metadata=_told("Downloads that only the server of the file vouches for.")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A task that did not end well."""

    state: str = field(metadata=_told("failed, or unreachable."))
    task: str = field(metadata=_told("The task's name."))
    reason: str = field(metadata=_told("The whole reason, as the task gave it."))


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """A repair that ended with nothing left to do or left its work to roles, or one that began to change something and
    failed."""

    cause: str = field(metadata=_told("The id of the finding, else the name of the repair."))
    mended: bool = field(metadata=_told("Whether it ended as it should, with the roles that it left its work to."))
    why: str = field(default="", metadata=_told("What became of it, where it did not."))
    left_to: tuple[str, ...] = field(
        default=(), metadata=_told("The roles to which it left its work, and which have not run since.")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """What the Node says that it runs."""

    kubernetes: str = field(default=UNKNOWN, metadata=_told("The kubelet's release, such as 1.37.1."))
    containerd: str = field(default=UNKNOWN, metadata=_told("containerd's release, such as 2.3.7."))
    windows: str = field(default=UNKNOWN, metadata=_told("The Windows that it reports."))


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The Node object as a task last saw it."""

    node: str
    ready: str
    pod_cidr: str
    versions: Versions


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """What one task adds to the record of its host. `task` tells tasks apart, `name` is for people; `about` is the
    component, or what else the task's module is about; `ends`: the component is as wanted now."""

    run: str
    host: str
    task: str = ""
    name: str = ""
    about: str = ""
    began: float = 0.0
    ended: float = 0.0
    """Seconds since 1970; 0 for what did not come from a task."""
    loops: bool = False
    plan: Plan | None = None
    planned: Mapping[str, tuple[Step, ...]] = field(default_factory=dict)
    done: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    ends: bool = False
    waits: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    drained: bool = False
    restarted: bool = False
    seen: Seen | None = None
    diagnosis: Mapping[str, Any] | None = None
    repair: Repair | None = None
    failure: Failure | None = None
    plans: bool = False
    """Whether the task plans the node, or a part of it, and changes nothing."""
    went_on: bool = False
    """Whether the play goes on for the host although the task failed."""
    state: str = ""
    """How Ansible counts the host, once the run is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRecord:
    """What a run did to a node."""

    schema: int = field(
        default=SCHEMA, metadata=_told("The version of this form. A field that is added does not change it.")
    )
    run: str = field(default="", metadata=_told("The id of the run, one for each ansible-playbook."))
    host: str = field(metadata=_told("The inventory's name."))
    node: str = field(default=UNKNOWN, metadata=_told("The name of the Node."))
    state: str = field(
        default=OK,
        metadata=_told(
            "ok, failed or unreachable: as Ansible counts the host at the end of the run. Before that, and where the "
            "callback winkube.node.steps is not enabled, as the last task of this collection left it."
        ),
    )
    began: str = field(default="", metadata=_told("When the first task of this collection began on it, UTC."))
    ended: str = field(default="", metadata=_told("When the last one ended."))
    minutes: float = field(default=0.0, metadata=_told("Between the two."))
    plan: Plan | None = field(default=None, metadata=_told("The plan of the whole node, if one was made."))
    planned: Mapping[str, tuple[Step, ...]] = field(
        default_factory=dict, metadata=_told("By component what would be done, or was to be done, by its last plan.")
    )
    left: tuple[str, ...] = field(default=(), metadata=_told("The components that were planned and are not done."))
    not_planned: Failure | None = field(
        default=None, metadata=_told("Why it could not be planned, where it could not.")
    )
    done: Mapping[str, tuple[str, ...]] = field(default_factory=dict, metadata=_told("By component what was done."))
    found: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict, metadata=_told("What modules found that change nothing.")
    )
    drained: bool = field(default=False, metadata=_told("Whether the Node was drained."))
    restarted: bool = field(default=False, metadata=_told("Whether the machine was restarted."))
    waits: tuple[str, ...] = field(default=(), metadata=_told("What was waited for, as it was said."))
    notes: tuple[str, ...] = field(
        default=(), metadata=_told("Warnings: what somebody should know, and no run changes.")
    )
    failed: Failure | None = field(default=None, metadata=_told("Why the state is not ok."))
    went_on: tuple[Failure, ...] = field(default=(), metadata=_told("Failures that were ignored or rescued."))
    ready: str = field(
        default=UNKNOWN,
        metadata=_told("The Node's condition Ready: True, False or Unknown; unknown where it was not seen."),
    )
    pod_cidr: str = field(default=UNKNOWN, metadata=_told("The Node's podCIDR; empty if it has none."))
    versions: Versions = field(default_factory=Versions, metadata=_told("Releases, where the run saw the Node."))
    diagnosis: Mapping[str, Any] | None = field(
        default=None, metadata=_told("What win_k8s_diagnose returns, where it ran.")
    )
    repairs: tuple[Repair, ...] = field(
        default=(), metadata=_told("What repairs tried, in their order; the condition Healthy is made from them.")
    )

    def to_data(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)

    @property
    def failures(self) -> tuple[Failure, ...]:
        """All of them, the one that counts last."""
        return (*self.went_on, *((self.failed,) if self.failed else ()))

    @property
    def standing(self) -> tuple[str, ...]:
        """Whether the Node is Ready, and with which releases; empty where the run did not see that."""
        if self.ready == UNKNOWN:
            return ()
        kubernetes, containerd = self.versions.kubernetes, self.versions.containerd
        return (
            "Ready" if self.ready == "True" else "not Ready",
            *((kubernetes,) if kubernetes != UNKNOWN else ()),
            *((f"containerd {containerd}",) if containerd != UNKNOWN else ()),
        )

    @property
    def differs(self) -> bool:
        """Whether something was to be done when the run last planned."""
        return any(self.planned.values())


def add(record: NodeRecord, added: Added) -> NodeRecord:
    """The record with what a task adds."""
    record = _add_time(record, added)
    record = _add_outcome(record, added)
    record = _add_work(record, added)
    if (seen := added.seen) is not None:
        record = replace(record, node=seen.node, ready=seen.ready, pod_cidr=seen.pod_cidr, versions=seen.versions)
    return replace(
        record,
        run=added.run,
        drained=record.drained or added.drained,
        restarted=record.restarted or added.restarted,
        waits=(*record.waits, *added.waits),
        notes=tuple(dict.fromkeys((*record.notes, *added.notes))),
        diagnosis=record.diagnosis if added.diagnosis is None else added.diagnosis,
        repairs=(*(_go_on(each, added) for each in record.repairs), *((added.repair,) if added.repair else ())),
    )


def _go_on(repair: Repair, added: Added) -> Repair:
    """The repair once a task has done what was left to its role."""
    if added.about not in repair.left_to or not added.ends or added.failure is not None:
        return repair
    left = tuple(about for about in repair.left_to if about != added.about)
    return replace(repair, left_to=left, mended=not left)


def _add_time(record: NodeRecord, added: Added) -> NodeRecord:
    if not added.began:
        return record
    began = record.began or _moment(added.began)
    ended = max(record.ended, _moment(added.ended))
    spent = datetime.fromisoformat(ended) - datetime.fromisoformat(began)
    return replace(record, began=began, ended=ended, minutes=round(spent.total_seconds() / 60, 2))


def _add_work(record: NodeRecord, added: Added) -> NodeRecord:
    planned, left = dict(record.planned), list(record.left)
    if added.plan is not None:
        planned, left = {}, []
    planned |= added.planned
    left += [about for about, steps in added.planned.items() if steps and about not in left]
    if added.ends and added.failure is None:
        left = [about for about in left if about != added.about]
    planned = {about: steps for about, steps in planned.items() if steps}
    return replace(
        record,
        plan=added.plan or record.plan,
        planned=planned,
        left=tuple(about for about in left if about in planned),
        done=_append(record.done, added.about, added.done),
        found=_append(record.found, added.about, added.found),
    )


def _append(known: Mapping[str, tuple[str, ...]], about: str, more: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
    return {**known, about: (*known.get(about, ()), *more)} if more else known


def _add_outcome(record: NodeRecord, added: Added) -> NodeRecord:
    """Ansible begins no task on a host that has failed: one that follows shows that the failure was rescued."""
    if added.state:
        return _settle(record, added.state)
    if record.failed is not None and not added.loops:
        record = replace(record, state=OK, failed=None, went_on=(*record.went_on, record.failed))
    if added.failure is None:
        return replace(record, not_planned=None) if added.about == READS else record
    if added.plans:
        record = replace(record, not_planned=added.failure)
    if added.went_on:
        return replace(record, went_on=(*record.went_on, added.failure))
    return replace(record, state=added.failure.state, failed=added.failure)


def _settle(record: NodeRecord, state: str) -> NodeRecord:
    """The state that Ansible counts, with the last failure of that kind for its reason."""
    failures = record.failures
    if state == OK:
        return replace(record, state=OK, failed=None, went_on=failures)
    own = record.failed if record.failed and record.failed.state == state else None
    own = own or next((each for each in reversed(failures) if each.state == state), None)
    failed = own or Failure(state=state, task="", reason="Ansible gave no reason.")
    return replace(record, state=state, failed=failed, went_on=tuple(each for each in failures if each is not own))


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
