# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Searches the ends of logs, and what a person pastes, for the messages that are known (facts/messages_*.py).

    for hit in search({"kubelet": text}):        # by service
        print(hit.finding, hit.lines)
    about("hcnCreateEndpoint failed in Win32: ... (0x803b000d)")     # ("hns.policy-refused",)

Each line stands for itself, with the lines that continue it.
A log tells of earlier times as well. A line counts if the program has not said since that the thing works, no one
sees that it works now, and it is not much older than the log's last line; of a program that runs, and of what it tries
again and again, the node's clock decides instead of the last line.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from ..facts import messages_pasted
from ..facts.ambiguous import Ambiguous
from ..facts.message import Message, Rule
from ..facts.message_places import ANY_STREAM
from ..foreign.windows import cut_line
from .line import parse
from .over import OVER, REACHED, Ends, program_of
from .precedence import KINDS, PLACES, decide, is_named, kind
from .records import Record, moment, paragraphs, plain, records
from .scan import Scanner
from .several import row_of_all
from .signs import Sign, sign_of

PASTED = frozenset((*messages_pasted.PARTICULAR, *messages_pasted.GENERAL, *messages_pasted.STATES))
"""Rows that no log is searched for: a healthy node says it, too."""
MESSAGES: tuple[Message | Rule, ...] = tuple(each for rows in KINDS for each in rows if each not in PASTED)
"""Rows that logs are searched for. Which one of those that fit a line is taken, words/precedence.py decides."""

GENERAL = PLACES - {each for each in PLACES if each.finding in {"start.failed", "start.ended", "start.ends-at-once"}}
"""Not said where another line of the same text names a reason. That a program ended is said in any case."""

_COMPARED = 40
"""So many different lines of a hit are compared as signs: the last ones."""
LINES = 3
"""So many lines are kept of a hit: the last ones."""
WIDTH = 400
"""So many characters of a line."""
RECENT = timedelta(minutes=15)
"""What is older by more than this is over. The number is this module's own: kubelet and
kube-proxy try again within 5 minutes at the latest (kubernetes pkg/kubelet/pod_workers.go, maxBackoff)."""

_ROWS = tuple(each for rows in KINDS for each in rows)
_ENDS = ([each.pattern for each in OVER.values()], [REACHED.pattern])
_SCANNER = Scanner([each.pattern for each in _ROWS], *_ENDS)


@dataclass(frozen=True, slots=True)
class Hit:
    """What a log says: the id of the finding that it leads to, whose log, the last lines, and how many there are;
    `place`: that something failed, and not why; `signs`: what the lines are signs of; `row`: its several causes, where
    their code is all that they say."""

    finding: str
    program: str
    lines: tuple[str, ...]
    count: int
    source: str
    place: bool = False
    signs: frozenset[Sign] = frozenset()
    row: Ambiguous | None = None


@dataclass(frozen=True, slots=True)
class _Heard:
    """What a text says: the row that decides in a log, and where a person asks; the program that says that it works,
    and whether the API server is reached."""

    message: Message | Rule | None = None
    asked: Message | Rule | None = None
    works: str = ""
    reached: bool = False


_NOTHING = _Heard()


def find_messages(texts: Sequence[str]) -> list[Message | Rule | None]:
    """For each text of a log the row that decides."""
    return [each.message for each in _hear(texts)]


def _hear(texts: Sequence[str]) -> list[_Heard]:
    bare = [_bare(each) for each in texts]
    heard = {each: _hear_one(each) for each in dict.fromkeys(bare)}
    return [heard[each] for each in bare]


def _hear_one(text: str) -> _Heard:
    known, works, reached = fits = _SCANNER.list_fits(text)
    if not any(fits):
        return _NOTHING
    rows = [_ROWS[each] for each in known]
    logged = [each for each in rows if each not in PASTED]
    message = decide(text, logged)
    asked = message if len(logged) == len(rows) or parse(text).informs else decide(text, rows)
    return _Heard(message, asked, tuple(OVER)[works[0]] if works else "", bool(reached))


