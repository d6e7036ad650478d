# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Switches of Windows in its registry that makers of node images set: os_switches.json.

All values are dwords. Microsoft documents none of them but EnableCertPaddingCheck; what a maker says of one is all
that is known. EnableCompartmentNamespace lets a container reach a share by its name: kubernetes-sigs/windows-gmsa#30;
kubernetes.io, Configure GMSA for Windows Pods and containers; Azure/AgentBaker#710.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from .rows import read_rows

MAKERS: Final = {"image-builder": "image-builder", "aks": "AKS"}
"""Those with a set of their own, and how they are called. WMCO sets none (0be4b9cc, 2026-08-22)."""


@dataclass(frozen=True, slots=True)
class Switch:
    """A dword of the registry. `says` are the maker's own words; `restart`: in force only after a restart of the
    machine. For Overrides that is how Windows takes such policies; for the others it is assumed."""

    key: str
    name: str
    value: int
    restart: bool
    says: str = ""
    source: str = ""

    @property
    def place(self) -> tuple[str, str]:
        """Key and name, for comparisons: the registry knows no case."""
        return self.key.casefold(), self.name.casefold()


def list_switches(maker: str, build: int) -> tuple[Switch, ...]:
    """What a maker sets on a build of Windows."""
    return tuple(
        Switch(row["key"], row["name"], row["value"], row["restart"], row["says"], row["source"])
        for row in read_rows("os_switches.json")
        if row["maker"] == maker and (not row["builds"] or build in row["builds"])
    )


def list_common(build: int) -> tuple[Switch, ...]:
    """What every maker sets, to one value, on a build that none of them treats apart."""
    first, *others = ({each.place: each for each in list_switches(maker, build)} for maker in MAKERS)
    apart = {row["name"].casefold() for row in read_rows("os_switches.json") if row["builds"]}
    return tuple(
        each
        for place, each in first.items()
        if place[1] not in apart and all(place in other and other[place].value == each.value for other in others)
    )


def list_keys() -> tuple[str, ...]:
    """The keys of the table, in order."""
    return tuple(sorted({row["key"] for row in read_rows("os_switches.json")}))


def merge(*sets: Sequence[Switch]) -> tuple[Switch, ...]:
    """One for each place; later sets win."""
    return tuple({each.place: each for switches in sets for each in switches}.values())
