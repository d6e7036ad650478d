# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text that a person pastes, or a log, as records: a line with the lines that continue it.

    for record in records(text):
        print(record.number, record.text)

A line that begins as logs, listings and events do is a record of its own. Only what cannot stand alone continues the
line before: the rest of a PowerShell error, a stack, what is indented, what a screen has wrapped. No record is longer
than a window of foreign/windows.py: a longer line is cut into records.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from html import unescape

from ..foreign.windows import WINDOW, cut_line

WRAPPED = 70
"""A line at least so long may have been wrapped by a screen."""

_HEAD = re.compile(
    r"\s*(?!RESPONSE \d{3}\b|ERROR CODE:)(?:(?:[\w\[][\w/.\]-]* (?:\| )?)?[IWEF]\d{4} \d\d:|"
    r"\[?\d{4}[-/]\d\d[-/]\d\d[T ]|(?:time|ts|t|level)=|\{\"|[A-Z]{4,5}\[\d|"
    r"[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d|(?:Normal|Warning) +[A-Z]\w+|<\d+>|\d+[smhd]\d*[smhd]? +(?:Normal|Warning) |"
    r"panic: |fatal error: |(?<!\s)error: |"
    r"Flag --|[A-Z][\w ()/.-]{1,40}:(?:\s|$)|\[\w+[\w -]*\] |PS [A-Z]:\\|[$#>] |\S+ \S+ \[?(?:INFO|WARN|ERROR|FATAL)\b)"
)
_TAIL = re.compile(
    r"\+ |At (?:line|[A-Z]:\\.*|\S+):\d+ char:\d+|\(extra info|\[Event Detail|goroutine \d+ |created by |panic\(|"
    r"[)\]}]|\.\.\. |RESPONSE \d{3}\b|ERROR CODE:"
)
_MARK = re.compile(
    r"\s*(?:(?:>\s?)+|[-*\u2022] )(?=[IWEF]\d{4} \d\d:|(?:time|ts|level)=|\d{4}-\d\d-\d\d[T ]|Warning +[A-Z])"
)
"""What a mail or a list puts before a line of a log."""
_ENTITY = re.compile(r"&(?:quot|lt|gt|amp|#39|#34);")
_HINT = re.compile(
    r"\s*(?:To see the stack trace of this error|See '[\w -]+ --help'|Use \"[\w -]+ --help\"|Run '[\w -]+ --help'|"
    r"npm (?:WARN|warn)\b|yarn \S* ?warning|warning (?:CS|MSB|NU|NETSDK|LNK|C)\d+:|\[WARNING\] (?!plugin/)|WARN: \w+: |"
    r".{0,260}\(\d+(?:,\d+)?\): warning \w+\d+:)"
)
"""What kubeadm, kubectl and docker say to the reader, and what a build tool (npm, yarn, MSBuild, Maven, BuildKit) warns
of: nothing of it tells what failed. CoreDNS' warnings begin as Maven's do, with the name of a plugin."""
_OPEN = re.compile(r"(?:[,(=]|: ?)$")
_KLOG = re.compile(r"[IWEF](\d\d)(\d\d) (\d\d):(\d\d):(\d\d)")
_STAMP = re.compile(r"(\d{4})[-/](\d\d)[-/](\d\d)[T ](\d\d):(\d\d):(\d\d)")


@dataclass(frozen=True, slots=True)
class Record:
    """`number` is its first line in the text, from 1; `headed`: it begins as a line of a log or listing does;
    `tight`: its lines without a blank between them, as a screen breaks words."""

    text: str
    number: int
    headed: bool
    last: int = 0
    tight: str = ""

    @property
    def moment(self) -> datetime | None:
        return moment(self.text)


def plain(text: str) -> str:
    """Without the quoting of a log inside of a log, of HTML, and without the zeros of UTF-16."""
    text = text.replace("\x00", "")
    if _ENTITY.search(text):
        text = unescape(text)
    while '\\"' in text or "\\\\" in text:
        text = text.replace('\\"', '"').replace("\\\\", "\\")
    return text


def records(text: str) -> tuple[Record, ...]:
    """All of a text."""
    return tuple(_records(text))


def _records(text: str) -> Iterator[Record]:
    parts: list[str] = []
    first, end, headed, last, size = 0, 0, False, "", 0
    for number, whole in enumerate(text.replace("\x00", "").splitlines(), 1):
        line = whole[mark.end() :] if (mark := _MARK.match(whole)) else whole
        said = line.strip()
        if not said or _HINT.match(line):
            last = last if _OPEN.search(last) else ""
            continue
        head = _HEAD.match(line) is not None
        size += len(said) + 1
        if parts and last and not head and size <= WINDOW and _continues(line, last):
            parts.append(said)
            last, end = said, number
            continue
        if parts:
            yield Record(" ".join(parts), first, headed, end, "".join(parts) if len(parts) > 1 else "")
        if len(said) > WINDOW:
            yield from (Record(piece, number, True, number) for piece in cut_line(said))
            parts, last = [], ""
            continue
        parts, first, headed, last, end, size = [said], number, head, said, number, len(said)
    if parts:
        yield Record(" ".join(parts), first, headed, end, "".join(parts) if len(parts) > 1 else "")


def _continues(line: str, before: str) -> bool:
    if line[0] in " \t" or _TAIL.match(line) or _OPEN.search(before):
        return True
    return len(before) >= WRAPPED and not line[0].isupper()


def paragraphs(found: Iterable[Record], most: int = 12) -> Iterator[Record]:
    """A record with the ones without a head after it as one: a message that was broken anywhere, between words or
    within one. Longer runs are none."""
    run: list[Record] = []
    for each in found:
        if each.headed:
            yield from _join(run, most)
            run = []
        run.append(each)
    yield from _join(run, most)


def _join(run: list[Record], most: int) -> Iterator[Record]:
    if 1 < len(run) <= most and sum(len(each.text) + 1 for each in run) <= WINDOW:
        for between in (" ", ""):
            yield Record(between.join(each.text for each in run), run[0].number, run[0].headed, run[-1].last)


def moment(line: str) -> datetime | None:
    """When a line was written: klog's (which knows no year) or an ISO time anywhere in its beginning."""
    if found := _KLOG.match(line):
        month, day, hour, minute, second = (int(each) for each in found.groups())
        return _at(2000, month, day, hour, minute, second)
    if found := _STAMP.search(line[:80]):
        return _at(*(int(each) for each in found.groups()))
    return None


def _at(year: int, month: int, day: int, hour: int, minute: int, second: int) -> datetime | None:
    try:
        return datetime(year, month, day, hour, minute, second)
    except ValueError:
        return None
