# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node's bundle on the controller: a folder with what was collected so far, and the zip made from it.

`manifest.json` has the source of each file. An interrupted run continues: a file of the node that has not changed
since, and whose copy is complete, is not fetched again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..engine.local_path import needing_room
from ..engine.printable import escape
from ..engine.secret import Secret
from ..foreign.encoding import decode_anyhow, encoding_of
from ..redaction.redact import redact

# Texts of limited size: the beginning and the end of a long one, cut at lines; pure.

HEAD = 64 * 1024
TAIL = 320 * 1024
LIMIT = HEAD + TAIL
"""Bytes of one file: with base64 and its envelope they fit into one answer of a node (1 MB)."""

_CUT_BY_NODE = re.compile(r"[^\n]*\n(\.\.\. \d+ bytes left out \.\.\.)\r?\n[^\n]*")


def join_ends(head: bytes, tail: bytes, size: int) -> str:
    """Beginning and end of a file of `size` bytes, with a line between them that says how much is missing. Lines cut
    in the middle are left out: their rest might hide a secret from the redaction."""
    first = decode_anyhow(head)
    last = decode_anyhow(tail, encoding_of(head))
    first = first[: first.rfind("\n") + 1]
    last = last[last.find("\n") + 1 :] if "\n" in last else ""
    return f"{first}... {size - len(head) - len(tail)} bytes left out ...\n{last}"


def whole_lines(text: str) -> str:
    """A node's truncated program output, without the lines cut in the middle."""
    return _CUT_BY_NODE.sub(r"\1", text)


_BY_BLANKS = re.compile(r"fluent[^/]*\.conf$", re.IGNORECASE)
"""Files whose format parts names and values by blanks."""
SCHEMA = 1
MANIFEST = "manifest.json"


@dataclass(slots=True)
class Store:
    """`folder` is accessible only to its owner. `limit` is bytes of all files together; `patterns` are the user's
    own secrets, `known` those of the run. Everything is redacted before it is written."""

    folder: Path
    limit: int
    patterns: Sequence[re.Pattern[str]] = ()
    known: Sequence[Secret[str]] = ()
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    written: list[str] = field(default_factory=list)

    @classmethod
    def open(
        cls, folder: Path, limit: int, patterns: Sequence[re.Pattern[str]] = (), known: Sequence[Secret[str]] = ()
    ) -> Store:
        """With what an earlier run has collected. OSError if the folder cannot be made."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        store = cls(folder, limit, patterns, known)
        try:
            manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
            found: Mapping[str, dict[str, Any]] = manifest["files"] if manifest["schema"] == SCHEMA else {}
        except (OSError, ValueError, KeyError, TypeError):
            found = {}
        store.files = {name: entry for name, entry in found.items() if store._is_whole(name, entry)}
        return store

    def has(self, name: str, size: int, changed: str) -> bool:
        """Whether the bundle has a copy of the node's file with this size and write time."""
        entry = self.files.get(name) or {}
        return (entry.get("size"), entry.get("changed")) == (size, changed) and bool(changed)

    def put(self, name: str, text: str, *, source: str, size: int = 0, changed: str = "") -> bool:
        """Write `text`, redacted, as `name`, and record it. False if there is no room for it."""
        clean, count = redact(text, self.patterns, self.known, parted_by_blanks=_BY_BLANKS.search(name) is not None)
        data = clean.encode("utf-8", errors="replace")
        if not self.has_room(name, len(data)):
            return False
        self._write(name, data)
        self.files[name] = {
            "source": escape(source),
            "size": size,
            "changed": changed,
            "redacted": count,
            "sha256": hashlib.sha256(data).hexdigest(),
        }
        self.left_out.pop(name, None)
        return True

    def take(self, name: str, source: str, size: int, fetch: Callable[[Path], object]) -> bool:
        """Add a binary file of `size` bytes: `fetch` writes it to the path that it gets. False if there is no room."""
        if not self.has_room(name, size):
            return False
        path = self._place(name)
        with needing_room(path, size):
            fetch(path)
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
        self.written.append(name)
        self.files[name] = {"source": source, "size": path.stat().st_size, "changed": "", "redacted": 0}
        self.files[name]["sha256"] = digest.hexdigest()
        return True

    def has_room(self, name: str, size: int) -> bool:
        """Whether `size` more bytes may be fetched for the file; if not, it is left out."""
        if self.total(without=name) + size <= self.limit:
            return True
        self.leave_out(name, f"the bundle would have more than its {self.limit} bytes (max_total)")
        return False

    def leave_out(self, name: str, why: str) -> None:
        """Record what is not in the bundle, and why."""
        self.left_out[name] = why

    def summarize(self) -> dict[str, Any]:
        """The bundle's place and content, for a task's result."""
        return {
            "directory": str(self.folder),
            "files": len(self.files),
            "bytes": self.total(),
            "fetched": len(self.written),
            "redacted": sum(int(entry["redacted"]) for entry in self.files.values()),
            "left_out": dict(sorted(self.left_out.items())),
        }

    def total(self, without: str = "") -> int:
        """Bytes of all files, except one."""
        return sum(self._place(name).stat().st_size for name in self.files if name != without)

    def save(self) -> None:
        """Write the manifest; an interrupted run continues from it."""
        known = {"schema": SCHEMA, "files": self.files, "left_out": self.left_out}
        self._write(MANIFEST, (json.dumps(known, indent=1, sort_keys=True) + "\n").encode())

    def pack(self) -> Path:
        """Save, and pack everything into `<folder>.zip`. The same files give the same bytes."""
        self.save()
        path = self.folder.with_name(f"{self.folder.name}.zip")
        part = path.with_name(f".{path.name}.part")
        with (
            needing_room(path, self.total()),
            os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file,
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
        ):
            for name in sorted([*self.files, MANIFEST]):
                entry = zipfile.ZipInfo(f"{self.folder.name}/{name}")
                entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o600 << 16
                archive.writestr(entry, self._place(name).read_bytes())
        part.replace(path)
        return path

    def _place(self, name: str) -> Path:
        path = self.folder.joinpath(*name.split("/"))
        if not path.resolve().is_relative_to(self.folder.resolve()):
            raise ValueError(f"{name} leads out of {self.folder}")
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path

    def _write(self, name: str, data: bytes) -> None:
        path = self._place(name)
        if path.is_file() and path.read_bytes() == data:
            return
        part = path.with_name(f".{path.name}.part")
        with (
            needing_room(path, len(data)),
            os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file,
        ):
            file.write(data)
        part.replace(path)
        self.written.append(name)

    def _is_whole(self, name: str, entry: Mapping[str, Any]) -> bool:
        try:
            return hashlib.sha256(self._place(name).read_bytes()).hexdigest() == entry.get("sha256")
        except (OSError, ValueError):
            return False
