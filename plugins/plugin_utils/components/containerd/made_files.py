# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Registry files in folders that others use too: a receipt lists ours."""

from __future__ import annotations

import json
from dataclasses import dataclass

from ...engine import windows_path
from ...engine.batch import Op
from ...engine.reading import Query, Reading, file_key, file_query
from ...engine.resource import Change
from ...engine.resources.file import backup_of
from ...engine.tools import move

RECEIPT_LIMIT = 64 * 1024


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
