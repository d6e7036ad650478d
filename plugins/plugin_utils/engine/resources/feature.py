# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A feature of Windows that brings services with it, and is in force only after a restart."""

from __future__ import annotations

from dataclasses import dataclass

from ..batch import Op, flatten
from ..reading import Query, Reading, service_key, services_query
from ..resource import Change
from ..tools import SYSTEM32, run, start_ops

DISM = SYSTEM32 + r"\dism.exe"
RESTART_REQUIRED = 3010
"""Source: learn.microsoft.com, System Error Codes, ERROR_SUCCESS_REBOOT_REQUIRED."""
TIMEOUT_S = 600
START_TIMEOUT_S = 60


@dataclass(frozen=True, slots=True)
class Feature:
    """The feature `name` is on: in force when all of its `services` exist. Those of `running` start on demand, and are
    started here so that they answer a reading; `answers` are the queries that they answer.

    There is no cheaper sign: asking dism.exe takes seconds, and it says "enabled" before the restart too.
    """

    name: str
    services: tuple[str, ...]
    running: tuple[str, ...] = ()
    answers: tuple[Query, ...] = ()

    @property
    def label(self) -> str:
        """The feature by name."""
        return f"the Windows feature {self.name}"

    def reads(self) -> tuple[Query, ...]:
        """Its services."""
        return (services_query(self.services),)

    def confides(self, reading: Reading) -> tuple[Query, ...]:
        """Nothing."""
        return ()

    def change(self, reading: Reading) -> Change | None:
        """Turn it on, and ask for a restart. Turning on what only waits for the restart does nothing."""
        absent = tuple(name for name in self.services if reading.service(name) is None)
        if not absent:
            return self._start(reading)
        return Change(
            text=f"turn on the Windows feature {self.name}",
            before=f"without {', '.join(absent)}\n",
            after=f"with {', '.join(self.services)}\n",
            prepare=(self._dism("/Enable-Feature", "/All").undone_by(self._dism("/Disable-Feature")),),
            predicted={service_key(name): {"name": name, "state": "stopped", "start": 3} for name in absent},
            state=self.reads(),
            reboot=f"the Windows feature {self.name} comes into force",
        )

    def _start(self, reading: Reading) -> Change | None:
        down = tuple(name for name in self.running if (reading.service(name) or {}).get("state") == "stopped")
        if not down:
            return None
        starts = flatten(start_ops(name, START_TIMEOUT_S) for name in down)
        return Change(
            text=f"start {', '.join(down)}",
            prepare=starts,
            predicted={service_key(name): {**(reading.service(name) or {}), "state": "running"} for name in down},
            state=(*self.reads(), *self.answers),
        )

    def _dism(self, action: str, *more: str) -> Op:
        return run(
            DISM,
            *("/Online", action, f"/FeatureName:{self.name}", *more, "/NoRestart", "/English"),
            ok_exit=(0, RESTART_REQUIRED),
            timeout_s=TIMEOUT_S,
        )
