# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A record whose code has several causes: which row it is, and the list in words.

    row = row_of(record, message)
    row and several_of(row, {each.id: CAUSES[each.id].title for each in row.causes})

Only what a code alone tells is a list: words that one function prints for one cause stay definite.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ..facts.ambiguous import Ambiguous, find_row
from ..facts.callers import excluded
from ..facts.message import Message, Rule
from .line import parse

SEVERAL = "One of several causes"
"""So an answer begins that is a list."""


@dataclass(frozen=True, slots=True)
class Several:
    """A list in words: its causes, likeliest first, and the look that tells them apart. Nothing in it is to be done
    before that look, so it has no command that changes anything."""

    title: str
    cause: str
    look: str


def row_of(record: str, message: Message | Rule) -> Ambiguous | None:
    """The row of a record of which a table's code is all that leads to a cause, and that cause is one of the row's;
    with the causes that the caller can have, where that are several."""
    if not isinstance(message, Rule) or not any(isinstance(each, int) for each in message.reasons):
        return None
    line = parse(record)
    row = find_row(line.innermost.kind, line.innermost.code, line.operations)
    if row is None or message.finding not in {each.id for each in row.causes}:
        return None
    never = excluded(record)
    left = tuple(each for each in row.causes if not (never and each.id.startswith(never)))
    return replace(row, causes=left) if len(left) > 1 else None


def row_of_all(pairs: Iterable[tuple[str, Message | Rule]]) -> Ambiguous | None:
    """The row that all of these records and rows of theirs lead to; None where they do not agree."""
    rows = {row_of(record, message) for record, message in pairs}
    return rows.pop() if len(rows) == 1 else None


def without(row: Ambiguous, ruled_out: frozenset[str]) -> Ambiguous:
    """The row without the causes that a look on the node has ruled out."""
    return replace(row, causes=tuple(each for each in row.causes if each.id not in ruled_out))


def several_of(row: Ambiguous, titles: Mapping[str, str]) -> Several:
    """The list of a row, with the causes' titles by their ids."""
    named = [f"({number}) {titles[each.id]} ({each.id})" for number, each in enumerate(row.causes, 1)]
    shown = [f"({number}) {each.shows}" for number, each in enumerate(row.causes, 1)]
    return Several(
        f"{SEVERAL}, likeliest first: {'; '.join(named)}",
        "Windows gives the same code for each.",
        f"What tells them apart: {row.look}: {'; '.join(shown)}.",
    )
