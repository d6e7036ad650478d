# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machine's name, in force after a restart."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..batch import Op
from ..reading import Query, Reading
from ..resource import Change, Refused

KEY = r"HKLM\SYSTEM\CurrentControlSet\Control\ComputerName"
PENDING = Query("registry:computer-name", "registry", (("path", rf"{KEY}\ComputerName"), ("name", "ComputerName")))
"""The name after the next start."""
ACTIVE = Query(
    "registry:active-computer-name", "registry", (("path", rf"{KEY}\ActiveComputerName"), ("name", "ComputerName"))
)
"""The name that the machine answers to now."""

_NAME = re.compile(r"(?!\d+$)(?!-)[A-Za-z0-9-]{1,15}(?<!-)")
"""Source: learn.microsoft.com, Naming conventions in Active Directory for computers: 15 characters, letters, digits
and hyphens, not digits alone."""


@dataclass(frozen=True, slots=True)
class ComputerName:
    """The machine is called `name`."""

    name: str

    @property
    def label(self) -> str:
        """What is changed."""
        return "the machine's name"

    def reads(self) -> tuple[Query, ...]:
        """The name now and after the next start."""
        return (PENDING, ACTIVE)

    def confides(self, reading: Reading) -> tuple[Query, ...]:
        """Nothing."""
        return ()

    def change(self, reading: Reading) -> Change | None:
        """Rename the machine, and ask for a restart as long as it is not called so. Refused for what is no name."""
        if not _NAME.fullmatch(self.name):
            raise Refused(
                f"'{self.name}' cannot be the name of a Windows machine: wanted are up to 15 letters, digits and "
                "hyphens, not digits alone, no hyphen at either end."
            )
        pending, active = (str(reading.parts[query.key].get("value") or "") for query in (PENDING, ACTIVE))
        if self._is(pending) and self._is(active):
            return None
        reboot = f"the machine is called {self.name}"
        if self._is(pending):
            return Change(text="", reboot=reboot)
        now = {"exists": True, "type": "string", "value": self.name}
        undo = (Op("computer_name", {"name": pending}),) if pending else ()
        return Change(
            text=f"rename the machine from {active or pending} to {self.name}",
            before=f"{pending}\n",
            after=f"{self.name}\n",
            prepare=(Op("computer_name", {"name": self.name}).undone_by(*undo),),
            predicted={
                PENDING.key: now,
                ACTIVE.key: now,
                "system": {**reading.parts.get("system", {}), "computer_name": self.name},
            },
            state=self.reads(),
            reboot=reboot,
        )

    def _is(self, found: str) -> bool:
        return found.casefold() == self.name.casefold()
