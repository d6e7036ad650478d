# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Registry files in folders that others use too: some are private, and a receipt lists ours."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from ...engine import security, windows_path
from ...engine.batch import Op, as_base64
from ...engine.reading import Query, Reading, file_key, file_query
from ...engine.resource import Change, Refused
from ...engine.resources.text_file import backup_of, write_ops
from ...engine.tools import move

RECEIPT_LIMIT = 64 * 1024
TEXT_LIMIT = 16 * 1024
"""The diff shows public files up to this number of bytes."""


def read_recorded_paths(reading: Reading, receipt: str) -> tuple[str, ...]:
    """The files in the receipt; none without a receipt. KeyError if it was not read."""
    text = reading.text(receipt)
    if text is None:
        return ()
    try:
        paths = [file["path"] for file in json.loads(text).get("files", ())]
        return tuple(path for path in paths if isinstance(path, str) and not windows_path.problem(path))
    except (ValueError, AttributeError, TypeError, KeyError, RecursionError):
        return ()


@dataclass(frozen=True, slots=True)
class HostFile:
    """One file with this content, compared by sha256. A `private` one is never read back or shown, and only
    administrators may read it. Another is read for the diff if it is `shown`: if it differs."""

    path: str
    content: bytes
    private: bool
    backup: str
    shown: bool = True

    @classmethod
    def of(cls, path: str, content: bytes, private: bool, backup: str, reading: Reading) -> HostFile:
        """The file as it follows from a reading: an unchanged file need not be read for the diff."""
        known = reading.parts.get(file_key(path), {}).get("sha256")
        return cls(path, content, private, backup, shown=known != hashlib.sha256(content).hexdigest())

    @property
    def label(self) -> str:
        """The path."""
        return self.path

    def reads(self) -> tuple[Query, ...]:
        """Its hash, its text for the diff and, if private, who may read it."""
        shown = self.shown and not self.private
        return (file_query(self.path, sha256=True, sddl=self.private, content_limit=TEXT_LIMIT if shown else 0),)

    def change(self, reading: Reading) -> Change | None:
        """Write it if its content or its access list differs. Refused if something else has its name."""
        found = reading.file(self.path)
        exists = bool(found.get("exists"))
        if exists and found.get("kind") != "file":
            raise Refused(f"{self.path} should be a file, but is a {found.get('kind')}: move it away and run again.")
        sha256 = hashlib.sha256(self.content).hexdigest()
        same = exists and found.get("sha256") == sha256
        if same and not (self.private and _is_open_to_others(str(found.get("sddl", "")))):
            return None
        sddl = security.ADMINS_ONLY if self.private else ""
        write = write_ops(self.path, self.content, self.backup, there=exists, sddl=sddl, secret=self.private)
        after = {"exists": True, "kind": "file", "size": len(self.content), "sha256": sha256}
        after |= {"sddl": security.ADMINS_ONLY} if self.private else {"content": as_base64(self.content)}
        shown = "(not shown)\n" if self.private else self.content.decode("utf-8", errors="replace")
        before = "(not shown)\n" if self.private else (reading.text(self.path) or "")
        return Change(
            text=f"{'rewrite' if exists else 'write'} {self.path}",
            before=before if exists else "",
            after=shown if not same else "(for administrators only)\n",
            commit=write,
            touches=frozenset({file_key(self.path)}),
            predicted={file_key(self.path): after},
            state=self.reads(),
        )


@dataclass(frozen=True, slots=True)
class MadeFiles:
    """The receipt of our files. `gone` are files of an earlier receipt that are no longer wanted."""

    receipt: str
    files: tuple[str, ...]
    gone: tuple[str, ...]
    backup: str

    @property
    def label(self) -> str:
        """The receipt."""
        return self.receipt

    def reads(self) -> tuple[Query, ...]:
        """The receipt, and the files to remove."""
        return (
            file_query(self.receipt, sha256=True, content_limit=RECEIPT_LIMIT),
            *(file_query(path, sha256=True) for path in self.gone),
        )

    def change(self, reading: Reading) -> Change | None:
        """Set unwanted files aside, remove folders that this empties, and record which files are ours."""
        ours = {windows_path.key(path) for path in read_recorded_paths(reading, self.receipt)}
        if ours == {windows_path.key(path) for path in self.files}:
            return None
        there = [path for path in self.gone if reading.file(path).get("exists")]
        kept = {windows_path.key(windows_path.parent(path)) for path in self.files}
        folders = {
            windows_path.key(folder): folder
            for path in self.gone
            if windows_path.key(folder := windows_path.parent(path)) not in kept
        }
        remove = tuple(Op("remove", {"path": folder, "only_if_empty": True}) for folder in folders.values())
        empty = {file_key(folder): {"exists": False} for folder in folders.values()}
        absent = {file_key(path): {"exists": False} for path in there}
        return Change(
            text=self._text(there),
            before="".join(f"{path}\n" for path in there),
            commit=(
                *((Op("mkdir", {"path": self.backup}),) if there else ()),
                *(move(path, f"{backup_of(self.backup, path)}.gone") for path in there),
            ),
            finish=(*remove, self._note(reading)),
            predicted={**empty, **absent},
            state=self.reads(),
        )

    def _text(self, there: list[str]) -> str:
        return f"remove {', '.join(there)}" if there else "record which files of registries were created here"

    def _note(self, reading: Reading) -> Op:
        content = reading.file(self.receipt).get("content")
        back = (
            Op("write", {"path": self.receipt, "content": content}) if content else Op("remove", {"path": self.receipt})
        )
        if not self.files:
            return Op("remove", {"path": self.receipt}).with_undo(back)
        source = {"component": "registries"}
        return Op("record", {"path": self.receipt, "source": source, "files": list(self.files)}).with_undo(back)


def _is_open_to_others(sddl: str) -> bool:
    """Whether the descriptor lets anyone but administrators own, read or write the file."""
    return bool(security.foreign_owner(sddl) or security.strangers_who_read(sddl))
