"""The state folder of docs/protocol.md, section 4: who owns it, the open batch, journals, blocked.json."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tests.lab.machine.drive import ADMINISTRATORS, SYSTEM
from tests.lab.machine.errors import WinError
from tests.lab.machine.security import parse_sddl
from tests.lab.twin import shapes

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode
    from tests.lab.machine.processes import Process

SDDL = "O:BAG:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"
_FOLDERS = ("batches", "receipts", "staging")
KEPT_BATCHES = 20
STARTS, ERROR = "runner-starts.log", "runner-error.txt"
MOST_STARTS, START_S = 5, 60.0
Document = dict[str, Any]


@dataclass(frozen=True)
class StateFolder:
    node: SimulatedNode
    path: str

    # -- the folder ----------------------------------------------------------------------------------------------

    def refusal(self, asker: str = "") -> str | None:
        """Why the folder must not be used; None when it may, or is not there. asker: the SID of who asks."""
        kind = self.node.drive.kind(self.path)
        if kind is None:
            return None
        if kind != "directory":
            what = "a reparse point" if kind == "link" else "a file"
            return f"The state folder {self.path} is {what}, not a folder; remove it, or set another state_dir."
        owner = self.node.drive.security(self.path).owner
        if owner not in {SYSTEM, ADMINISTRATORS}:
            return (
                f"The state folder {self.path} is owned by {owner}, not by SYSTEM or Administrators; "
                "somebody else made it. Look into it and remove it."
            )
        return self._misplaced() or self._foreign_entry(asker, levels=3 if self._is_protected() else 1000)

    def _is_protected(self) -> bool:
        found = self.node.drive.security(self.path)
        return (found.owner, found.protected, found.aces) == parse_sddl(SDDL)

    def _misplaced(self) -> str | None:
        """A link, or a file where a folder belongs and the other way round."""
        for name in (*_FOLDERS, "open.json", "blocked.json", "runner.ps1", "runner.lock"):
            path, kind = self.file(name), self.node.drive.kind(self.file(name))
            wanted = "file" if "." in name else "directory"
            if kind == "link":
                return f"{path} is a link or another reparse point. Look into it and remove it."
            if kind not in {None, wanted}:
                return f"{path} is a {kind}, a {wanted} is wanted there. Look into it and remove it."
        return None

    def _foreign_entry(self, asker: str, *names: str, levels: int) -> str | None:
        """While the folder was open to others: what they put in, a runner or a batch perhaps, would run as SYSTEM. In
        one that is closed only as deep as the node's own folders go; what was moved into a backup keeps its owner."""
        drive = self.node.drive
        for name in drive.listdir(self.file(*names)):
            path, kind = self.file(*names, name), drive.kind(self.file(*names, name))
            if kind == "link":
                return f"{path} is a link or another reparse point, not a file of ours. Look into it and remove it."
            owner = drive.security(path).owner
            if owner not in {SYSTEM, ADMINISTRATORS, asker}:
                return (
                    f"{path} is owned by {owner}, not by SYSTEM or Administrators; somebody else put it there. Look "
                    "into it and remove it."
                )
            deeper = kind == "directory" and levels > 1
            below = self._foreign_entry(asker, *names, name, levels=levels - 1) if deeper else None
            if below is not None:
                return below
        return None

    def protect(self, asker: str) -> str | None:
        """Makes the folder, or closes it to others; why it must not be used then."""
        if refusal := self.refusal(asker):
            return refusal
        self._close()
        return self.refusal(asker)

    def _close(self) -> None:
        drive = self.node.drive
        if drive.kind(self.path) is None:
            drive.mkdir(self.path)
        if not self._is_protected():
            drive.set_sddl(self.path, SDDL)

    def sweep(self, batch: Mapping[str, Any]) -> None:
        """Deletes the folders of `staging` that the batch does not name: a run that broke off has left them."""
        drive = self.node.drive
        told = json.dumps(batch).lower().replace("\\\\", "/")
        for name in drive.listdir(self.file("staging")):
            named = f"staging/{name}".lower() in told
            if drive.kind(self.file("staging", name)) == "directory" and not named:
                with contextlib.suppress(WinError):
                    drive.delete_tree(self.file("staging", name))

    def make(self) -> None:
        drive = self.node.drive
        self._close()
        for name in _FOLDERS:
            if not drive.exists(self.file(name)):
                drive.mkdir(self.file(name))

    def exists(self) -> bool:
        return self.node.drive.is_dir(self.path)

    def file(self, *names: str) -> str:
        return "\\".join([self.path, *names])

    # -- documents -----------------------------------------------------------------------------------------------

    def read(self, *names: str) -> Document | None:
        """A JSON document, None when it is not there or damaged."""
        path = self.file(*names)
        if not self.node.drive.is_file(path):
            return None
        try:
            found = json.loads(self.node.drive.read(path))
        except ValueError:
            return None
        return found if isinstance(found, dict) else None

    def write(self, document: Document, *names: str) -> None:
        """Atomically: under another name, flushed, renamed in."""
        path = self.file(*names)
        self.node.drive.write(f"{path}.new", json.dumps(document).encode())
        self.node.drive.rename(f"{path}.new", path, replace=True)

    def drop(self, *names: str) -> None:
        try:
            self.node.drive.delete(self.file(*names))
        except WinError as error:
            if error.code not in {2, 3}:
                raise

    # -- batches -------------------------------------------------------------------------------------------------

    def open_batch(self) -> Document | None:
        """open.json; where a loss of power took or tore it, the batch that has begun and has no outcome."""
        found = shapes.opened(self.read("open.json"))
        if "id" in found:
            return found
        names = self.node.drive.listdir(self.file("batches")) if self.exists() and self.knows("") else []
        for name in names:
            if not self.node.drive.is_file(self.file("batches", name, "batch.json")):
                continue
            kinds = {str(entry["e"]) for entry in self.journal(name)}
            if "intent" in kinds and "outcome" not in kinds:
                batch = self.read("batches", name, "batch.json") or {}
                return {**shapes.opened(batch.get("opened")), "id": name}
        return None

    def age(self, opened: Document) -> float:
        """Seconds since a batch was submitted: by the machine's uptime, after a restart by its wall clock."""
        clock = self.node.clock
        if opened.get("boot_id") == self.node.boot_id and "uptime_s" in opened:
            return max(0.0, clock.now() - float(opened["uptime_s"]))
        try:
            since = datetime.fromisoformat(str(opened.get("since")))
        except ValueError:
            return 0.0
        return max(0.0, (clock.utc() - since).total_seconds())

    # -- the lock ------------------------------------------------------------------------------------------------

    def enter(self, process: Process) -> bool:
        """Opens runner.lock for this process alone, until it ends or leaves; False while another one has it."""
        drive, path = self.node.drive, self.file("runner.lock")
        if not drive.is_file(path):
            drive.write(path, b"")
        handles = drive.entry(path).handles
        if handles:
            return False
        handles.append(process.pid)
        process.on_exit.append(lambda _process: self.leave(process))
        return True

    def leave(self, process: Process) -> None:
        drive, path = self.node.drive, self.file("runner.lock")
        if drive.is_file(path) and process.pid in drive.entry(path).handles:
            drive.entry(path).handles.remove(process.pid)

    # -- a runner that does not come up --------------------------------------------------------------------------

    def note_start(self) -> None:
        """What the task's command does before it reads runner.ps1."""
        with contextlib.suppress(WinError):
            self.node.drive.write(self.file(STARTS), f"{self.node.clock.iso()}\n".encode(), append=True)

    def note_error(self, sentence: str) -> None:
        with contextlib.suppress(WinError):
            self.node.drive.write(self.file(ERROR), f"{self.node.clock.iso()} {sentence}".encode())

    def runner_error(self) -> str:
        path = self.file(ERROR)
        return self.node.drive.read(path).decode()[:1000] if self.node.drive.is_file(path) else ""

    def forget_starts(self) -> None:
        self.drop(STARTS)
        self.drop(ERROR)

    def trouble(self, opened: Document) -> str:
        """Why the task will not bring the open batch to an end; empty while it may."""
        if opened.get("mode", "task") != "task":
            return ""
        path = self.file(STARTS)
        starts = self.node.drive.read(path).count(b"\n") if self.node.drive.is_file(path) else 0
        if starts < MOST_STARTS and (starts or self.age(opened) < START_S):
            return ""
        cause = self.runner_error() or "Nothing was written down; antivirus or a policy may stop it."
        return f"The runner was started {starts} times and did not end the batch: {cause}"

    def block(self) -> Document | None:
        """blocked.json; a damaged one blocks as well, under the id of the failed undo."""
        if not self.node.drive.is_file(self.file("blocked.json")):
            return None
        found = shapes.fitting(self.read("blocked.json"), {"id": shapes.text, "error": shapes.table})
        if shapes.IS_ID(found.get("id", "")):
            return found
        names = self.node.drive.listdir(self.file("batches")) if self.knows("") else []
        failed = [name for name in names if (self.outcome(name) or {}).get("outcome") == "undo_failed"]
        return {"id": failed[-1] if failed else "0" * 32, "error": {"message": "blocked.json is damaged."}}

    def knows(self, batch_id: str) -> bool:
        return self.node.drive.is_dir(self.file("batches", batch_id))

    def journal(self, batch_id: str) -> list[Document]:
        path = self.file("batches", batch_id, "journal.jsonl")
        if not self.node.drive.is_file(path):
            return []
        entries: list[Document] = []
        for line in self.node.drive.read(path).split(b"\n"):
            try:
                found = json.loads(line)
            except ValueError:
                continue
            if (entry := shapes.entry(found)) is not None:
                entries.append(entry)
        return entries

    def note(self, batch_id: str, entry: Document) -> None:
        """One line more in the journal, flushed. What a loss of power tore is closed by a line end first."""
        path = self.file("batches", batch_id, "journal.jsonl")
        there = self.node.drive.read(path) if self.node.drive.is_file(path) else b""
        start = b"\n" if there and not there.endswith(b"\n") else b""
        line = json.dumps({"at": self.node.clock.iso(), **entry}).encode()
        self.node.drive.write(path, start + line + b"\n", append=True)

    def outcome(self, batch_id: str) -> Document | None:
        return next((entry for entry in self.journal(batch_id) if entry["e"] == "outcome"), None)

    def prune(self, batch_id: str) -> None:
        """Keeps the last 20 folders under batches, and of these always that of this batch; no batch.json of any."""
        drive = self.node.drive
        names = drive.listdir(self.file("batches"))
        for name in names:
            self.drop("batches", name, "batch.json")
        folders = [self.file("batches", name) for name in names if name != batch_id]
        folders.sort(key=lambda folder: drive.stat(folder).written)
        for folder in folders[: 1 - KEPT_BATCHES]:
            drive.delete_tree(folder)

    def worker(self) -> Process | None:
        """The live process that works on the open batch."""
        found = self.open_batch()
        if found is None or not found.get("pid"):
            return None
        process = self.node.processes.get(int(found["pid"]))
        if process is None or self.node.clock.iso(process.started) != found.get("started"):
            return None
        return process
