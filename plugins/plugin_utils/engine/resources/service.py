# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Windows service: defined as wanted, running, and restarted only if something it uses has changed; or removed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from .. import command_line, windows_path
from ..batch import Op, flatten
from ..reading import (
    Expectation,
    Query,
    Reading,
    http_query,
    pipe_query,
    service_key,
    services_query,
)
from ..resource import Change, Refused
from ..services.definition import Definition
from ..services.existing import Existing, log_file, queries
from ..tools import halt, start_ops, stop_ops, wait_gone

RUNNING = "running"
STOPPED = "stopped"
ACTIVE = frozenset({"running", "start_pending", "continue_pending", "paused", "pause_pending"})
"""States in which a service counts as started: nssm shows `paused` before it restarts a crashing program."""

_BY = {"nssm": " with nssm", "sc": " with sc.exe", "registered": ""}
"""How messages name the manager of a new service."""


@dataclass(frozen=True, slots=True)
class Service:
    """The service `name`, defined by `definition`.

    `uses` are the keys of the files it reads, its program among them: it restarts if one of them changes. `ready` are
    the waits that decide whether a start has worked. Without `run` it is only defined, since another part starts it
    first: it is never started, and stopped if it runs and something it uses changes. A service that `retries` ends
    until its prerequisites exist and is started again, so its end means nothing. With `first_end` the first end of its
    program counts as a failure, without waiting for a new start. A service that `rests` stays stopped unless something
    it uses changes. `stays` are waits for the end of the batch, after `ready`; no dependant waits for them.
    """

    name: str
    definition: Definition
    uses: frozenset[str]
    ready: tuple[Op, ...] = ()
    start_timeout_s: int = 120
    stop_timeout_s: int = 120
    run: bool = True
    retries: bool = False
    first_end: bool = False
    rests: bool = False
    stays: tuple[Op, ...] = ()

    @property
    def label(self) -> str:
        """The service by name."""
        return f"service {self.name}"

    def reads(self) -> tuple[Query, ...]:
        """All listed services: its dependants are among them."""
        return (services_query((self.name,)),)

    def reads_for_undo(self, reading: Reading) -> tuple[Query, ...]:
        """Its registry key, if the service is recreated."""
        found = reading.service(self.name)
        return queries(self.name) if found is not None and not self.definition.owns(found) else ()

    def change(self, reading: Reading) -> Change | None:
        """Make or change the definition. The planner decides about a restart."""
        found = reading.service(self.name)
        after = self.definition.predict() | {"state": RUNNING if self.run else STOPPED}
        if found is None:
            return Change(
                text=f"register the service {self.name}{_BY[self.definition.manager]}",
                before="absent\n",
                after=f"{command_line.list_arguments(self.definition.command).lstrip()}\n",
                define=self.definition.create(),
                predicted={service_key(self.name): after},
            )
        if found.get("deleting"):
            raise refuse_deleting(self.name)
        if not self.definition.owns(found):
            return self._convert(Existing.of(found, reading), after)
        differences = self.definition.differences(found)
        if not differences:
            return None
        at_once = all(difference.at_once for difference in differences)
        if at_once and not self.run:
            after["state"] = found.get("state")
        return Change(
            text=f"change {', '.join(difference.setting for difference in differences)} of the service {self.name}",
            before="".join(_setting(difference.setting, difference.before) for difference in differences),
            after="".join(_setting(difference.setting, difference.after) for difference in differences),
            define=flatten(difference.ops for difference in differences),
            at_once=at_once,
            predicted={service_key(self.name): {**found, **after}},
        )

    def _convert(self, present: Existing, after: dict[str, object]) -> Change:
        """Convert the service to another service manager: remove it and create the new one; the undo recreates the old
        one."""
        return Change(
            text=f"convert the service {self.name} from {_way(present.manager)} to {_way(self.definition.manager)}",
            before=_setting(
                _way(present.manager), command_line.list_arguments(str(present.found.get("image_path") or ""))
            ),
            after=_setting(_way(self.definition.manager), command_line.list_arguments(self.definition.command)),
            define=(*present.remove(), *self.definition.create()),
            predicted={service_key(self.name): after},
        )

    def is_active(self, reading: Reading) -> bool:
        """Whether the service runs or is starting."""
        found = reading.service(self.name)
        return found is not None and found.get("state") in ACTIVE

    def is_running(self, reading: Reading) -> bool:
        """Whether the service runs now."""
        found = reading.service(self.name)
        return found is not None and found.get("state") == RUNNING

    def asks(self) -> tuple[tuple[Query, dict[str, Any]], ...]:
        """Queries that tell whether it is ready without waiting, each with the answer of a ready service."""
        found: list[tuple[Query, dict[str, Any]]] = []
        for op in self.ready:
            if op.args.get("for") == "pipe":
                found.append((pipe_query(str(op.args["name"])), {"exists": True}))
            elif op.args.get("for") == "http":
                found.append((http_query(str(op.args["url"]), self.name), {"status": op.args["status"]}))
        return tuple(found)

    def unready(self, reading: Reading) -> str:
        """Why it runs but is not ready, if that was read; empty if it is ready."""
        for query, wanted in self.asks():
            answer = reading.parts.get(query.key)
            if not isinstance(answer, Mapping) or all(
                answer.get(name, value) == value for name, value in wanted.items()
            ):
                continue
            if query.op == "pipe":
                return f"its pipe {dict(query.args)['name']} is not there"
            return f"{dict(query.args)['url']} answers {answer.get('status') or 'nothing'}"
        return ""

    def dependants(self, reading: Reading) -> tuple[str, ...]:
        """Running services that depend on this one, directly or not, in stop order."""
        return running_dependants(self.name, reading)

    def stop(self, reading: Reading) -> tuple[Op, ...]:
        """Stop it; the undo starts it again."""
        wanted = self.definition.program
        found = reading.service(self.name)
        programs = Existing(found).programs_to_wait_for(wanted) if found else (wanted,)
        waits = (wait_gone(program, self.stop_timeout_s) for program in programs)
        ops = (*stop_ops(self.name, "", self.stop_timeout_s), *waits)
        return add_start_undo(self.name, ops, self.start_timeout_s, ran=self.is_running(reading))

    def halt(self) -> tuple[Op, ...]:
        """Stop it and its dependants, whatever state they are in; for undos. After a power loss the machine starts
        them at boot, even those that rested before."""
        return (halt(self.name, self.stop_timeout_s), wait_gone(self.definition.program, self.stop_timeout_s))

    def start(self) -> tuple[Op, ...]:
        """Start it; the undo stops it."""
        start, wait = start_ops(self.name, self.start_timeout_s)
        return (start.with_undo(*self.halt()), self.watch(wait))

    @property
    def log(self) -> str:
        """The file that its program logs to; empty if unknown."""
        return log_file(self.definition.predict())

    def watch(self, wait: Op) -> Op:
        """A wait that also ends if the service ends, and then says how."""
        if wait.op != "wait":
            return wait
        program = self.definition.program if self.first_end else ""
        more = {"ends_with": "" if self.retries else self.name, "ends_with_program": program, "log": self.log}
        return replace(wait, args={**wait.args, **{name: value for name, value in more.items() if value}})

    def relies_on(self, reading: Reading) -> Expectation:
        """That the service exists, or not, and runs the same program as when it was read."""
        found = reading.service(self.name)
        query = Query(f"expect:{self.name.casefold()}", "service", (("name", self.name),))
        there = (("exists", True), ("image_path", found.get("image_path"))) if found else (("exists", False),)
        return Expectation(query, there)


