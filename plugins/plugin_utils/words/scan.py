# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of many patterns fit a text, in time that grows only with the text.

    scanner = Scanner(["dial tcp .*refused|no route to host", ...], ["caches are synced"])
    known, reached = scanner.list_fits("dial tcp 10.0.0.1:6443: connection refused")       # [0], []

Each alternative of a pattern has words that any text it fits must have; only those are asked whose words stand in the
text. The words are read from the pattern itself, and are looked for by their longest run of letters: most runs of
letters of a log are in no word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ..foreign.windows import list_windows

_SHORTEST = 3
_RUN = re.compile(r"[a-z_]{3,}")
_PLAIN = re.compile(r"[^\\^$.|?*+()\[{]+(?![?*+{])")
"""Letters of a pattern that stand for themselves; the last of them has no quantifier."""
_QUANTIFIER = re.compile(r"(?:[?*+]|\{(\d*),?\d*\})[?+]?")
_REMEMBERED = 1 << 16
"""So many runs of letters, which recur from line to line."""


@dataclass(frozen=True, eq=False)
class _Branch:
    """One alternative of patterns; `places`: table and number of each. `needs`: of each set of words a text must have
    one."""

    text: str
    flags: int
    needs: tuple[frozenset[str], ...]
    places: list[tuple[int, int]]

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(self.text, self.flags)

    def fits(self, text: str, low: str) -> bool:
        asked = all(any(word in low for word in need) for need in self.needs)
        return asked and self._pattern.search(text) is not None


class Scanner:
    """Tables of patterns; without regard to case, if the flags do not say otherwise."""

    def __init__(self, *tables: Iterable[str], flags: int = re.IGNORECASE) -> None:
        self._tables = range(len(tables))
        branches: dict[str, _Branch] = {}
        for place, pattern in (
            ((table, number), pattern)
            for table, patterns in enumerate(tables)
            for number, pattern in enumerate(patterns)
        ):
            for text in branches_of(pattern):
                if text not in branches:
                    branches[text] = _Branch(text, flags, _sequence(text, 0)[0], [])
                branches[text].places.append(place)
        self._always = tuple(each for each in branches.values() if not each.needs)
        self._asking: dict[str, list[_Branch]] = {}
        """The branches that need the word or another."""
        for each in branches.values():
            for word in _best(each.needs) or ():
                self._asking.setdefault(word, []).append(each)
        self._runs: dict[str, list[tuple[str, str]]] = {}
        """Words with their longest run of letters, by its beginning."""
        self._others: dict[str, list[str]] = {}
        """Words without one, such as codes, by their own beginning."""
        for word in self._asking:
            if run := max(_RUN.findall(word), key=len, default=""):
                self._runs.setdefault(run[:_SHORTEST], []).append((run, word))
            else:
                self._others.setdefault(word[:_SHORTEST], []).append(word)
        self._near: Callable[[str], tuple[str, ...]] = lru_cache(_REMEMBERED)(self._list_near)

    def list_fits(self, text: str) -> list[list[int]]:
        """Of each table the numbers of the patterns that fit, in their order."""
        fits = sorted({place for _start, piece in list_windows(text) for place in self._fit(piece)})
        return [[number for at, number in fits if at == table] for table in self._tables]

    def _fit(self, text: str) -> Iterator[tuple[int, int]]:
        low = text.lower()
        asked = {branch for word in self._list_words(low) for branch in self._asking[word]}
        for branch in (*self._always, *asked):
            if branch.fits(text, low):
                yield from branch.places

    def _list_words(self, low: str) -> list[str]:
        near = [word for run in set(_RUN.findall(low)) for word in self._near(run)]
        others = [word for beginning in self._others if beginning in low for word in self._others[beginning]]
        return [word for word in (*near, *others) if word in low]

    def _list_near(self, run: str) -> tuple[str, ...]:
        """The words that may stand where a text has this run of letters."""
        starts = range(len(run) - _SHORTEST + 1)
        return tuple(
            word
            for at in starts
            for own, word in self._runs.get(run[at : at + _SHORTEST], ())
            if run.startswith(own, at)
        )


def words_of(pattern: str) -> tuple[str, ...] | None:
    """Words, in lower case, one of which any text that fits has; None if there are none that are long enough."""
    found, _end = _choice(pattern, 0)
    return tuple(sorted(found)) if found else None


def branches_of(pattern: str) -> Iterator[str]:
    """The alternatives of a pattern, and those within brackets around the whole of one."""
    at = 0
    while at <= len(pattern):
        start, (_needs, at) = at, _sequence(pattern, at)
        branch = pattern[start:at]
        if branch.startswith("(?:") and _choice(branch, 3)[1] == len(branch) - 1:
            yield from branches_of(branch[3:-1])
        else:
            yield branch
        at += 1


Needs = tuple[frozenset[str], ...]


def _best(needs: Needs) -> frozenset[str] | None:
    """The one that the fewest texts have, as far as one can tell: whose shortest word is longest."""
    return max(needs, key=lambda words: (min(len(word) for word in words), -len(words)), default=None)


def _choice(text: str, at: int) -> tuple[frozenset[str] | None, int]:
    """What one of the alternatives up to a closing bracket needs."""
    found: list[frozenset[str] | None] = []
    while True:
        needs, at = _sequence(text, at)
        found.append(_best(needs))
        if at < len(text) and text[at] == "|":
            at += 1
            continue
        break
    together = None if any(need is None for need in found) else frozenset().union(*(need or () for need in found))
    return together, at


def _sequence(text: str, at: int) -> tuple[Needs, int]:
    """What the parts of a sequence need."""
    needs: list[frozenset[str]] = []
    run = ""

    def end() -> None:
        nonlocal run
        if len(run) >= _SHORTEST:
            needs.append(frozenset({run.lower()}))
        run = ""

    while at < len(text) and text[at] not in "|)":
        if plain := _PLAIN.match(text, at):
            run, at = run + plain.group(), plain.end()
            continue
        char, need, literal = text[at], None, ""
        if char == "(":
            inside = at + 1
            looks = text.startswith(("?!", "?=", "?<"), inside)
            if looks:
                inside += 3 if text.startswith("?<", inside) else 2
            elif text.startswith("?:", inside):
                inside += 2
            elif text.startswith("?i:", inside):
                inside += 3
            need, at = _choice(text, inside)
            at += 1
            need = None if looks else need
        elif char == "[":
            at = _class_end(text, at)
        elif char == "\\":
            literal = text[at + 1] if not text[at + 1].isalnum() else ""
            at += 2
        else:
            literal = "" if char in ".^$" else char
            at += 1
        optional, repeated, at = _quantifier(text, at)
        if literal and not optional:
            run += literal
            if repeated:
                end()
            continue
        end()
        if need is not None and not optional:
            needs.append(need)
    end()
    return tuple(needs), at


def _class_end(text: str, at: int) -> int:
    at += 2 if text.startswith("[^", at) else 1
    at += 1 if text[at] == "]" else 0
    while text[at] != "]":
        at += 2 if text[at] == "\\" else 1
    return at + 1


def _quantifier(text: str, at: int) -> tuple[bool, bool, int]:
    """Whether what stands before may be left out, whether it may repeat, and where the pattern goes on."""
    if at >= len(text) or text[at] not in "?*+{" or (found := _QUANTIFIER.match(text, at)) is None:
        return False, False, at
    sign = found.group()
    optional = sign[0] in "?*" or (sign[0] == "{" and found.group(1) in {"", "0"})
    return optional, True, found.end()
