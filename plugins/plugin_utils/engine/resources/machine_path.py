# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An entry of the machine's Path, so that people at the node find the programs."""

from __future__ import annotations

from dataclasses import dataclass

from .. import windows_path
from ..batch import Op
from ..reading import Query, Reading
from ..resource import Change

KEY = r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Environment"


@dataclass(frozen=True, slots=True)
class MachinePath:
    """`entry` is in the machine's Path. New sessions see it; services only after a reboot (the service control
    manager keeps its copy)."""

    entry: str

    @property
    def label(self) -> str:
        """What is changed."""
        return "the machine's Path"

    def reads(self) -> tuple[Query, ...]:
        """The value in the registry, unexpanded."""
        return (Query("registry:machine-path", "registry", (("path", KEY), ("name", "Path"))),)

    def confides(self, reading: Reading) -> tuple[Query, ...]:
        """Nothing."""
        return ()

    def change(self, reading: Reading) -> Change | None:
        """Append the entry if it is missing; nothing else of the value is touched."""
        (query,) = self.reads()
        found = reading.parts[query.key]
        present = str(found.get("value") or "")
        entries = [entry for entry in present.split(";") if entry]
        if any(windows_path.same(entry.strip('"'), self.entry) for entry in entries):
            return None
        wanted = ";".join([*entries, self.entry])
        value = {"path": KEY, "name": "Path", "type": "expand_string"}
        back = (
            Op("registry_set", {**value, "value": present})
            if found.get("exists")
            else Op("registry_remove", {"path": KEY, "name": "Path"})
        )
        return Change(
            text=f"add {self.entry} to the machine's Path",
            before="".join(f"{entry}\n" for entry in entries),
            after="".join(f"{entry}\n" for entry in [*entries, self.entry]),
            prepare=(Op("registry_set", {**value, "value": wanted}).undone_by(back),),
            predicted={query.key: {"exists": True, "type": "expand_string", "value": wanted}},
            state=(query,),
        )
