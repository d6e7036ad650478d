# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file with credentials: only administrators read it, and nothing but its sha256 is ever shown."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from ..engine import security
from ..engine.batch import Op, as_base64
from ..engine.reading import Query, Reading, file_key, file_query
from ..engine.resource import Change, Refused
from ..engine.resources.service import ACTIVE, with_undo_start
from ..engine.tools import start_ops, stop_ops

SDDL = "O:BAG:BAD:PAI(A;;FA;;;SY)(A;;FA;;;BA)"
"""Owner Administrators; SYSTEM and Administrators full control, nobody else."""
_MAY_READ = frozenset({"SY", "S-1-5-18", "BA", "S-1-5-32-544"})


@dataclass(frozen=True, slots=True)
class SecretFile:
    """`text` at `path`, for administrators alone. `what` names it in steps, `backup` is the folder of the batch that
    keeps the old one for the undo; the service `read_by` is restarted if it runs, for it reads the file at its start.
    """

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
        """Its hash and who may read it, never its content."""
        return (secret_query(self.path),)

    def confides(self, reading: Reading) -> tuple[Query, ...]:
        """Nothing."""
        return ()

    def change(self, reading: Reading) -> Change | None:
        """Write it if its sha256 differs or somebody else may read it."""
        found = reading.file(self.path)
        there = bool(found.get("exists"))
        if there and found.get("kind") != "file":
            raise Refused(
                f"{self.path} should be a file, but is a {found.get('kind')}: move it away or choose another path."
            )
        sha256 = hashlib.sha256(self.text.encode()).hexdigest()
        same = there and found.get("sha256") == sha256
        strangers = [sid for sid in security.readers(str(found.get("sddl") or "")) if sid not in _MAY_READ]
        if same and not strangers:
            return None
        (query,) = self.reads()
        args = {"path": self.path, "content": as_base64(self.text.encode()), "sddl": SDDL}
        write = Op("write", args, secrets=("content",))
        if same:
            return Change(
                text=f"lock {self.path} ({', '.join(strangers)} may read it)",
                before=f"{found.get('sddl')}\n",
                after=f"{SDDL}\n",
                commit=(write,),
                predicted={file_key(self.path): {**found, "sddl": SDDL}},
                state=(query,),
            )
        return Change(
            text=f"{'rewrite' if there else 'write'} {self.what}, {self.path}",
            before=f"sha256 {str(found.get('sha256'))[:12]}\n" if there else "absent\n",
            after=f"sha256 {sha256[:12]}\n",
            commit=(*self._stop(reading, there), *self._write(write, there)),
            finish=self._start(reading, there),
            touches=frozenset({file_key(self.path)}),
            predicted={file_key(self.path): {"exists": True, "kind": "file", "sha256": sha256, "sddl": SDDL}},
            state=(query,),
        )

    def _write(self, write: Op, there: bool) -> tuple[Op, ...]:
        if not there:
            return (write.undone_by(Op("remove", {"path": self.path})),)
        backup = f"{self.backup}\\{hashlib.sha256(self.path.casefold().encode()).hexdigest()[:16]}"
        kept = Op("write", {**write.args, "backup": backup}, secrets=write.secrets)
        return (
            Op("mkdir", {"path": self.backup}),
            kept.undone_by(Op("restore", {"path": self.path, "backup": backup})),
        )

    def _restarts(self, reading: Reading, there: bool) -> bool:
        service = reading.service(self.read_by) if there and self.read_by else None
        return service is not None and service.get("state") in ACTIVE

    def _stop(self, reading: Reading, there: bool) -> tuple[Op, ...]:
        if not self._restarts(reading, there):
            return ()
        return with_undo_start(self.read_by, stop_ops(self.read_by, "", self.timeout_s), self.timeout_s, ran=False)

    def _start(self, reading: Reading, there: bool) -> tuple[Op, ...]:
        if not self._restarts(reading, there):
            return ()
        start, *waits = start_ops(self.read_by, self.timeout_s)
        return (start.undone_by(*stop_ops(self.read_by, "", self.timeout_s)), *waits)


def secret_query(path: str) -> Query:
    """What is read of a file with credentials."""
    return file_query(path, sha256=True, sddl=True)
