# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Exclusions in Microsoft Defender Antivirus for containerd's programs and folders.

Real-time protection opens every file of every unpacked layer and keeps it open; upstream's node images exclude
containerd.exe and ctr.exe (kubernetes-sigs/image-builder v0.1.55
images/capi/ansible/windows/roles/runtimes/tasks/containerd.yml, Add-MpPreference). Here they are machine policy,
written as the policies "Path Exclusions" and "Process Exclusions" write them (WindowsDefender.admx, Exclusions_Paths
and Exclusions_Processes): a registry list whose value names are the paths and whose data are "0", and a switch beside
it. Defender picks up changes by itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...engine import windows_path
from ...engine.batch import Op
from ...engine.reading import Query, Reading
from ...engine.resource import Change
from ..layout import Layout

KEY = r"HKLM\SOFTWARE\Policies\Microsoft\Windows Defender\Exclusions"
DATA = (r"C:\ProgramData\containerd\root", r"C:\ProgramData\containerd\state")
"""containerd's own folders. Source: containerd v2.3.4 defaults/defaults_windows.go, DefaultRootDir, DefaultStateDir."""
PROGRAMS = ("ctr.exe", "containerd-shim-runhcs-v1.exe")


def list_exclusions(layout: Layout) -> dict[str, tuple[str, ...]]:
    """`Paths` and `Processes`: what Defender does not scan."""
    programs = (windows_path.join(layout.containerd_bin_dir, name) for name in PROGRAMS)
    return {"Paths": DATA, "Processes": (layout.containerd_binary, *programs)}


@dataclass(frozen=True, slots=True)
class Exclusions:
    """These exclusions are in the machine's policy; with `wanted` false none of them is.

    Other exclusions stay. A list that becomes empty is removed with its switch. A domain's policy for the same list
    takes precedence.
    """

    layout: Layout
    wanted: bool = True

    @property
    def label(self) -> str:
        return "exclusions of Microsoft Defender"

    def reads(self) -> tuple[Query, ...]:
        """The lists and their switches."""
        return tuple(_query(name) for name in ("", *list_exclusions(self.layout)))

    def change(self, reading: Reading) -> Change | None:
        """Write missing exclusions, or remove ours."""
        ops: list[Op] = []
        said: list[str] = []
        predicted = {query.key: dict(reading.parts.get(query.key) or {}) for query in self.reads()}
        for name, paths in list_exclusions(self.layout).items():
            key = rf"{KEY}\{name}"
            values = dict(predicted[_query(name).key].get("values") or {})
            there = {str(each).casefold() for each in values}
            for path in paths:
                if (path.casefold() in there) == self.wanted:
                    continue
                place = {"path": key, "name": path}
                wanted, gone = Op("registry_set", {**place, "type": "string", "value": "0"}), _remove(place)
                op, undo = (wanted, gone) if self.wanted else (gone, wanted)
                ops.append(op.with_undo(undo))
                said.append(path)
                values = {each: value for each, value in values.items() if each.casefold() != path.casefold()}
                if self.wanted:
                    values[path] = {"type": "string", "value": "0"}
            before = predicted[_query(name).key]
            predicted[_query(name).key] = {"exists": True, "values": values, "keys": []}
            if self.wanted:
                ops += self._switch(f"Exclusions_{name}", predicted)
            elif there & {each.casefold() for each in paths} and not values and not before.get("keys"):
                predicted[_query(name).key] = {"exists": False}
                ops += _remove_list(name, predicted)
        whole = predicted[_query("").key]
        if ops and not self.wanted and whole.get("exists") and not whole.get("values") and not whole.get("keys"):
            predicted[_query("").key] = {"exists": False}
            ops.append(_remove({"path": KEY}))
        if not ops:
            return None
        verb = "add to" if self.wanted else "remove from"
        return Change(
            text=f"{verb} the exclusions of Microsoft Defender: {', '.join(said) or 'the lists'}",
            before="" if self.wanted else "".join(f"{each}\n" for each in said),
            after="".join(f"{each}\n" for each in said) if self.wanted else "",
            prepare=tuple(ops) if self.wanted else (),
            commit=() if self.wanted else tuple(ops),
            predicted=predicted,
            state=self.reads(),
        )

    def _switch(self, name: str, predicted: dict[str, dict[str, object]]) -> tuple[Op, ...]:
        """The list only counts while its switch is on."""
        found = predicted[_query("").key]
        values = found.get("values")
        present = dict(values) if isinstance(values, dict) else {}
        if (present.get(name) or {}).get("value") == 1:
            return ()
        predicted[_query("").key] = {
            **found,
            "exists": True,
            "values": {**present, name: {"type": "dword", "value": 1}},
        }
        place = {"path": KEY, "name": name}
        return (Op("registry_set", {**place, "type": "dword", "value": 1}).with_undo(_remove(place)),)


def _remove_list(name: str, predicted: dict[str, dict[str, object]]) -> tuple[Op, ...]:
    """Remove an empty list and its switch. The undo sets the values again, which makes the keys."""
    found = predicted[_query("").key]
    values, keys = found.get("values"), found.get("keys")
    present = dict(values) if isinstance(values, dict) else {}
    rest = [each for each in keys if str(each).casefold() != name.casefold()] if isinstance(keys, list) else []
    switch = f"Exclusions_{name}"
    predicted[_query("").key] = {
        **found,
        "values": {each: value for each, value in present.items() if each != switch},
        "keys": rest,
    }
    gone = _remove({"path": rf"{KEY}\{name}"})
    if switch not in present:
        return (gone,)
    place = {"path": KEY, "name": switch}
    return (_remove(place).with_undo(Op("registry_set", {**place, **present[switch]})), gone)


def find_missing(layout: Layout, reading: Reading) -> tuple[str, ...]:
    """Exclusions that were written but are missing from this reading: something removed them."""
    return tuple(
        path
        for name, paths in list_exclusions(layout).items()
        for path in paths
        if path.casefold()
        not in {str(each).casefold() for each in (reading.parts.get(_query(name).key) or {}).get("values") or ()}
    )


def explain_dropped(paths: tuple[str, ...]) -> str:
    """A sentence about exclusions that did not stay."""
    return (
        f"Microsoft Defender should exclude {', '.join(paths)}, and does not: something on the node removed the "
        "exclusion, such as tamper protection or a domain's policy. Exclude them where Defender is managed (Intune, "
        "Configuration Manager, group policy), or set winkube_defender_exclusions to false."
    )


def reads(layout: Layout) -> tuple[Query, ...]:
    """Everything that `Exclusions` reads."""
    return Exclusions(layout).reads()


def _query(name: str) -> Query:
    path = rf"{KEY}\{name}" if name else KEY
    return Query(f"registry:defender:{name.casefold()}", "registry", (("path", path),))


def _remove(place: dict[str, str]) -> Op:
    return Op("registry_remove", dict(place))
