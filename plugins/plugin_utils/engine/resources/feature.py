# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Windows feature that brings services and takes effect only after a restart."""

from __future__ import annotations

import json
from dataclasses import dataclass

from ..batch import Op, as_base64, flatten
from ..reading import Query, Reading, file_query, service_key, services_query
from ..resource import Change
from ..tools import SYSTEM32, run, start_ops, wait_service

DISM = SYSTEM32 + r"\dism.exe"
RESTART_REQUIRED = 3010
"""Source: learn.microsoft.com, System Error Codes, ERROR_SUCCESS_REBOOT_REQUIRED."""
TIMEOUT_S = 3600
"""Microsoft names no limit; with a slow disk or pending updates it takes much longer than ten minutes."""
SERVICING = "TrustedInstaller"
"""The service Windows Modules Installer: it does the work, continues after dism.exe has ended, and stops by itself
when it is done."""
START_TIMEOUT_S = 60
NOTE_LIMIT = 4096


@dataclass(frozen=True, slots=True)
class Feature:
    """The feature `name` is on: it is in force when all of its `services` exist. Those of `running` start on demand,
    and are started here so that they answer a reading; `answers` are the queries for that.

    No cheaper sign exists: dism.exe takes seconds, and it says "enabled" before the restart too. So the file `note`
    records that the feature is on and waits for a restart: it holds the boot id of that time.
    """

    name: str
    services: tuple[str, ...]
    note: str
    running: tuple[str, ...] = ()
    answers: tuple[Query, ...] = ()

    @property
    def label(self) -> str:
        """The feature by name."""
        return f"the Windows feature {self.name}"

    def reads(self) -> tuple[Query, ...]:
        """Its services, and our note."""
        return (services_query(self.services), file_query(self.note, content_limit=NOTE_LIMIT))

    def change(self, reading: Reading) -> Change | None:
        """Turn it on and ask for a restart; only ask if it was turned on since the last start."""
        absent = tuple(name for name in self.services if reading.service(name) is None)
        if not absent:
            return self._start(reading)
        reboot = f"the Windows feature {self.name} comes into force"
        note = json.dumps({"schema": 1, "boot_id": reading.boot_id})
        if reading.text(self.note) == note:
            return Change(text="", reboot=reboot)
        return Change(
            text=f"enable the Windows feature {self.name}",
            before=f"without {', '.join(absent)}\n",
            after=f"with {', '.join(self.services)}\n",
            prepare=(
                # Never undone: an enabled feature does no harm, and turning it off would wait for the next restart and
                # then remove what was built on it meanwhile. The undo waits for the servicing to end, since until then
                # Windows is still changing.
                self._dism("/Enable-Feature", "/All").with_undo(wait_service(SERVICING, "stopped", TIMEOUT_S)),
                Op("write", {"path": self.note, "content": as_base64(note.encode())}).with_undo(
                    Op("remove", {"path": self.note})
                ),
            ),
            predicted={service_key(name): {"name": name, "state": "stopped", "start": 3} for name in absent},
            state=self.reads(),
            reboot=reboot,
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
