# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a text means that a person pastes: the causes that it leads to, else the place or the code that it names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..facts.ambiguous import Ambiguous
from .cause import Cause
from .causes import CAUSES
from .line import parse
from .mended import CRASH, describe_fixes, find_fixes
from .messages import Told, read_text
from .places import NO_CAUSE, look_first, look_next, place_sentence
from .precedence import PLACES
from .records import Record
from .several import row_of, row_of_all, several_of
from .signs import sign_of, speak_twice


def meanings(message: str, host: str) -> list[dict[str, Any]]:
    """What a pasted message is known for, the most particular first, with what of this collection mends it on a host of
    the inventory; nothing of that without a host. Of a line of which only place or code is known it says that; none for
    one that is not known, or none at all. A list of several causes has the ids of all in `causes`."""
    read = read_text(message)
    by_finding: dict[str, list[Told]] = {}
    for each in read.told:
        by_finding.setdefault(each.finding, []).append(each)
    known = [
        _place_only(told[0].record.text, identity)
        if all(each.message in PLACES for each in told)
        else _several_of(row)
        if (row := _row_of(told, by_finding)) is not None
        else _cause_of(CAUSES[identity], told, message, host)
        for identity, told in by_finding.items()
    ]
    return known or [_place_only(each.text, NOT_KNOWN) for each in _find_places(read.others, few=read.size <= _FEW)]


def _row_of(told: Sequence[Told], by_finding: Mapping[str, Sequence[Told]]) -> Ambiguous | None:
    """The row of several causes, where no record names one of them by more than its code."""
    row = row_of_all((each.record.text, each.message) for each in told if each.message not in PLACES)
    others = () if row is None else (by_finding.get(each.id, ()) for each in row.causes)
    if row is None or any(row_of(one.record.text, one.message) != row for records in others for one in records):
        return None
    return row


def _several_of(row: Ambiguous) -> dict[str, Any]:
    said = several_of(row, {each.id: CAUSES[each.id].title for each in row.causes})
    ids = [each.id for each in row.causes]
    return {"id": ids[0], "title": said.title, "cause": said.cause, "remedy": said.look, "ours": "", "causes": ids}


def _cause_of(cause: Cause, told: Sequence[Told], message: str, host: str) -> dict[str, Any]:
    """What records of a message are known for: on one sign nothing drastic is asked for."""
    careful = cause.remedy.drastic and not speak_twice(sign_of(each.record.text) for each in told)
    mended = describe_fixes(find_fixes(cause.id, message if cause.id == CRASH else ""))
    return {
        "id": cause.id,
        "title": cause.title,
        "cause": f"{cause.why} {mended}".strip(),
        "remedy": look_first(cause.id, cause.remedy) if careful else cause.remedy.plain,
        "ours": "" if careful or not host else cause.remedy.ours(host),
    }


def say(meaning: Mapping[str, Any]) -> str:
    """A meaning in a line, with its id beside it; a list has its ids already."""
    title = str(meaning["title"])
    if meaning["id"] != NOT_KNOWN:
        title += "." if meaning.get("causes") else f" [{meaning['id']}]."
    return " ".join(each for each in (title, *(meaning[key] for key in ("cause", "remedy", "ours"))) if each).strip()


def is_place(meaning: Mapping[str, Any]) -> bool:
    """Whether it says where something failed, or which code it has, and no cause."""
    return str(meaning["cause"]).startswith(NO_CAUSE)


def message_lines(message: str) -> list[str]:
    """The same for a terminal, without a host; nothing without a message."""
    if not message.strip():
        return []
    return [f"Your message: {say(each)}" for each in meanings(message, "")] or [
        "Your message is not known, neither its place nor a code in it."
    ]


NOT_KNOWN = "not-known"
"""The id of an answer that names the place or the code, and no cause."""
_MOST = 5
_FEW = 2
"""A person who pastes so many records asks about them; more are a log."""


def _find_places(others: Iterable[Record], *, few: bool) -> tuple[Record, ...]:
    """The records of which place or code is known, each place once, but for what is said without a fault."""
    found: dict[str, Record] = {}
    for each in others:
        line = parse(each.text)
        if (line.asked if few else line.known) and not line.informs:
            found.setdefault(place_sentence(line), each)
    return tuple(found.values())[:_MOST]


def _place_only(raw: str, identity: str) -> dict[str, Any]:
    return {
        "id": identity,
        "title": raw[:400],
        "cause": f"{place_sentence(parse(raw))} {describe_fixes(find_fixes(identity, raw))}".strip(),
        "remedy": look_next(identity, raw),
        "ours": "",
    }
