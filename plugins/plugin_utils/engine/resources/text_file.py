# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file whose whole content we write, at once or late."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace

from ..batch import Op, as_base64
from ..reading import Query, Reading, file_key, file_query
from ..resource import Change, Refused

READ_LIMIT = 64 * 1024
"""A file up to this many bytes is read entirely, to compare it and to show the difference."""


def is_same_text(left: str, right: str) -> bool:
    """Whether two texts are equal, except for line ends."""
    return left.replace("\r\n", "\n") == right.replace("\r\n", "\n")


def backup_of(folder: str, path: str) -> str:
    """The path of the backup of `path` in a batch's folder, which holds files from all folders."""
    return f"{folder}\\{hashlib.sha256(path.casefold().encode()).hexdigest()[:16]}"


def write_ops(
    path: str, data: bytes, folder: str, *, there: bool, sddl: str = "", secret: bool = False
) -> tuple[Op, ...]:
    """Write a file. A file that was `there` is kept in the `folder` of the batch, and the undo brings it back."""
    args = {"path": path, "content": as_base64(data)} | ({"sddl": sddl} if sddl else {})
    secrets = ("content",) if secret else ()
    if not there:
        return (Op("write", args, secrets=secrets).with_undo(Op("remove", {"path": path})),)
    backup = backup_of(folder, path)
    write = Op("write", args | {"backup": backup}, secrets=secrets)
    return (Op("mkdir", {"path": folder}), write.with_undo(Op("restore", {"path": path, "backup": backup})))


def is_same_json(left: str, right: str) -> bool:
    """Whether two texts are JSON of the same value."""
    try:
        return bool(json.loads(left) == json.loads(right))
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class TextFile:
    """A UTF-8 file at `path`. `equal` compares its content with `text`, by default as text; TOML and JSON compare by
    value, so that order and comments do not matter. `backup` is the batch's folder that keeps the old file for the
    undo."""

    path: str
    text: str
    backup: str
    equal: Callable[[str, str], bool] = is_same_text

    @property
    def label(self) -> str:
        """The path."""
        return self.path

    def reads(self) -> tuple[Query, ...]:
        """The file with its content."""
        return (file_query(self.path, sha256=True, content_limit=READ_LIMIT),)

    def change(self, reading: Reading) -> Change | None:
        """Write the file if it differs."""
        found = reading.file(self.path)
        if found.get("exists") and found.get("kind") != "file":
            raise Refused(
                f"{self.path} should be a file, but is a {found.get('kind')}: move it away or choose another path."
            )
        present = reading.text(self.path)
        if found.get("exists") and present is not None and self.equal(present, self.text):
            return None
        data = self.text.encode()
        (query,) = self.reads()
        after = {
            "exists": True,
            "kind": "file",
            "size": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
            "content": as_base64(data),
        }
        return Change(
            text=f"{'rewrite' if found.get('exists') else 'write'} {self.path}",
            before=present or "",
            after=self.text,
            commit=write_ops(self.path, data, self.backup, there=bool(found.get("exists"))),
            touches=frozenset({file_key(self.path)}),
            predicted={file_key(self.path): after},
            state=(query,),
        )


# A file that must not be written before the things that it names exist.


@dataclass(frozen=True, slots=True)
class LateFile:
    """`file`, written once the services are started and `after` has passed. No service restarts for it; `notice` is
    shown if it replaces an older one."""

    file: TextFile
    after: tuple[Op, ...]
    notice: str = ""

    @property
    def label(self) -> str:
        """The path."""
        return self.file.label

    def reads(self) -> tuple[Query, ...]:
        """The file with its content."""
        return self.file.reads()

    def change(self, reading: Reading) -> Change | None:
        """Wait, then write."""
        change = self.file.change(reading)
        if change is None:
            return None
        replaced = bool(reading.file(self.file.path).get("exists")) and bool(self.notice)
        return replace(
            change,
            text=f"{change.text} ({self.notice})" if replaced else change.text,
            commit=(),
            finish=(*self.after, *change.commit),
            touches=frozenset(),
        )
