# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of many patterns fits which record, in time that grows only with the text.

    scanner = Scanner(["dial tcp .*refused", ...])
    scanner.first(["dial tcp 10.0.0.1:6443: connection refused"])       # [0]: the first pattern that fits each, or None

Each pattern has words that any text it fits must have; only records with one of them are asked. The words are read from
the pattern itself.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence

from .records import pieces

_SHORTEST = 3
_LENGTH = 12
"""Of a longer word the beginning is enough."""
_CODE = re.compile(r"\(?-?(?:0x|\d)[0-9a-f]*")
_DIGITS = 7
"""Of a code so much is enough: those of one family begin alike, so fewer words are looked for."""
_TOKEN = re.compile(r"[a-z_]{3,}")


class Scanner:
    """Patterns, without regard to case."""

    def __init__(self, patterns: Iterable[str]) -> None:
        given = tuple(patterns)
        self._patterns = tuple(re.compile(each, re.IGNORECASE) for each in given)
        self.words = tuple(words_of(each) for each in given)
        self._asking: dict[str, list[int]] = {}
        """The numbers of the patterns that need the word or another."""
        for number, words in enumerate(self.words):
            for word in words or ():
                self._asking.setdefault(word, []).append(number)
        self._tokens = tuple((word, tuple(_TOKEN.findall(word))) for word in self._asking)
        self._always = tuple(number for number, words in enumerate(self.words) if words is None)

    def first(
        self, texts: Sequence[str], may: Callable[[int, int], bool] = lambda pattern, text: True
    ) -> list[int | None]:
        """For each text the first pattern that fits it and that `may` (numbers of both) lets through."""
        found: list[int | None] = [None] * len(texts)
        candidates = self._candidates(texts)
        fits: dict[re.Pattern[str], set[int]] = {}
        for number in sorted({*self._always, *(number for word in candidates for number in self._asking[word])}):
            pattern, words = self._patterns[number], self.words[number]
            if pattern not in fits:
                asked = (
                    range(len(texts)) if words is None else set().union(*(candidates.get(each, ()) for each in words))
                )
                fits[pattern] = {at for at in asked if found[at] is None and self._fits(pattern, texts[at])}
            for at in fits[pattern]:
                if found[at] is None and may(number, at):
                    found[at] = number
        return found

    @staticmethod
    def _fits(pattern: re.Pattern[str], text: str) -> bool:
        return any(pattern.search(piece) is not None for piece in pieces(text))

    def _candidates(self, texts: Sequence[str]) -> dict[str, set[int]]:
        """The texts that have a word, by the word."""
        lowered = [each.lower() for each in texts]
        whole = "\n".join(lowered)
        starts, at = [], 0
        for each in lowered:
            starts.append(at)
            at += len(each) + 1
        ends = [start + len(each) for start, each in zip(starts, lowered, strict=True)]
        found: dict[str, set[int]] = {}
        vocabulary = "\n".join(set(_TOKEN.findall(whole)))
        for word, tokens in self._tokens:
            if not all(map(vocabulary.__contains__, tokens)):
                continue
            place, hits = whole.find(word), set()
            while place >= 0:
                number = bisect_right(starts, place) - 1
                hits.add(number)
                place = whole.find(word, ends[number])
            if hits:
                found[word] = hits
        return found


def words_of(pattern: str) -> tuple[str, ...] | None:
    """Words, in lower case, one of which any text that fits has; None if there are none that are long enough."""
    found, _end = _choice(pattern, 0)
    return tuple(sorted(found)) if found else None


def _short(word: str) -> str:
    code = _CODE.match(word)
    if code is None or len(code.group()) < _SHORTEST:
        return word[:_LENGTH]
    return word[:_LENGTH] if word.startswith("(0x") else code.group()[:_DIGITS]


def _choice(text: str, at: int) -> tuple[frozenset[str] | None, int]:
    """What one of the alternatives up to a closing bracket needs."""
    needs: list[frozenset[str] | None] = []
    while True:
        need, at = _sequence(text, at)
        needs.append(need)
        if at < len(text) and text[at] == "|":
            at += 1
            continue
        break
    together = None if any(need is None for need in needs) else frozenset().union(*(need or () for need in needs))
    return together, at


def _sequence(text: str, at: int) -> tuple[frozenset[str] | None, int]:
    """The best of what the parts of a sequence need: the one whose shortest word is longest."""
    options: list[frozenset[str]] = []
    run = ""

    def end() -> None:
        nonlocal run
        if len(run) >= _SHORTEST:
            options.append(frozenset({_short(run.lower())}))
        run = ""

    while at < len(text) and text[at] not in "|)":
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
            options.append(need)
    end()
    best = max(options, key=lambda words: (min(len(word) for word in words), -len(words)), default=None)
    return best, at


def _class_end(text: str, at: int) -> int:
    at += 2 if text.startswith("[^", at) else 1
    at += 1 if text[at] == "]" else 0
    while text[at] != "]":
        at += 2 if text[at] == "\\" else 1
    return at + 1


def _quantifier(text: str, at: int) -> tuple[bool, bool, int]:
    """Whether what stands before may be left out, whether it may repeat, and where the pattern goes on."""
    found = re.compile(r"(?:[?*+]|\{(\d*),?\d*\})[?+]?").match(text, at)
    if found is None:
        return False, False, at
    sign = found.group()
    optional = sign[0] in "?*" or (sign[0] == "{" and found.group(1) in {"", "0"})
    return optional, True, found.end()