def _setting(name: str, value: str) -> str:
    """A line of the diff; a value of several lines starts below its name."""
    return f"{name}:{value}\n" if value.startswith("\n") else f"{name}: {value}\n"


def _way(manager: str) -> str:
    """How a service runs, in the same words before and after: nothing on the node distinguishes a registered service
    from one of sc.exe."""
    return manager if manager == "nssm" else "a service of its own"


def refuse_deleting(name: str) -> Refused:
    """A refusal: Windows has not finished deleting the service."""
    return Refused(
        f"The service {name} is marked for deletion (Windows error 1072): something still holds it open. Close "
        "services.msc and event viewers on the node, or reboot it, and run again."
    )


def add_start_undo(name: str, ops: tuple[Op, ...], timeout_s: int, *, ran: bool) -> tuple[Op, ...]:
    """`ops`, which stop a service, with a start as their undo, after waiting for a stop that is still under way.

    If the service did not really run before (`ran`), such as one that crashes again and again, the undo does not wait
    for its start.
    """
    order, *rest = ops
    start, *waits = start_ops(name, timeout_s)
    return (order.with_undo(halt(name, timeout_s), start, *(waits if ran else ())), *rest)


def running_dependants(name: str, reading: Reading) -> tuple[str, ...]:
    """Running services that depend on `name`, in stop order."""
    return dependants_of(name, reading, ACTIVE)


