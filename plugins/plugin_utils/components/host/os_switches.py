# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Switches of Windows that makers of node images set, as the options of the host want them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...engine import windows_path
from ...engine.batch import Op
from ...engine.reading import Query, Reading
from ...engine.resource import Change, Refused
from ...facts import os_switches
from ...facts.os_switches import Switch
from .options import HostOptions

LARGEST = 2**32 - 1


def list_wanted(options: HostOptions, build: int) -> tuple[Switch, ...]:
    """What every maker sets, the chosen maker's, and the user's own, which win. Refused for a value that is no
    dword, or a key outside HKLM."""
    own = tuple(
        Switch(each.key.replace("HKLM:", "HKLM"), each.name, each.value, each.restart)
        for each in options.os_switch_values
    )
    for each in own:
        if not each.key.upper().startswith("HKLM\\") or not 0 <= each.value <= LARGEST:
            raise Refused(
                f"winkube_os_switch_values: {each.key}, {each.name}: {each.value} has to be a key of HKLM and a number "
                f"from 0 to {LARGEST}."
            )
    chosen = os_switches.list_switches(options.os_switches, build)
    return os_switches.merge(os_switches.list_common(), chosen, own)


@dataclass(frozen=True, slots=True)
class OsSwitches:
    """These dwords are in the registry. Others stay as they are."""

    wanted: tuple[Switch, ...]

    @property
    def label(self) -> str:
        return "switches of Windows"

    def reads(self) -> tuple[Query, ...]:
        """The keys of the table, and others that are wanted, with all their values."""
        return tuple(map(query, dict.fromkeys((*os_switches.KEYS, *(each.key for each in self.wanted)))))

    def change(self, reading: Reading) -> Change | None:
        """Set those that differ, and ask for a restart where one is only in force after it."""
        wrong = [each for each in self.wanted if find_value(reading, each) != each.value]
        if not wrong:
            return None
        changed = {query(each.key) for each in wrong}
        names = [f"{windows_path.name(each.key)}\\{each.name}" for each in wrong]
        shown = f"{names[0]} to {wrong[0].value}" if len(wrong) == 1 else f"{len(wrong)}: {', '.join(names)}"
        return Change(
            text=f"set {'the switch' if len(wrong) == 1 else 'switches'} of Windows {shown}",
            before="".join(_line(each, find_value(reading, each)) for each in wrong),
            after="".join(_line(each, each.value) for each in wrong),
            prepare=tuple(_set(each, _raw(reading, each)) for each in wrong),
            predicted={each.key: self._predict(each, reading, wrong) for each in changed},
            state=tuple(sorted(changed, key=lambda each: each.key)),
            reboot="switches of Windows come into force" if any(each.restart for each in wrong) else "",
        )

    @staticmethod
    def _predict(asked: Query, reading: Reading, wrong: list[Switch]) -> dict[str, Any]:
        before = reading.parts.get(asked.key) or {}
        values = dict(before.get("values") or {})
        for each in wrong:
            if query(each.key) == asked:
                values = {name: value for name, value in values.items() if name.casefold() != each.name.casefold()}
                values[each.name] = {"type": "dword", "value": each.value}
        return {**before, "exists": True, "values": values, "keys": before.get("keys") or []}


def query(key: str) -> Query:
    """All values of a key."""
    return Query(f"registry:switches:{key.casefold()}", "registry", (("path", key),))


def find_value(reading: Reading, switch: Switch) -> int | None:
    """What the switch is set to; None where it is not set, or to something else than a dword."""
    raw = _raw(reading, switch)
    return int(raw["value"]) if raw and raw.get("type") == "dword" else None


def _raw(reading: Reading, switch: Switch) -> Mapping[str, Any] | None:
    values = (reading.parts.get(query(switch.key).key) or {}).get("values") or {}
    return next((value for name, value in values.items() if name.casefold() == switch.name.casefold()), None)


def _line(switch: Switch, value: int | None) -> str:
    return "" if value is None else f"{switch.key}\\{switch.name} = {value}\n"


def _set(switch: Switch, before: Mapping[str, Any] | None) -> Op:
    place = {"path": switch.key, "name": switch.name}
    back = Op("registry_set", {**place, **before}) if before else Op("registry_remove", place)
    return Op("registry_set", {**place, "type": "dword", "value": switch.value}).with_undo(back)
