# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Windows service: defined as wanted, running, and restarted only when something it uses has changed."""

from __future__ import annotations

from dataclasses import dataclass

from ..batch import Op, flatten
from ..reading import Expectation, Query, Reading, confidential_query, service_key, services_query
from ..resource import Change, Refused
from ..services.definition import Definition
from ..services.existing import Existing, queries
from ..tools import (
    DEPENDANTS_RUN,
    NOT_INSTALLED,
    NOT_STARTED,
    SC,
    start_ops,
    stop_ops,
    wait_gone,
    wait_run,
    wait_service,
)

RUNNING = "running"
STOPPED = "stopped"
ACTIVE = frozenset({"running", "start_pending", "continue_pending", "paused", "pause_pending"})
"""States in which a service counts as started: nssm shows `paused` while it waits to start a crashing program again."""


@dataclass(frozen=True, slots=True)
class Service:
    """The service `name`, defined by `definition`.

    `uses` are the keys of the files it reads, its program among them: if one of them changes it is restarted.
    `ready` are the waits that
    decide whether a start has worked. Without `run` it is only defined, since somebody else owns its first start: it is
    never started, and stopped if it runs and something it uses changes.
    """

    name: str
    definition: Definition
    uses: frozenset[str]
    ready: tuple[Op, ...] = ()
    start_timeout_s: int = 120
    stop_timeout_s: int = 120
    run: bool = True

    @property
    def label(self) -> str:
        """The service by name."""
        return f"service {self.name}"

    def reads(self) -> tuple[Query, ...]:
        """All services of interest: dependants are found among them."""
        return (services_query((self.name,)),)

    def confides(self, reading: Reading) -> tuple[Query, ...]:
        """The present environment, if it has to change or the service to be made anew: the undo needs its values."""
        found = reading.service(self.name)
        if found is None:
            return ()
        if not self.definition.owns(found):
            return queries(self.name)
        return (confidential_query(self.name),) if self.definition.environment_differs(found) else ()

    def change(self, reading: Reading) -> Change | None:
        """Make or change the definition. Whether it has to be restarted is the planner's business."""
        found = reading.service(self.name)
        after = self.definition.predicted() | {"state": RUNNING if self.run else STOPPED}
        if found is None:
            return Change(
                text=f"make the service {self.name} ({self.definition.manager})",
                before="absent\n",
                after=f"{self.definition.command}\n",
                define=self.definition.create(),
                predicted={service_key(self.name): after},
            )
        if found.get("deleting"):
            raise deleting(self.name)
        if not self.definition.owns(found):
            return self._convert(Existing.of(found, reading), after)
        values = reading.parts.get(confidential_query(self.name).key, {})
        differences = self.definition.differences(found, values)
        if not differences:
            return None
        at_once = all(difference.at_once for difference in differences)
        if at_once and not self.run:
            after["state"] = found.get("state")
        return Change(
            text=f"change {', '.join(difference.setting for difference in differences)} of the service {self.name}",
            before="".join(f"{difference.setting}: {difference.before}\n" for difference in differences),
            after="".join(f"{difference.setting}: {difference.after}\n" for difference in differences),
            define=flatten(difference.ops for difference in differences),
            at_once=at_once,
            predicted={service_key(self.name): {**found, **after}},
        )

    def _convert(self, present: Existing, after: dict[str, object]) -> Change:
        """From one service manager to another: the old service is taken away and the new one made; the undo makes
        the old one again."""
        return Change(
            text=f"convert the service {self.name} from {present.manager} to {self.definition.manager}",
            before=f"{present.manager}: {present.found.get('image_path')}\n",
            after=f"{self.definition.manager}: {self.definition.command}\n",
            define=(*present.remove(), *self.definition.create()),
            predicted={service_key(self.name): after},
        )

    def is_active(self, reading: Reading) -> bool:
        """Whether the service runs, or is on its way to."""
        found = reading.service(self.name)
        return found is not None and found.get("state") in ACTIVE

    def is_running(self, reading: Reading) -> bool:
        """Whether the service runs now."""
        found = reading.service(self.name)
        return found is not None and found.get("state") == RUNNING

    def dependants(self, reading: Reading) -> tuple[str, ...]:
        """Running services that depend on this one, also through others, in the order in which they can be stopped."""
        return running_dependants(self.name, reading)

    def stop(self, reading: Reading) -> tuple[Op, ...]:
        """Stop it; the undo brings it back to running."""
        wanted = self.definition.program
        found = reading.service(self.name)
        programs = Existing(found).programs_to_wait_for(wanted) if found else (wanted,)
        waits = (wait_gone(program, self.stop_timeout_s) for program in programs)
        ops = (*stop_ops(self.name, "", self.stop_timeout_s), *waits)
        first = self.halt_dependants(reading)
        return with_undo_start(self.name, ops, self.start_timeout_s, ran=self.is_running(reading), first=first)

    def halt(self) -> tuple[Op, ...]:
        """Stop it, whatever state it is in; for undos."""
        return (*until_stopped(self.name, self.stop_timeout_s), wait_gone(self.definition.program, self.stop_timeout_s))

    def halt_dependants(self, reading: Reading) -> tuple[Op, ...]:
        """Stop all that depends on it; for undos."""
        return halt_dependants(self.name, reading, self.stop_timeout_s)

    def start(self) -> tuple[Op, ...]:
        """Start it; the undo stops it."""
        start, *waits = start_ops(self.name, self.start_timeout_s)
        undo = self.halt()
        return (start.undone_by(*_if_there(undo)), *waits)

    def relies_on(self, reading: Reading) -> Expectation:
        """That the service is there, or not, and runs the program it ran when it was read."""
        found = reading.service(self.name)
        query = Query(f"expect:{self.name.casefold()}", "service", (("name", self.name),))
        there = (("exists", True), ("image_path", found.get("image_path"))) if found else (("exists", False),)
        return Expectation(query, there)


