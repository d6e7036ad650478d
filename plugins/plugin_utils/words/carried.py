# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines of a text without what carries them: a quotation, a list, Docker's JSON, CRI's head, an event as a list.

    for line in carried(text):
        print(line.number, line.text, line.written)

An event of Windows that PowerShell's Format-List or the Event Viewer prints field by field becomes one line, in the
form of Get-WinEvent's table: time, level, source and message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from html import unescape

from ..foreign.values import load_json
from ..foreign.windows import WINDOW

LEVELS: Mapping[str, str] = {
    **dict.fromkeys(("Information", "Informationen", "Verbose"), "info"),
    **dict.fromkeys(("Warning", "Warnung"), "warning"),
    **dict.fromkeys(("Error", "Fehler"), "error"),
    **dict.fromkeys(("Critical", "Kritisch"), "fatal"),
}
"""Of events of Windows, in English and German."""
LEVEL = f"(?:{'|'.join(LEVELS)})"
DATE = r"\d{1,2}[/.]\d{1,2}[/.]\d{4},? \d{1,2}:\d\d(?::\d\d)?(?:\s[AP]M)?"
"""As Windows prints a time in the United States, Britain or Germany."""

_ENTITY = re.compile(r"&(?:quot|lt|gt|amp|#39|#34);")
_BEGINS = r"[IWEF]\d{4} \d\d:|(?:time|ts|level)=|\d{4}-\d\d-\d\d[T ]|\d{1,2}[/.]\d{1,2}[/.]\d{4}|Warning +[A-Z]|\{\""
_QUOTED = re.compile(rf"\s*(?:>\s?)+(?={_BEGINS})")
_QUOTE = re.compile(r"\s*(?:>\s?)+")
_BULLET = re.compile(rf"\s*[-*\u2022] (?={_BEGINS})")
_TIME = r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)"
_CRI = re.compile(rf"({_TIME}) (stdout|stderr) ([PF])(?: |$)")
_STAMPED = re.compile(rf"({_TIME}) (?=[IWEF]\d{{4}} \d\d:|(?:time|ts|level)=|\{{\")")
_KEYS = {
    "time": ("TimeCreated", "TimeGenerated", "Date"),
    "level": ("LevelDisplayName", "EntryType", "Level"),
    "source": ("ProviderName", "Source"),
    "message": ("Message", "Description"),
}
"""The fields of an event that are read, by what they are. Sources: Format-List of Get-WinEvent and Get-EventLog; Copy
Details as Text of the Event Viewer."""
_FIRST = re.compile(r"(?:Log Name|TimeCreated|Index|EventID|Message) *:(?: |$)")
"""The field that such a list begins with."""
_FIELD = re.compile(r"([A-Z][A-Za-z]{1,30}(?: [A-Z][A-Za-z]{1,20})?) *:(?: (.*))?$")
_MOST_FIELDS = 100


@dataclass(frozen=True, slots=True)
class Carried:
    """`number` is its first line in the text, from 1; `written` when it was written, as its carrier says, and `stream`
    to which one of a container; `cut`: more of it comes."""

    number: int
    text: str
    written: str = ""
    stream: str = ""
    cut: bool = False


def unescape_page(text: str) -> str:
    """Without HTML's names of characters."""
    return unescape(text) if "&" in text and _ENTITY.search(text) else text


def carried(text: str) -> Iterator[Carried]:
    """All lines of a text."""
    return _join_events(_unwrap(text))


def _unwrap(text: str) -> Iterator[Carried]:
    held: dict[str, Carried] = {}
    quoted = False
    for number, whole in enumerate(text.replace("\x00", "").splitlines(), 1):
        line = unescape_page(whole)
        if mark := (_QUOTE if quoted else _QUOTED).match(line):
            line, quoted = line[mark.end() :], True
        else:
            quoted = False
            if mark := _BULLET.match(line):
                line = line[mark.end() :]
        one = _carrier(number, line)
        if not one.stream:
            yield from held.values()
            held.clear()
        if before := held.pop(one.stream, None):
            one = replace(before, text=before.text + one.text, cut=one.cut)
        if one.cut and len(one.text) < WINDOW:
            held[one.stream] = one
        else:
            yield one
    yield from held.values()


def _carrier(number: int, line: str) -> Carried:
    """A line without its carrier; of a stream it may be a part."""
    if line.startswith('{"log":'):
        try:
            given = load_json(line)
        except ValueError:
            given = None
        if isinstance(given, Mapping) and isinstance(said := given.get("log"), str):
            stream, whole = str(given.get("stream") or "log"), said.endswith("\n")
            return Carried(number, said.rstrip("\r\n"), str(given.get("time") or ""), stream, cut=not whole)
    if found := _CRI.match(line):
        return Carried(number, line[found.end() :], found[1], found[2], cut=found[3] == "P")
    if found := _STAMPED.match(line):
        return Carried(number, line[found.end() :], found[1])
    return Carried(number, line)


def _join_events(lines: Iterator[Carried]) -> Iterator[Carried]:
    """With each event that is a list of fields as one line."""
    block: list[Carried] = []
    described = False
    for line in lines:
        if block and len(block) < _MOST_FIELDS and _belongs(line.text, described):
            block.append(line)
            described = described or line.text.startswith("Description:")
            continue
        yield from _event_of(block)
        block, described = [line] if _FIRST.match(line.text) else [], False
        if not block:
            yield line
    yield from _event_of(block)


def _belongs(line: str, described: bool) -> bool:
    """Whether a line is of the list before it. The Event Viewer's description stands beneath its name, to an empty
    line."""
    if not line.strip() or line.startswith("Event Xml:"):
        return False
    return described or line[0].isspace() or _FIELD.match(line) is not None


def _event_of(block: list[Carried]) -> Iterator[Carried]:
    """One line for a list that is an event's, else its own lines."""
    fields: dict[str, str] = {}
    key = ""
    for line in block:
        found = None if key == "Description" else _FIELD.match(line.text)
        if found:
            key = found[1]
            fields.setdefault(key, (found[2] or "").strip())
        else:
            fields[key] = f"{fields[key]} {line.text.strip()}".strip()
    given = {name: next((fields[each] for each in keys if fields.get(each)), "") for name, keys in _KEYS.items()}
    if not given["time"] or not given["message"]:
        yield from block
        return
    level = given["level"] if given["level"] in LEVELS else ""
    head = " ".join(each for each in (given["time"], level, given["source"]) if each)
    yield Carried(block[0].number, f"{head}: {given['message']}")
