# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Switches of Windows in its registry that makers of node images set: os_switches.json.

All values are dwords. Microsoft documents none of them but EnableCertPaddingCheck; what a maker says of one is all
that is known. EnableCompartmentNamespace lets a container reach a share by its name: kubernetes-sigs/windows-gmsa#30;
kubernetes.io, Configure GMSA for Windows Pods and containers; Azure/AgentBaker#710.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from .rows import read_rows

MAKERS: Final = {"image-builder": "image-builder", "aks": "AKS"}
"""Those with a set of their own, and how they are called. WMCO sets none (0be4b9cc, 2026-08-22)."""


@dataclass(frozen=True, slots=True)
class Switch:
    """A dword of the registry. `says` are the maker's own words; `builds` are Windows', none for all of them.

    `restart`: in force only after a restart of the machine. For Overrides that is how Windows takes such policies; for
    the others it is assumed.
    """

    key: str
    name: str
    value: int
    restart: bool
    maker: str = ""
    builds: tuple[int, ...] = ()
    says: str = ""
    source: str = ""

    @property
    def place(self) -> tuple[str, str]:
        """Key and name, for comparisons: the registry knows no case."""
        return self.key.casefold(), self.name.casefold()


SWITCHES: Final = tuple(Switch(**{**row, "builds": tuple(row["builds"])}) for row in read_rows("os_switches.json"))
KEYS: Final = tuple(sorted({each.key for each in SWITCHES}))


def list_switches(maker: str, build: int) -> tuple[Switch, ...]:
    """What a maker sets on a build of Windows."""
    return tuple(each for each in SWITCHES if each.maker == maker and (not each.builds or build in each.builds))


def list_common() -> tuple[Switch, ...]:
    """What every maker sets to one value, whatever the build."""
    of_all = [each for each in SWITCHES if not each.builds]
    agreed = Counter((each.place, each.value) for each in of_all)
    return merge([each for each in of_all if agreed[each.place, each.value] == len(MAKERS)])


def merge(*sets: Sequence[Switch]) -> tuple[Switch, ...]:
    """One for each place; later sets win."""
    return tuple({each.place: each for switches in sets for each in switches}.values())
