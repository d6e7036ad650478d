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
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ..foreign.windows import WINDOW, cut_line
from .carried import DATE, LEVEL, carried, unescape_page

WRAPPED = 70
"""A line at least so long may have been wrapped by a screen."""

_HEAD = re.compile(
    r"\s*(?!RESPONSE \d{3}\b|ERROR CODE:)(?:(?:[\w\[][\w/.\]-]* (?:\| )?)?[IWEF]\d{4} \d\d:|"
    r"\[?\d{4}[-/]\d\d[-/]\d\d[T ]|(?:time|ts|t|level)=|\{\"|[A-Z]{4,5}\[\d|"
    r"(?:\d+ )?[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d|(?:Normal|Warning) +[A-Z]\w+|<\d+>|"
    r"(?:[a-z0-9][\w-]* +)?\d+[smhd]\d*[smhd]? +(?:Normal|Warning) |"
    rf"(?:\"\d+\",)?\"?{DATE}|\"?{LEVEL}[\",;\t]{{1,3}}\d|"
    r"panic: |fatal error: |(?<!\s)error: |"
    r"Flag --|[A-Z][\w ()/.-]{1,40}:(?:\s|$)|\[\w+[\w -]*\] |PS [A-Z]:\\|[$#>] |\S+ \S+ \[?(?:INFO|WARN|ERROR|FATAL)\b)"
)
_TAIL = re.compile(
    r"\+ |At (?:line|[A-Z]:\\.*|\S+):\d+ char:\d+|\(extra info|\[Event Detail|goroutine \d+ |created by |panic\(|"
    r"[)\]}]|\.\.\. |RESPONSE \d{3}\b|ERROR CODE:"
)
_HINT = re.compile(
    r"\s*(?:To see the stack trace of this error|See '[\w -]+ --help'|Use \"[\w -]+ --help\"|Run '[\w -]+ --help'|"
    r"npm (?:WARN|warn)\b|yarn \S* ?warning|warning (?:CS|MSB|NU|NETSDK|LNK|C)\d+:|\[WARNING\] (?!plugin/)|WARN: \w+: |"
    r".{0,260}\(\d+(?:,\d+)?\): warning \w+\d+:)"
)
"""What kubeadm, kubectl and docker say to the reader, and what a build tool (npm, yarn, MSBuild, Maven, BuildKit) warns
of: nothing of it tells what failed. CoreDNS' warnings begin as Maven's do, with the name of a plugin."""
_OPEN = re.compile(r"(?:[,(=]|: ?)$")
_KLOG = re.compile(r"[IWEF](\d\d)(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?")
_STAMP = re.compile(r"(\d{4})[-/](\d\d)[-/](\d\d)[T ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?")
_WINDOWS = re.compile(
    rf"\W*(?:(?:\d+|{LEVEL})[\",;\t ]+)?(?P<one>\d{{1,2}})(?P<sign>[/.])(?P<two>\d{{1,2}})[/.](?P<year>\d{{4}}),? "
    r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d))?(?:\s(?P<half>[AP])M)?"
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_SYSLOG = re.compile(rf"\W*(?:\d+ )?({'|'.join(_MONTHS)}) +(\d{{1,2}}) (\d\d):(\d\d)(?::(\d\d))?")
AGE = r"(?:\d{1,4}[smhd]){1,2}"
_AGED = re.compile(rf"\s*(?:[\w-]+ +)?(?:({AGE}) +(?:Normal|Warning)\b|(?:Normal|Warning) +\w+ +({AGE})\b)")
"""An event of Kubernetes in the table of `kubectl get events`, and in that of `kubectl describe`."""
_NOW = datetime(1990, 1, 1)
"""When a table of ages was printed: far from every time of a log, with which no age is compared."""
_YEAR = timedelta(days=366)
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True, slots=True)
class Record:
    """`number` is its first line in the text, from 1; `headed`: it begins as a line of a log or listing does;
    `tight`: its lines without a blank between them, as a screen breaks words; `written`: when, as its carrier says."""

    text: str
    number: int
    headed: bool
    last: int = 0
    tight: str = ""
    written: str = ""

    @property
    def moment(self) -> datetime | None:
        return moment(self.written or self.text)


