# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of the rows that fit a line tells its cause, by the structure of the line. The tables' order says nothing.

    decide("failed to authorize: ...: wsarecv: ...", rows)      # the row of the cut connection

1. Who called excludes: a CNI plugin's kubeconfig is not the node's own login (facts/callers.py).
2. A row that asks for an operation counts where that was being done.
3. A row that names the finding of another (`over`) stands over it, if it is of no later kind.
4. The kind of the row: words of one function, then reasons of one program or peer, reasons that anybody gives, families
   of operation and reason, crashes and what only a person pastes, outer words, states. Outer words give a place.
5. Of one kind, the one whose words stand innermost, which is last, and then the one that explains more of the line.
6. A sentence stands over the reasons that it names, and over those that no row knows. Go writes `outer: inner`: where a
   row knows a reason behind the sentence, that one is the cause.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

from ..facts import (
    messages_containers,
    messages_families,
    messages_general,
    messages_pasted,
    messages_programs,
    messages_reasons,
    messages_sentences,
    messages_volumes,
    messages_windows,
)
from ..facts.callers import excluded
from ..facts.message import ANY, Message, Rule
from .line import parse

KINDS: tuple[tuple[Message | Rule, ...], ...] = (
    (*messages_sentences.MESSAGES, *messages_pasted.PARTICULAR),
    (
        *messages_volumes.MESSAGES,
        *messages_reasons.PEERS,
        *messages_windows.MESSAGES,
        *messages_containers.MESSAGES,
        *messages_programs.MESSAGES,
    ),
    messages_reasons.GENERAL,
    messages_families.FAMILIES,
    (messages_general.PANIC, *messages_pasted.GENERAL),
    messages_general.MESSAGES,
    messages_pasted.STATES,
)
"""All rows, those that say the most first."""
_KIND = {each: number for number, rows in enumerate(KINDS) for each in rows}
PLACES: frozenset[Message | Rule] = frozenset((*messages_general.MESSAGES, *messages_pasted.STATES))
"""Consequences: they say where something failed or what state it is in, and not why. An answer that rests on them alone
names the place, and no cause."""


def decide(text: str, rows: Sequence[Message | Rule]) -> Message | Rule | None:
    """Of the rows whose words a line has, in any order."""
    never = excluded(text)
    possible = [each for each in rows if not (never and each.finding.startswith(never))]
    if possible and (len(possible) > 1 or not possible[0].anywhere):
        done = parse(text).operations
        possible = [each for each in possible if each.anywhere or each.fits(done)]
    if len(possible) < 2:
        return possible[0] if possible else None
    first, *others = sorted(possible, key=lambda each: (is_named(each, possible), *_rank(each, text)))
    if isinstance(first, Rule) or first.over == ANY or first in PLACES:
        return first
    end = _spans(first, text)[0][1]
    inner = (
        each
        for each in others
        if isinstance(each, Rule)
        and each not in PLACES
        and each.finding not in {first.finding, *first.over}
        and _spans(each, text)[-1][0] >= end
    )
    return next(inner, first)


def is_named(row: Message | Rule, others: Iterable[Message | Rule]) -> bool:
    """Whether one of the others stands over it."""
    return any(row.finding in each.over and kind(each) <= kind(row) for each in others)


def kind(row: Message | Rule) -> int:
    """Its place among KINDS; of a row that is in none, that of sentences and of reasons."""
    return _KIND.get(row, 2 if isinstance(row, Rule) else 0)


def _rank(row: Message | Rule, text: str) -> tuple[int, bool, int, int, str, str]:
    spans = _spans(row, text)
    longest = max(end - start for start, end in spans)
    return kind(row), row.over != ANY, -spans[-1][1], -longest, row.finding, row.pattern


@cache
def _pattern(row: Message | Rule) -> re.Pattern[str]:
    return re.compile(row.pattern, re.IGNORECASE)


def _spans(row: Message | Rule, text: str) -> list[tuple[int, int]]:
    return [each.span() for each in _pattern(row).finditer(text)] or [(0, 0)]
