# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether containers on this machine can use a group Managed Service Account (gMSA): the Windows that it takes, and the
registry value. Nothing is changed: which accounts a node may use is decided in Active Directory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...engine.reading import Query, Reading
from ...engine.resource import Change
from ...facts.gmsa import ENOUGH_FROM, NAMESPACE, STATE_KEY, gmsa_floor
from .node_fit import Machine

NAMESPACE_QUERY = Query("registry:compartment-namespace", "registry", (("path", STATE_KEY), ("name", NAMESPACE)))


@dataclass(frozen=True, slots=True)
class Preconditions:
    """Reads what `warnings` judges; never a change."""

    label: str = "gMSA"

    def reads(self) -> tuple[Query, ...]:
        """The registry value."""
        return (NAMESPACE_QUERY,)

    def confides(self, reading: Reading) -> tuple[Query, ...]:
        """Nothing."""
        return ()

    def change(self, reading: Reading) -> Change | None:
        """Nothing."""
        return None


def warnings(machine: Machine, reading: Reading) -> Iterator[str]:
    """What keeps containers of containerd from network shares with a gMSA; one sentence each."""
    floor = gmsa_floor(machine.build)
    if floor is not None and machine.revision < floor.revision:
        yield (
            f"winkube_gmsa is true, but with containerd a gMSA cannot reach network shares on {machine.name}: it needs "
            f"{floor.update} or a later update, 10.0.{floor.build}.{floor.revision}. Update Windows."
        )
    elif floor is None and machine.build < ENOUGH_FROM:
        yield (
            f"winkube_gmsa is true, and whether containers of containerd can reach network shares with a gMSA on "
            f"{machine.name} is not known here."
        )
    found = reading.parts.get(NAMESPACE_QUERY.key)
    if found is not None and machine.build < ENOUGH_FROM and _number(found.get("value")) != 1:
        yield (
            f"winkube_gmsa is true, but {NAMESPACE} in {STATE_KEY} is not 1: containers reach a share by its address "
            f"alone, not by its name. Set it (reg add {STATE_KEY} /v {NAMESPACE} /t REG_DWORD /d 1) and make the pods "
            "anew."
        )


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None
