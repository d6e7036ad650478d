# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A program renamed in for the one that is there, which stays beside it: one generation, to go back to.

Windows does not let a running program be overwritten or removed, but renamed: so nothing is ever written over. What
processes still hold (shims of running containers, HostProcess pods) is swept by a later change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..engine import windows_path
from ..engine.batch import Op
from ..engine.reading import Query, Reading, file_key, file_query
from ..engine.resource import Change, Refused
from ..engine.resources.programs import LEFT_BEHIND, RECEIPT_LIMIT, previous_path, rename_op
from .pe_image import HEAD


@dataclass(frozen=True, slots=True)
class Swap:
    """`fresh` (a path on the node) becomes `destination`; `sha256` is what it has. With `fresh` being `previous` the
    two change places.

    `origin` is the source as it is noted in `receipt`; `before` what is known of the old one's version; `certain` is
    False where only the download will tell whether it differs. `mark` makes names of this batch unique.
    """

    name: str
    destination: str
    fresh: str
    sha256: str
    receipt: str
    origin: Mapping[str, Any]
    mark: str
    size: int = 0
    before: str = ""
    certain: bool = True

    @property
    def label(self) -> str:
        """The program's path."""
        return self.destination

    @property
    def previous(self) -> str:
        """Where the program before is kept."""
        return previous_path(self.destination)

    @property
    def goes_back(self) -> bool:
        """Whether it is the program before that comes in."""
        return windows_path.is_same(self.fresh, self.previous)

    def reads(self) -> tuple[Query, ...]:
        """The program, the one before, their folder, the staged one, the receipt."""
        return (
            *program_queries(self.destination),
            *(() if self.goes_back else (fresh_query(self.fresh),)),
            receipt_query(self.receipt),
        )

    def change(self, reading: Reading) -> Change | None:
        """Rename the present program aside and the new one in. Refused if something else lies in the way."""
        present = reading.file(self.destination)
        if present.get("exists") and present.get("kind") != "file":
            raise Refused(
                f"{self.destination} should be a program, but is a {present.get('kind')}: move it away or choose "
                "another destination."
            )
        after = {"exists": True, "kind": "file", "sha256": self.sha256, "size": self.size}
        version = str(self.origin.get("version") or "")
        return Change(
            text=self._text(),
            before=_line(present, self.before) if present.get("exists") else "absent\n",
            after=_line(after, version),
            prepare=self._sweep(reading),
            commit=tuple(self._moves(reading)),
            finish=(self._note(reading), *self._let_go(reading)),
            touches=frozenset({file_key(self.destination)}),
            predicted={file_key(self.destination): after},
            state=tuple(_accept_cached(query) for query in self.reads()),
        )

    def _text(self) -> str:
        version = f" {self.origin['version']}" if self.origin.get("version") else ""
        if self.goes_back:
            return f"swap {self.name}{version} with the previous program, {self.previous}"
        if not self.certain:
            return f"install {self.origin.get('url')} as {self.destination} if it differs"
        return f"install {self.name}{version} from {self.origin.get('url')} as {self.destination}"

    def _moves(self, reading: Reading) -> list[Op]:
        there = bool(reading.file(self.destination).get("exists"))
        kept = bool(reading.file(self.previous).get("exists"))
        aside = self._aside
        if not there:
            return [_move(self.fresh, self.destination)]
        if self.goes_back:
            return [
                _move(self.destination, aside),
                _move(self.previous, self.destination),
                _move(aside, self.previous),
            ]
        return [
            *([rename_op(self.previous, aside)] if kept else []),
            _move(self.destination, self.previous),
            _move(self.fresh, self.destination),
        ]

    @property
    def _aside(self) -> str:
        return f"{self.destination}.{self.mark[:8]}{LEFT_BEHIND}"

    def _let_go(self, reading: Reading) -> tuple[Op, ...]:
        """The generation before the previous one; it stays if a process holds it."""
        if self.goes_back or not reading.file(self.previous).get("exists"):
            return ()
        return (Op("remove", {"path": self._aside, "in_use_ok": True}),)

    def _sweep(self, reading: Reading) -> tuple[Op, ...]:
        """What earlier batches had to leave."""
        return tuple(
            Op("remove", {"path": old, "in_use_ok": True}) for old in find_leftovers(self.destination, reading)
        )

    def _note(self, reading: Reading) -> Op:
        content = reading.file(self.receipt).get("content")
        back = (
            Op("write", {"path": self.receipt, "content": content}) if content else Op("remove", {"path": self.receipt})
        )
        args = {"path": self.receipt, "source": dict(self.origin), "files": [self.destination]}
        return Op("record", args).with_undo(back)


def program_queries(destination: str) -> tuple[Query, ...]:
    """A program that may be replaced, and what lies beside it. Its hash is never taken from a cache."""
    return (
        fresh_query(destination),
        fresh_query(previous_path(destination)),
        file_query(windows_path.parent(destination), entries=True),
    )


def fresh_query(path: str) -> Query:
    """A program with its hash, taken from the file, and its version resource."""
    return Query(file_key(path), "file", (("path", path), ("sha256", True), ("fresh", True), ("version", True)))


def staged_query(path: str) -> Query:
    """A program that waits to be renamed in, with its first bytes."""
    query = fresh_query(path)
    return Query(query.key, query.op, (*query.args, ("head", HEAD)))


def receipt_query(path: str) -> Query:
    """A receipt, as engine/resources/programs.py reads it."""
    return file_query(path, content_limit=RECEIPT_LIMIT, sha256=True)


def find_leftovers(destination: str, reading: Reading) -> list[str]:
    """Programs that earlier batches renamed aside and could not remove."""
    folder, name = windows_path.parent(destination), windows_path.name(destination).casefold()
    entries = reading.file(folder).get("entries") or ()
    return [
        windows_path.join(folder, entry)
        for entry in entries
        if entry.casefold().startswith(f"{name}.") and entry.casefold().endswith(LEFT_BEHIND)
    ]


def _move(source: str, target: str) -> Op:
    return Op("move", {"from": source, "to": target}).with_undo(Op("move", {"from": target, "to": source}))


def _accept_cached(query: Query) -> Query:
    """Without the demand for a hash taken again: it was, a moment ago."""
    return Query(query.key, query.op, tuple(pair for pair in query.args if pair[0] != "fresh"))


def _line(file: Mapping[str, Any], version: str) -> str:
    said = f", {version}" if version else ""
    return f"sha256 {file.get('sha256')}, {file.get('size')} bytes{said}\n"
