# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A variable of the machine's environment. Its value may be a secret: a reading has only its fingerprint."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..batch import Op
from ..environment import fingerprint
from ..reading import CONFIDENTIAL, VARIABLE, Query, Reading
from ..resource import Change
from .machine_path import KEY


@dataclass(frozen=True, slots=True)
class EnvironmentVariable:
    """The machine's variable `name` is `value`. New sessions see it; services only after a restart of the machine,
    since the service control manager keeps its copy."""

    name: str
    value: str

    @property
    def label(self) -> str:
        """The variable by name."""
        return f"the machine's variable {self.name}"

    def reads(self) -> tuple[Query, ...]:
        """The fingerprint of the value in the registry."""
        query = self._query(f"{VARIABLE}{self.name.casefold()}")
        return (replace(query, args=(*query.args, ("fingerprint", True))),)

    def confides(self, reading: Reading) -> tuple[Query, ...]:
        """The present value, for the undo, if it has to change."""
        found = reading.parts[self.reads()[0].key]
        return (self._secret,) if found.get("exists") and not self._is_as_wanted(reading) else ()

    def change(self, reading: Reading) -> Change | None:
        """Set it if it is another."""
        if self._is_as_wanted(reading):
            return None
        (query,) = self.reads()
        found = reading.parts[query.key]
        place = {"path": KEY, "name": self.name}
        before = reading.parts.get(self._secret.key, {})
        back = Op("registry_remove", place)
        if found.get("exists"):
            value = {"type": before.get("type", "string"), "value": before.get("value", "")}
            back = Op("registry_set", {**place, **value}, secrets=("value",))
        wanted = Op("registry_set", {**place, "type": "string", "value": self.value}, secrets=("value",))
        return Change(
            text=f"set the machine's variable {self.name} (services see it after a restart of the machine)",
            before=f"{self.name}: {'another value' if found.get('exists') else 'not set'}\n",
            after=f"{self.name}: as wanted\n",
            prepare=(wanted.undone_by(back),),
            predicted={query.key: {"exists": True, "type": "string", "value": self.value}},
            state=(query,),
        )

    def _is_as_wanted(self, reading: Reading) -> bool:
        found = reading.parts[self.reads()[0].key]
        return bool(found.get("exists")) and found.get("fingerprint") == fingerprint(
            f"{self.name.upper()}={self.value}"
        )

    def _query(self, key: str) -> Query:
        return Query(key, "registry", (("path", KEY), ("name", self.name)))

    @property
    def _secret(self) -> Query:
        return self._query(f"{CONFIDENTIAL}{VARIABLE}{self.name.casefold()}")