def dependants_of(name: str, reading: Reading, states: frozenset[str] | None = None) -> tuple[str, ...]:
    """Services that depend on `name`, directly or not, in stop order; with `states` only those in one of these."""
    ordered: list[str] = []

    def visit(service: str) -> None:
        for other in reading.services():
            depends_on = {str(entry).casefold() for entry in other.get("depends_on") or ()}
            label = str(other["name"])
            wanted = states is None or other.get("state") in states
            if service.casefold() in depends_on and wanted and label not in ordered:
                visit(label)
                ordered.append(label)

    visit(name)
    return tuple(ordered)


# A service that should not exist, such as one whose work a DaemonSet does now.


def runs(name: str, program: str, reading: Reading) -> bool:
    """Whether a service `name` runs `program`, by itself or under nssm."""
    found = reading.service(name)
    return found is not None and windows_path.is_same(Existing(found).program, program)


@dataclass(frozen=True, slots=True)
class NoService:
    """There is no service `name`. With `program` only a service that runs it is removed; another of that name is not
    ours, and is refused."""

    name: str
    program: str = ""
    stop_timeout_s: int = 120
    start_timeout_s: int = 120

    @property
    def label(self) -> str:
        """The service by name."""
        return f"service {self.name}"

    def reads(self) -> tuple[Query, ...]:
        """All listed services: its dependants are among them."""
        return (services_query((self.name,)),)

    def reads_for_undo(self, reading: Reading) -> tuple[Query, ...]:
        """Its registry key, of which the undo makes it again."""
        return queries(self.name) if reading.service(self.name) is not None else ()

    def change(self, reading: Reading) -> Change | None:
        """Stop and remove the service; the undo recreates and starts it. Refused if something depends on it."""
        found = reading.service(self.name)
        if found is None:
            return None
        if found.get("deleting"):
            raise refuse_deleting(self.name)
        present = Existing.of(found, reading)
        if self.program and not runs(self.name, self.program, reading):
            raise Refused(
                f"The service {self.name} should not be there any more, but it runs {present.program}, not "
                f"{self.program}: it is not ours. Remove it yourself, or give it another name."
            )
        if dependants := running_dependants(self.name, reading):
            raise Refused(
                f"The service {self.name} should not be there any more, but {', '.join(dependants)} depends on it. "
                f"Remove the dependency first (sc.exe config {dependants[0]} depend= /, which removes all of its own)."
            )
        return Change(
            text=f"remove the service {self.name}",
            before=f"{found.get('image_path')}\n",
            after="absent\n",
            commit=(*self._stop(present), *present.remove()),
            predicted={service_key(self.name): None},
            state=(services_query((self.name, *(reading.parts.get("services") or ()))),),
        )

    def relies_on(self, reading: Reading) -> Expectation:
        """That the service exists, or not, and runs the same program as when it was read."""
        found = reading.service(self.name)
        query = Query(f"expect:{self.name.casefold()}", "service", (("name", self.name),))
        there = (("exists", True), ("image_path", found.get("image_path"))) if found else (("exists", False),)
        return Expectation(query, there)

    def _stop(self, present: Existing) -> tuple[Op, ...]:
        if present.found.get("state") not in ACTIVE:
            return ()
        first, *rest = present.stop(self.stop_timeout_s)
        start, *waits = start_ops(self.name, self.start_timeout_s)
        ran = present.found.get("state") == RUNNING
        return (first.with_undo(start, *(waits if ran else ())), *rest)