_HEAD = re.compile(
    r'([IWEF])\d{4} \d\d:\d\d:\d\d(?:\.\d+)?\s+\d+ |(?:time="?)?\d{4}-\d\d-\d\d[T ][\d:.]+(?:Z|[+-][\d:]+)?"? '
)


def _bare(text: str) -> str:
    """As it is looked at. A log says the same again and again; without its times and processes it is looked at once."""
    said = plain(text)
    head = _HEAD.match(said)
    if head is None:
        return said
    return f"{head[1]}0101 00:00:00.0 1 {said[head.end() :]}" if head[1] else said[head.end() :]


def _particular(found: Iterable[Message | Rule]) -> tuple[Message | Rule, ...]:
    """Those that name a reason, if there is one: what is said in general is then the same fault once more."""
    all_found = tuple(found)
    return tuple(each for each in all_found if each not in GENERAL) or all_found


@dataclass(frozen=True, slots=True)
class Told:
    """What a pasted text says: the finding that a message of it leads to, and the record in which it stands."""

    finding: str
    message: Message | Rule
    record: Record


def about(text: str) -> tuple[str, ...]:
    """The findings that a pasted message leads to, the most particular first; none for a message that is not known."""
    return tuple(dict.fromkeys(each.finding for each in explain_text(text)))


def explain_text(text: str) -> tuple[Told, ...]:
    """The same with the records."""
    return read_text(text).told


@dataclass(frozen=True, slots=True)
class Read:
    """What is known of a text; where that is nothing, its records that are not over. `size`: how many it has."""

    told: tuple[Told, ...]
    others: tuple[Record, ...]
    size: int


def read_text(text: str) -> Read:
    """Each record of a text stands for itself; where none of a paragraph is known, it may be one message that was
    broken anywhere."""
    found = _hear_records(records(text))
    ends = _ends(found)
    hits = _find_asked(found)
    known_ones = {each.record.number for each in hits if each.message not in PLACES | PASTED}
    alone = [each for each, _heard in found]
    broken = [each for each in paragraphs(alone) if known_ones.isdisjoint(range(each.number, each.last + 1))]
    broken += [replace(each, text=each.tight) for each in alone if each.tight and each.number not in known_ones]
    hits += _find_asked(_hear_records(broken))
    counted = [
        each
        for each in hits
        if not (ends.is_over(each.record, each.finding, of_start=_of_start(each.message)) or _is_told(each))
    ]
    rows = frozenset(each.message for each in counted)
    order = {each.number: place for place, each in enumerate(alone)}
    said = sorted(counted, key=lambda each: (*_rank(each, rows), order[each.record.number]))
    kept = frozenset(_particular(each.message for each in said))
    told = tuple(each for each in said if each.message in kept)
    others = () if told else tuple(each for each in alone if not ends.is_place_over(each))
    return Read(told, others, len(alone))


def _ends(found: Iterable[tuple[Record, _Heard]]) -> Ends:
    ends = Ends()
    for each, heard in sorted(found, key=lambda pair: pair[0].number):
        ends.hear(each, heard.works, heard.reached)
    return ends


def _rank(one: Told, rows: Collection[Message | Rule]) -> tuple[bool, bool, bool, bool, int]:
    """A cause stands before what follows from it, and before one that its row names; what a healthy node says as well
    while it starts behind what it does not say, and how a command that was run in a container ended behind what a
    program says by itself; then the kind of the row."""
    message = one.message
    late = (is_named(message, rows), message.early, _is_of_exec(one.record))
    return message in PLACES, *late, kind(message)


def _is_told(one: Told) -> bool:
    """Whether it is a place of which a program only informs."""
    return one.message in PLACES and parse(one.record.text).informs


def _is_of_exec(record: Record) -> bool:
    return ANY_STREAM in parse(record.text).operations


