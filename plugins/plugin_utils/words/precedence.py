# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of the rows that fit a line tells its cause, by the structure of the line.

    decide("failed to authorize: ...: wsarecv: ...", rows)      # the row of the cut connection

1. Who called excludes: a CNI plugin's kubeconfig is not the node's own login (facts/callers.py).
2. A row that asks for an operation counts where that was being done.
3. A sentence stands over the reasons that it names, and over those that no row knows. Go writes `outer: inner`: where a
   row knows a reason behind the sentence, that one is the cause.
4. Outer words alone give a place; their rows come last in the table (facts/messages_general.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from ..facts.callers import excluded
from ..facts.message import ANY, Message, Rule
from ..facts.messages_general import MESSAGES as OUTER
from .line import parse

_OUTER: frozenset[Message | Rule] = frozenset(OUTER)


def decide(text: str, rows: Sequence[Message | Rule]) -> Message | Rule | None:
    """Of the rows whose words a line has, in the order of their table."""
    never = excluded(text)
    possible = [each for each in rows if not (never and each.finding.startswith(never))]
    if possible and (len(possible) > 1 or not possible[0].anywhere):
        done = parse(text).operations
        possible = [each for each in possible if each.anywhere or each.fits(done)]
    if not possible:
        return None
    first, *others = possible
    if isinstance(first, Rule) or first.over == ANY or first in _OUTER:
        return first
    end = _span(first, text)[1]
    inner = (
        each
        for each in others
        if isinstance(each, Rule)
        and each not in _OUTER
        and each.finding not in {first.finding, *first.over}
        and _span(each, text)[0] >= end
    )
    return next(inner, first)


@cache
def _pattern(row: Message | Rule) -> re.Pattern[str]:
    return re.compile(row.pattern, re.IGNORECASE)


def _span(row: Message | Rule, text: str) -> tuple[int, int]:
    """Where a sentence stands first, and a reason last."""
    found = [each.span() for each in _pattern(row).finditer(text)]
    return (0, 0) if not found else found[-1] if isinstance(row, Rule) else found[0]