def deleting(name: str) -> Refused:
    """A service that Windows has not let go of."""
    return Refused(
        f"The service {name} is marked for deletion (Windows error 1072): something still holds it open. Close "
        "services.msc and event viewers on the node, or reboot it, and run again."
    )


def _if_there(ops: tuple[Op, ...]) -> tuple[Op, ...]:
    """An undo may meet a service that was never made: 1060 is fine then, and there is nothing to wait for."""
    stop, *waits = ops
    rest = waits[1:]
    return (Op(stop.op, {**stop.args, "ok_exit": [*stop.args["ok_exit"], NOT_INSTALLED]}), *rest)


def with_undo_start(
    name: str, ops: tuple[Op, ...], timeout_s: int, *, ran: bool, first: tuple[Op, ...] = ()
) -> tuple[Op, ...]:
    """`ops`, which stop a service, undone by starting it; a stop that is still under way is waited for before. The
    undo begins with `first`.

    A service that did not really run before (`ran`), such as one that crashes again and again, is started but not
    waited for.
    """
    order, *rest = ops
    settle = (*first, *until_stopped(name, timeout_s))
    start, *waits = start_ops(name, timeout_s)
    return (order.undone_by(*settle, start, *(waits if ran else ())), *rest)


def halt_dependants(name: str, reading: Reading, timeout_s: int) -> tuple[Op, ...]:
    """Stop all that depends on a service before an undo stops that. A machine that has lost its power starts them at
    boot, also those that rested before, and Windows stops no service that a running one depends on (1051).

    Twice, since Windows may still be about to start them: the first round is over when the service itself refuses.
    """
    stops = _halt(dependants_of(name, reading), reading, timeout_s)
    return (*stops, _order_stop(name, timeout_s, DEPENDANTS_RUN), *stops) if stops else ()


def _halt(names: tuple[str, ...], reading: Reading, timeout_s: int) -> tuple[Op, ...]:
    """Stop these services, the last to be started first; each of which others depend on in the same two rounds: while
    it was on its way up those counted as stopped, and Windows started them behind it."""
    return tuple(
        op for name in names for op in (*halt_dependants(name, reading, timeout_s), *until_stopped(name, timeout_s))
    )


def until_stopped(name: str, timeout_s: int) -> tuple[Op, ...]:
    """Stop a service that may be on its way up or down; for undos."""
    return (_order_stop(name, timeout_s), wait_service(name, "stopped", timeout_s))


def _order_stop(name: str, timeout_s: int, *also_ok: int) -> Op:
    """A service on its way takes no order (1061), so it is asked until it does."""
    return wait_run(SC, "stop", name, timeout_s=timeout_s, ok_exit=(0, NOT_STARTED, *also_ok), encoding="oem")


def running_dependants(name: str, reading: Reading) -> tuple[str, ...]:
    """Running services that depend on `name`, those that others depend on last, so that the tuple is an order to
    stop in."""
    return dependants_of(name, reading, ACTIVE)


def dependants_of(name: str, reading: Reading, states: frozenset[str] | None = None) -> tuple[str, ...]:
    """Services that depend on `name`, also through others, in an order to stop in; only those in one of `states`, if
    that is given."""
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