def plain(text: str) -> str:
    """Without the quoting of a log inside of a log, of HTML, and without the zeros of UTF-16."""
    text = unescape_page(text.replace("\x00", ""))
    while '\\"' in text or "\\\\" in text:
        text = text.replace('\\"', '"').replace("\\\\", "\\")
    return text


def records(text: str) -> tuple[Record, ...]:
    """All of a text, in the order of their times where it is printed with the newest first."""
    found = tuple(_records(text))
    if not _is_newest_first(found):
        return found
    groups: list[list[Record]] = []
    for each in found:
        if not groups or (each.headed and each.moment is not None):
            groups.append([])
        groups[-1].append(each)
    return tuple(each for group in reversed(groups) for each in group)


def _is_newest_first(found: Iterable[Record]) -> bool:
    """Whether no second is later than the one before, and some are earlier: within one, threads of a program may write
    in any order. Times of two clocks do not tell."""
    last, fell = None, False
    for at in (each.moment for each in found if each.headed):
        when = at and at.replace(microsecond=0)
        if when is not None and last is not None:
            if when > last or last - when > _YEAR:
                return False
            fell = fell or when < last
        last = when or last
    return fell


def _records(text: str) -> Iterator[Record]:
    parts: list[str] = []
    head = Record("", 0, False)
    last, size, stream = "", 0, ""
    for line in carried(text):
        said = line.text.strip()
        if not said or _HINT.match(line.text):
            last = last if _OPEN.search(last) else ""
            continue
        headed = _HEAD.match(line.text) is not None
        size += len(said) + 1
        goes_on = not headed and size <= WINDOW and line.stream == stream
        if parts and last and goes_on and _continues(line.text, last):
            parts.append(said)
            last, head = said, replace(head, last=line.number)
            continue
        if parts:
            yield _whole(head, parts)
        head = Record(said, line.number, headed, line.number, written=line.written)
        if len(said) > WINDOW:
            yield from (replace(head, text=piece, headed=True) for piece in cut_line(said))
            parts, last = [], ""
            continue
        parts, last, size, stream = [said], said, len(said), line.stream
    if parts:
        yield _whole(head, parts)


def _whole(head: Record, parts: list[str]) -> Record:
    return head if len(parts) == 1 else replace(head, text=" ".join(parts), tight="".join(parts))


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
    """When a line was written: klog's and syslog's (which know no year), an ISO time anywhere in its beginning, an
    event's of Windows, or an age in a table of Kubernetes' events, which is compared with other ages alone."""
    if found := _KLOG.match(line):
        return _with_fraction("2000", *found.groups())
    begin = line[:80]
    if found := _STAMP.search(begin):
        return _with_fraction(*found.groups())
    if found := _WINDOWS.match(begin):
        return _of_windows(found)
    if found := _SYSLOG.match(begin):
        day, hour, minute, second = (int(each or 0) for each in found.groups()[1:])
        return _at(2000, _MONTHS.index(found[1]) + 1, day, hour, minute, second)
    if found := _AGED.match(begin):
        age = re.findall(r"(\d+)([smhd])", found[1] or found[2])
        return _NOW - timedelta(seconds=sum(int(number) * _UNITS[unit] for number, unit in age))
    return None


def _of_windows(found: re.Match[str]) -> datetime | None:
    """With the month first where the day is told in halves, as in the United States; else where it can be one."""
    one, two = int(found["one"]), int(found["two"])
    month, day = (two, one) if found["sign"] == "." or (one > 12 and not found["half"]) else (one, two)
    hour = int(found["hour"])
    if found["half"]:
        hour = hour % 12 + (12 if found["half"] == "P" else 0)
    return _at(int(found["year"]), month, day, hour, int(found["minute"]), int(found["second"] or 0))


def _with_fraction(*parts: str | None) -> datetime | None:
    """Of year to second, and the digits of a second's fraction."""
    *whole, fraction = (each or "" for each in parts)
    at = _at(*(int(each) for each in whole))
    return at and at.replace(microsecond=int(fraction.ljust(6, "0")))


def _at(year: int, month: int, day: int, hour: int, minute: int, second: int) -> datetime | None:
    try:
        return datetime(year, month, day, hour, minute, second)
    except ValueError:
        return None
