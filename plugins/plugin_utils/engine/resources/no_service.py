# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A service that should not be there, such as one whose work a DaemonSet does now."""

from __future__ import annotations

from dataclasses import dataclass

from .. import windows_path
from ..batch import Op
from ..reading import Expectation, Query, Reading, service_key, services_query
from ..resource import Change, Refused
from ..services.existing import Existing, queries
from ..tools import start_ops
from .service import ACTIVE, RUNNING, deleting, running_dependants


def runs(name: str, program: str, reading: Reading) -> bool:
    """Whether there is a service `name` that runs `program`, by itself or under nssm."""
    found = reading.service(name)
    return found is not None and windows_path.same(Existing(found).program, program)


@dataclass(frozen=True, slots=True)
class NoService:
    """There is no service `name`. If `program` is given, only one that runs it is removed; another of that name is
    somebody else's and is refused."""

    name: str
    program: str = ""
    stop_timeout_s: int = 120
    start_timeout_s: int = 120

    @property
    def label(self) -> str:
        """The service by name."""
        return f"service {self.name}"

    def reads(self) -> tuple[Query, ...]:
        """All services of interest: dependants are found among them."""
        return (services_query((self.name,)),)

    def confides(self, reading: Reading) -> tuple[Query, ...]:
        """The values of its environment, for the undo."""
        return queries(self.name) if reading.service(self.name) is not None else ()

    def change(self, reading: Reading) -> Change | None:
        """Stop the service and remove it; the undo makes it again and starts it. Refused if something needs it."""
        found = reading.service(self.name)
        if found is None:
            return None
        if found.get("deleting"):
            raise deleting(self.name)
        present = Existing.of(found, reading)
        if self.program and not runs(self.name, self.program, reading):
            raise Refused(
                f"The service {self.name} should not be there any more, but it runs {present.program}, not "
                f"{self.program}: it is somebody else's. Remove it yourself, or give it another name."
            )
        if dependants := running_dependants(self.name, reading):
            raise Refused(
                f"The service {self.name} should not be there any more, but {', '.join(dependants)} depends on it. "
                "Take the dependency away first (sc.exe config <service> depend= /)."
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
        """That the service is there, or not, and runs the program it ran when it was read."""
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
        return (first.undone_by(start, *(waits if ran else ())), *rest)
