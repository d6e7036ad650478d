# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Path and the other variables of the machine's environment. A variable's value may be secret: a reading has only
its fingerprint."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .. import windows_path
from ..batch import Op
from ..environment import Entry
from ..reading import VARIABLE, Query, Reading
from ..resource import Change
from ..secret import Secret
from ..tools import restore_value

# An entry of the machine's Path, so that people on the node find the programs.

ENVIRONMENT_KEY = r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Environment"


@dataclass(frozen=True, slots=True)
class MachinePath:
    """`entry` is in the machine's Path. New sessions see it; services only after a reboot, since the service control
    manager keeps a copy."""

    entry: str

    @property
    def label(self) -> str:
        return "the machine's Path"

    def reads(self) -> tuple[Query, ...]:
        """The value in the registry, unexpanded."""
        return (Query("registry:machine-path", "registry", (("path", ENVIRONMENT_KEY), ("name", "Path"))),)

    def change(self, reading: Reading) -> Change | None:
        """Append the entry if it is missing; the rest of the value stays."""
        (query,) = self.reads()
        found = reading.parts[query.key]
        present = str(found.get("value") or "")
        entries = [entry for entry in present.split(";") if entry]
        if any(windows_path.is_same(entry.strip('"'), self.entry) for entry in entries):
            return None
        wanted = ";".join([*entries, self.entry])
        value = {"path": ENVIRONMENT_KEY, "name": "Path", "type": "expand_string"}
        back = (
            Op("registry_set", {**value, "value": present})
            if found.get("exists")
            else Op("registry_remove", {"path": ENVIRONMENT_KEY, "name": "Path"})
        )
        return Change(
            text=f"add {self.entry} to the machine's Path",
            before="".join(f"{entry}\n" for entry in entries),
            after="".join(f"{entry}\n" for entry in [*entries, self.entry]),
            prepare=(Op("registry_set", {**value, "value": wanted}).with_undo(back),),
            predicted={query.key: {"exists": True, "type": "expand_string", "value": wanted}},
            state=(query,),
        )


@dataclass(frozen=True, slots=True)
class EnvironmentVariable:
    """The machine's variable `name` is `value`. New sessions see it; services only after a restart of the machine,
    since the service control manager keeps a copy."""

    name: str
    value: Secret[str]

    @property
    def label(self) -> str:
        """The variable by name."""
        return f"the machine's variable {self.name}"

    def reads(self) -> tuple[Query, ...]:
        """The fingerprint of the value in the registry."""
        query = self._query(f"{VARIABLE}{self.name.casefold()}")
        return (replace(query, args=(*query.args, ("fingerprint", True))),)

    def change(self, reading: Reading) -> Change | None:
        """Set it if it differs."""
        if self._is_as_wanted(reading):
            return None
        (query,) = self.reads()
        found = reading.parts[query.key]
        place = {"path": ENVIRONMENT_KEY, "name": self.name}
        wanted = Op("registry_set", {**place, "type": "string", "value": self.value})
        return Change(
            text=f"set the machine's variable {self.name} (services see it after a restart of the machine)",
            before=f"{self.name}: {'another value' if found.get('exists') else 'not set'}\n",
            after=f"{self.name}: as wanted\n",
            prepare=(wanted.with_undo(restore_value(ENVIRONMENT_KEY, self.name)),),
            predicted={query.key: {"exists": True, "type": "string", "fingerprint": self._fingerprint}},
            state=(query,),
        )

    def _is_as_wanted(self, reading: Reading) -> bool:
        found = reading.parts[self.reads()[0].key]
        return bool(found.get("exists")) and found.get("fingerprint") == self._fingerprint

    @property
    def _fingerprint(self) -> str:
        """Names match without case."""
        return Entry(self.name.upper(), self.value).fingerprint

    def _query(self, key: str) -> Query:
        return Query(key, "registry", (("path", ENVIRONMENT_KEY), ("name", self.name)))
