# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file with credentials: only administrators may read it, and only its sha256 is ever shown."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from ...engine import security
from ...engine.batch import Op, as_base64, flatten
from ...engine.reading import Query, Reading, file_key, file_query
from ...engine.resource import Change, Refused
from ...engine.resources.service import ACTIVE, add_start_undo, running_dependants
from ...engine.resources.text_file import write_ops
from ...engine.tools import halt, start_ops, stop_ops

SDDL = "O:BAG:BAD:PAI(A;;FA;;;SY)(A;;FA;;;BA)"
"""Owner Administrators; SYSTEM and Administrators full control, no one else."""


@dataclass(frozen=True, slots=True)
class SecretFile:
    """`text` at `path`, only for administrators. `what` names it in steps; `backup` is the batch's folder that keeps
    the old file for the undo. The service `read_by` reads it at its start, so it is restarted if it runs."""

    path: str
    text: str = field(repr=False)
    backup: str
    what: str
    read_by: str = ""
    timeout_s: int = 120

    @property
    def label(self) -> str:
        """The path."""
        return self.path

    def reads(self) -> tuple[Query, ...]:
        """Its hash and its access list, never its content."""
        return (secret_query(self.path),)

    def change(self, reading: Reading) -> Change | None:
        """Write it if its sha256 differs or others may read it."""
        found = reading.file(self.path)
        there = bool(found.get("exists"))
        if there and found.get("kind") != "file":
            raise Refused(
                f"{self.path} should be a file, but is a {found.get('kind')}: move it away or choose another path."
            )
        sha256 = hashlib.sha256(self.text.encode()).hexdigest()
        same = there and found.get("sha256") == sha256
        strangers = security.strangers_who_read(str(found.get("sddl") or ""))
        if same and not strangers:
            return None
        (query,) = self.reads()
        data = self.text.encode()
        if same:
            args = {"path": self.path, "content": as_base64(data), "sddl": SDDL}
            return Change(
                text=f"restrict access to {self.path} (readable by {', '.join(strangers)})",
                before=f"{found.get('sddl')}\n",
                after=f"{SDDL}\n",
                commit=(Op("write", args, secrets=("content",)),),
                predicted={file_key(self.path): {**found, "sddl": SDDL}},
                state=(query,),
            )
        write = write_ops(self.path, data, self.backup, there=there, sddl=SDDL, secret=True)
        restarts = self._restarts(reading, there)
        and_then = f", with a restart of {self.read_by}" if restarts else ""
        return Change(
            text=f"{'rewrite' if there else 'write'} {self.what}, {self.path}{and_then}",
            before=f"sha256 {str(found.get('sha256'))[:12]}\n" if there else "absent\n",
            after=f"sha256 {sha256[:12]}\n",
            commit=(*(self._stop(reading) if restarts else ()), *write),
            finish=self._start(reading) if restarts else (),
            touches=frozenset({file_key(self.path)}),
            predicted={file_key(self.path): {"exists": True, "kind": "file", "sha256": sha256, "sddl": SDDL}},
            state=(query,),
        )

    def _restarts(self, reading: Reading, there: bool) -> bool:
        """Whether the service runs with the file's old content. A service that never had this file and does not name
        it reads another one; its own role changes that."""
        service = reading.service(self.read_by) if self.read_by else None
        if service is None or service.get("state") not in ACTIVE:
            return False
        told = f"{service.get('image_path')} {(service.get('nssm') or {}).get('AppParameters')}"
        return there or self.path.casefold() in told.replace("/", "\\").casefold()

    def _stop(self, reading: Reading) -> tuple[Op, ...]:
        """Stop the service, after those that depend on it."""
        return flatten(
            add_start_undo(name, stop_ops(name, "", self.timeout_s), self.timeout_s, ran=name != self.read_by)
            for name in (*running_dependants(self.read_by, reading), self.read_by)
        )

    def _start(self, reading: Reading) -> tuple[Op, ...]:
        started: list[Op] = []
        for name in (self.read_by, *reversed(running_dependants(self.read_by, reading))):
            start, *waits = start_ops(name, self.timeout_s)
            started += (start.with_undo(halt(name, self.timeout_s)), *waits)
        return tuple(started)


def secret_query(path: str) -> Query:
    """What may be read of a file with credentials."""
    return file_query(path, sha256=True, sddl=True)
