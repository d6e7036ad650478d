# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two names of an inventory that lead to one machine: the commonest slip with ten copied Node YAMLs.

Each host of a run leaves the id of its machine in the folder that ansible-core makes for a run on the controller and
removes at its end, as say_once.py does. An address proves nothing: behind two bastions one address may be two machines,
and one machine may have two. MachineGuid and boot id together are the same only on one machine; MachineGuid alone is
also that of a clone which was not generalised by sysprep.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..record.hosts import by_number


@dataclass(frozen=True, slots=True)
class Others:
    """Hosts of this run, this one apart: on the same machine, and on one with the same MachineGuid."""

    same: tuple[str, ...] = ()
    clones: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Machines:
    """The machines of a run as `host` sees them. `folder` is one that all processes of the run share."""

    folder: Path
    host: str

    def meet(self, machine: str, boot_id: str) -> Others:
        """Leave this host's machine, then look who else is on it. Of two that come at once at least the second sees
        both; nobody is seen where the folder cannot be used."""
        if not machine or not boot_id:
            return Others()
        # A folder for each machine: to look into it does not take longer with each host of the run.
        machines = self.folder / f"machine-{_digest(machine)}"
        own = f"{_digest(boot_id)}-"
        with suppress(OSError):
            machines.mkdir(exist_ok=True)
            with suppress(FileExistsError):
                # Made with its content in one step: a file would be empty for a moment.
                (machines / f"{own}{_digest(self.host)}").symlink_to(self.host)
            marks = [(mark.name, str(mark.readlink())) for mark in machines.iterdir()]
            same = {host for name, host in marks if name.startswith(own)} - {self.host}
            # After a restart a host has left both of its boots.
            clones = {host for _name, host in marks} - same - {self.host}
            return Others(tuple(sorted(same)), tuple(sorted(clones)))
        return Others()


def describe_same(host: str, others: Others) -> str:
    """That other names lead to this machine; "" if none does."""
    if not others.same:
        return ""
    names = ", ".join(sorted({host, *others.same}, key=by_number))
    return (
        f"{names} are one machine: MachineGuid and start of Windows are the same. It would become two nodes at once. "
        "Correct the address of one of them (ansible_host, spec.credentials.hostname), or take it out of the inventory."
    )


def describe_clones(host: str, others: Others) -> str:
    """That other hosts have this machine's MachineGuid; "" if none has."""
    if not others.clones:
        return ""
    names = ", ".join(sorted({host, *others.clones}, key=by_number))
    return (
        f"{names} have the same MachineGuid, and are different machines: clones of an image that sysprep /generalize "
        "has not prepared. What tells machines apart by it takes them for one (docs/image.md)."
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
