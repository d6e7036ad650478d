# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The JSON that stands in a text, with the place of each value, so that one can be replaced and all else stays as it
is. Pure; time is linear in the text.

A document that is cut off counts as far as it goes. It knows nothing of secrets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

DEEPEST = 128
"""Levels of a document; what is nested deeper is not read as JSON."""
_TOKEN = re.compile(
    r'[ \t\r\n]*(?:(?P<sign>[{}\[\],:])|(?P<text>"(?:[^"\\\r\n]|\\.)*")'
    r"|(?P<bare>true|false|null|-?\d{1,400}(?:\.\d{1,400})?(?:[eE][-+]?\d{1,9})?)(?![\w.+-]))"
)
_OPEN = re.compile(r"[{\[]")


@dataclass(frozen=True, slots=True)
class Scalar:
    """A text, a number, true, false or null, from `start` to `end`. `text` is what it says, without escapes."""

    start: int
    end: int
    text: str
    quoted: bool


@dataclass(slots=True)
class Group:
    """An object, whose members have names, or a list, whose members have none."""

    start: int
    end: int
    named: bool
    members: list[tuple[str, Scalar | Group]] = field(default_factory=list)


def find_json(text: str) -> Iterator[Group]:
    """The outermost objects and lists that have a member, in order."""
    at = 0
    while (found := _OPEN.search(text, at)) is not None:
        group, at = _read(text, found.start())
        if group.members:
            yield group


def _read(text: str, start: int) -> tuple[Group, int]:
    """What begins at `start`, and where to look for the next one: no token is read twice."""
    outer = Group(start, start + 1, text[start] == "{")
    waiting, name, at = [outer], None, start + 1
    after_value = False
    while waiting and (token := _TOKEN.match(text, at)) is not None:
        group, sign = waiting[-1], token["sign"]
        if sign in {"}", "]"}:
            if (sign == "}") != group.named or name is not None:
                break
            waiting.pop()
            group.end, after_value = token.end(), True
        elif sign == ",":
            if not after_value:
                break
            after_value = False
        elif after_value or sign == ":":
            break
        elif group.named and name is None:
            colon = _TOKEN.match(text, token.end()) if token["text"] else None
            if colon is None or colon["sign"] != ":":
                break
            name, token = _unescape(token["text"]), colon
        elif sign:
            if len(waiting) == DEEPEST:
                break
            inner = Group(token.end() - 1, token.end(), sign == "{")
            group.members.append((name or "", inner))
            waiting.append(inner)
            name = None
        else:
            first, last = token.span("text" if token["text"] else "bare")
            said = _unescape(token["text"]) if token["text"] else token["bare"]
            group.members.append((name or "", Scalar(first, last, said, token["text"] is not None)))
            name, after_value = None, True
        at = token.end()
    for group in waiting:  # It is cut off here.
        group.end = at
    return outer, at


def _unescape(literal: str) -> str:
    if "\\" not in literal:
        return literal[1:-1]
    try:
        return str(json.loads(literal))
    except ValueError:
        return literal[1:-1]
