# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file whose whole content we write, at once or late, for all or for administrators alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .. import security
from ..batch import Op, as_base64
from ..reading import Query, Reading, file_key, file_query
from ..resource import Change, Refused
from ..secret import Secret

READ_LIMIT = 64 * 1024
"""A file up to this many bytes is read entirely, to compare it and to show the difference."""


def is_same_text(left: str, right: str) -> bool:
    """Whether two texts are equal, except for line ends."""
    return left.replace("\r\n", "\n") == right.replace("\r\n", "\n")


def backup_of(folder: str, path: str) -> str:
    """The path of the backup of `path` in a batch's folder, which holds files from all folders."""
    return f"{folder}\\{hashlib.sha256(path.casefold().encode()).hexdigest()[:16]}"


def write_ops(path: str, data: bytes | Secret[bytes], folder: str, *, there: bool, sddl: str = "") -> tuple[Op, ...]:
    """Write a file. A file that was `there` is kept in the `folder` of the batch, and the undo brings it back."""
    args = {"path": path, "content": as_base64(data)} | ({"sddl": sddl} if sddl else {})
    if not there:
        return (Op("write", args).with_undo(Op("remove", {"path": path})),)
    backup = backup_of(folder, path)
    write = Op("write", args | {"backup": backup})
    return (Op("mkdir", {"path": folder}), write.with_undo(Op("restore", {"path": path, "backup": backup})))


def is_same_json(left: str, right: str) -> bool:
    """Whether two texts are JSON of the same value."""
    try:
        return bool(json.loads(left) == json.loads(right))
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class File:
    """A file at `path` with this `content`. `backup` is the batch's folder that keeps the old file for the undo.

    `equal` compares the present text with `text`, by default except for line ends; TOML and JSON compare by value, so
    that order and comments do not matter; None compares bytes. One whose content is a `Secret` is `private`: it belongs
    to Administrators, and only they and SYSTEM may read it; its bytes are compared by their sha256, and it is never
    read back or shown. The present text of another one without `equal` is read for the diff if it is `shown`.
    """

    path: str
    content: bytes | Secret[bytes] = field(repr=False)
    backup: str
    shown: bool = True
    equal: Callable[[str, str], bool] | None = is_same_text

    @property
    def label(self) -> str:
        """The path."""
        return self.path

    @property
    def private(self) -> bool:
        """Whether the content is secret."""
        return isinstance(self.content, Secret)

    @property
    def text(self) -> str:
        """The content as text; of a private file none."""
        return "" if isinstance(self.content, Secret) else self.content.decode("utf-8", errors="replace")

    @property
    def sha256(self) -> str:
        """The hash of the content, in hexadecimal."""
        return hashlib.sha256(self._bytes).hexdigest()

    @property
    def _bytes(self) -> bytes:
        return self.content.reveal() if isinstance(self.content, Secret) else self.content

    def reads(self) -> tuple[Query, ...]:
        """Its hash, and its content, or of a private one its owner and access list."""
        if self.private:
            return (private_query(self.path),)
        return (file_query(self.path, sha256=True, content_limit=READ_LIMIT if self.shown or self.equal else 0),)

    def change(self, reading: Reading) -> Change | None:
        """Write the file if it differs. Refused if something else has its name."""
        found = reading.file(self.path)
        there = bool(found.get("exists"))
        if there and found.get("kind") != "file":
            raise Refused(
                f"{self.path} should be a file, but is a {found.get('kind')}: move it away or choose another path."
            )
        if there and self._has_content(reading):
            complaint = security.complain(found.get("sddl"), private=True) if self.private else ""
            return self._restrict(found, complaint) if complaint else None
        (query,) = self.reads()
        sddl = security.ADMINS_ONLY_FILE if self.private else ""
        after = {"exists": True, "kind": "file", "size": len(self._bytes), "sha256": self.sha256}
        after |= {"content": as_base64(self.content)} if isinstance(self.content, bytes) else {"sddl": sddl}
        return Change(
            text=f"{'rewrite' if there else 'write'} {self.path}",
            before=self._show_present(reading),
            after=_show_hash(self.sha256) if self.private else self.text,
            commit=write_ops(self.path, self.content, self.backup, there=there, sddl=sddl),
            touches=frozenset({file_key(self.path)}),
            predicted={file_key(self.path): after},
            state=(query,),
        )

    def _has_content(self, reading: Reading) -> bool:
        if self.private or self.equal is None:
            return bool(reading.file(self.path).get("sha256") == self.sha256)
        present = reading.text(self.path)
        return present is not None and self.equal(present, self.text)

    def _show_present(self, reading: Reading) -> str:
        found = reading.file(self.path)
        if not self.private:
            return reading.text(self.path) or ""
        return _show_hash(str(found.get("sha256"))) if found.get("exists") else "absent\n"

    def _restrict(self, found: Mapping[str, Any], complaint: str) -> Change:
        """Give the file to Administrators. Nothing is restarted, and no undo opens it again."""
        (query,) = self.reads()
        sddl = security.ADMINS_ONLY_FILE
        args = {"path": self.path, "content": as_base64(self.content), "sddl": sddl}
        return Change(
            text=f"restrict access to {self.path} (it {complaint})",
            before=f"{found.get('sddl')}\n",
            after=f"{sddl}\n",
            commit=(Op("write", args),),
            predicted={file_key(self.path): {**found, "sddl": sddl}},
            state=(query,),
        )


def private_query(path: str) -> Query:
    """What may be read of a private file."""
    return file_query(path, sha256=True, sddl=True)


def _show_hash(sha256: str) -> str:
    return f"sha256 {sha256[:12]}\n"


# A file that must not be written before the things that it names exist.


@dataclass(frozen=True, slots=True)
class LateFile:
    """`file`, written once the services are started and `after` has passed. No service restarts for it; `notice` is
    shown if it replaces an older one."""

    file: File
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
