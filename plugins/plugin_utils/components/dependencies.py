# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which services a service waits for at boot (DependOnService).

None by default: a hard dependency makes Windows stop this service whenever the other one is stopped, and one that could
not be started at boot keeps this one down (Windows error 1068), which failure actions do not mend.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..engine.batch import Op
from ..engine.reading import Query, Reading, service_key, services_query
from ..engine.resource import Change, Refused
from ..engine.resources.service import Service
from ..engine.tools import NOT_INSTALLED, sc


@dataclass(frozen=True, slots=True)
class Dependencies:
    """`service` depends on `names` and on nothing else. A change restarts nothing."""

    service: Service
    names: tuple[str, ...]

    @property
    def label(self) -> str:
        """The service, and what of it."""
        return f"dependencies of the service {self.service.name}"

    def reads(self) -> tuple[Query, ...]:
        """The service and those it shall depend on."""
        return (services_query((self.service.name, *self.names)),)

    def confides(self, reading: Reading) -> tuple[Query, ...]:
        """Nothing."""
        return ()

    def change(self, reading: Reading) -> Change | None:
        """Set the list if it differs. Refused for a name that is no service of the node."""
        absent = [name for name in self.names if reading.service(name) is None]
        if absent:
            raise Refused(
                f"The service {self.service.name} shall depend on {', '.join(absent)}, which is no service on this "
                "node: it would never start (Windows error 1075). Look at the spelling, or leave it out."
            )
        found = reading.service(self.service.name)
        remade = found is None or not self.service.definition.owns(found)
        present = () if found is None or remade else tuple(str(name) for name in found.get("depends_on") or ())
        if sorted(map(str.casefold, present)) == sorted(map(str.casefold, self.names)):
            return None
        changed = self.service.change(reading)
        key = service_key(self.service.name)
        after = changed.predicted[key] if changed else found or {}
        op = self._set(self.names).undone_by(self._set(present, absent_is_fine=True))
        return Change(
            text=f"let the service {self.service.name} depend on {_words(self.names)}",
            before=f"{_words(present)}\n",
            after=f"{_words(self.names)}\n",
            define=(op,),
            predicted={key: {**after, "depends_on": list(self.names)}},
        )

    def _set(self, names: tuple[str, ...], *, absent_is_fine: bool = False) -> Op:
        ok_exit = (0, NOT_INSTALLED) if absent_is_fine else (0,)
        return sc("config", self.service.name, "depend=", "/".join(names) or "/", ok_exit=ok_exit)


def _words(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "nothing"