def _hear_records(found: Sequence[Record]) -> list[tuple[Record, _Heard]]:
    return list(zip(found, _hear([" ".join(each.text.split()) for each in found]), strict=True))


def _find_asked(found: Iterable[tuple[Record, _Heard]]) -> list[Told]:
    return [Told(heard.asked.finding, heard.asked, each) for each, heard in found if heard.asked is not None]


def search(
    logs: Mapping[str, str], quiet: Mapping[str, timedelta] | None = None, working: Iterable[str] = ()
) -> tuple[Hit, ...]:
    """What the ends of logs say, by kinds of rows. `quiet` is how long ago the log of a program
    that runs was written last, by the node's clock; `working` are the programs of which is seen that they do their
    work now: what they said of their start, and of the cluster, is over."""
    known_quiet, done = quiet or {}, frozenset(working)
    hits = [
        hit
        for program, text in logs.items()
        for hit in _of_log(program, text, known_quiet.get(program, timedelta()), program in done)
    ]
    return tuple(hit for _kind, hit in sorted(hits, key=lambda pair: pair[0]))


def _of_log(program: str, text: str, quiet: timedelta, works: bool) -> Iterator[tuple[int, Hit]]:
    """Each hit with the kind of its row."""
    whole = (line.strip() for line in text.replace("\x00", "").splitlines())
    lines = [piece for line in whole if line for piece in cut_line(line)]
    last = next((written for line in reversed(lines) if (written := moment(line))), None)
    started = len(lines) if works else _last(lines, OVER.get(program_of(program)))
    reached = len(lines) if works else _last(lines, REACHED)
    found: dict[str, tuple[set[Message | Rule], list[str]]] = {}
    for number, (line, message) in enumerate(zip(lines, find_messages(lines), strict=True)):
        if message is None or (number < started and _of_start(message)):
            continue
        if message.early and number < len(lines) - 1 - _NEAR:
            continue
        if number < reached and message.finding.startswith("cluster."):
            continue
        written = moment(line)
        before = last - written if last is not None and written is not None and written <= last else timedelta()
        if before + (quiet if message.finding.startswith(_TRIED_AGAIN) else timedelta()) > RECENT:
            continue
        messages, said = found.setdefault(message.finding, (set(), []))
        messages.add(message)
        said.append(line)
    particular = frozenset(_particular(each for messages, _said in found.values() for each in messages))
    for finding, (messages, said) in found.items():
        if not messages & particular:
            continue
        shown = tuple(each[:WIDTH] for each in dict.fromkeys(said[-LINES:]))
        first = min(messages & particular, key=lambda each: (kind(each), each.pattern))
        different = list(dict.fromkeys(map(_bare, said)))[-_COMPARED:]
        signs = frozenset(map(sign_of, different))
        row = row_of_all((line, each) for line in different for each in messages - PLACES)
        yield kind(first), Hit(finding, program, shown, len(said), first.source, messages <= PLACES, signs, row)


_NEAR = 40
"""What a healthy program says early counts only if it stands among this many last lines: kubelet says every 5 seconds
that there is no network (kubernetes pkg/kubelet/kubelet.go, updateRuntimeUp)."""

_RUNNING = ("hns.", "container.", "image.", "kube-proxy.rule", "cni.")
"""Findings that come up while a program runs: a good start does not say that they are over."""

_TRIED_AGAIN = (*_RUNNING, "cluster.")
"""Findings that a program speaks of again and again while they hold; of those of its start it speaks once."""


def _of_start(message: Message | Rule) -> bool:
    if message in PASTED:
        return message.finding == "node.not-ready"
    return message.early or not message.finding.startswith(_RUNNING)


def _last(lines: Iterable[str], pattern: re.Pattern[str] | None) -> int:
    found = [number for number, line in enumerate(lines) if pattern is not None and pattern.search(line)]
    return found[-1] if found else -1
