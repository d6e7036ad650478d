"""Which value is the one behind a row: what its tests execute, few others do, and what they name."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath

from tests.mutate.mutants import Mutant
from tests.mutate.words import Word

LOCATED = 2.0
"""The least score: a value that the test names, or a comparison that only its tests get to."""
_SAME = 4.0
_PART = 0.75
_RARE = 2.0
_NAMED = 4.0
_SUBJECT = 1.5
_MOST_OF_IT = 0.75
_LONG = 6
# A variable's name in the code is there to be told.
_OPTION = "winkube_"
_IN_A_SENTENCE = 0.3
# A row's id in the code is a name, not a value.
_ID = re.compile(r"[A-Z]{2}-[0-9]{2}")


@dataclass(frozen=True)
class Traced:
    """What a row's tests executed, as (path, line), and opened, as (path, 0); what they say."""

    lines: frozenset[tuple[str, int]]
    words: Mapping[Word, float]
    naming: frozenset[tuple[str, int]] = frozenset()
    """Lines of code that name the row."""
    subjects: frozenset[str] = frozenset()
    """What the files of its tests are called after: `kube_proxy_args` of test_kube_proxy_args.py."""


@dataclass(frozen=True)
class Crowd:
    """How many of the traced `rows` execute a line, and how many of `every` row name a word."""

    rows: int
    every: int
    lines: Counter[tuple[str, int]]
    words: Counter[Word]

    @classmethod
    def of(cls, traced: Iterable[Traced], words: Iterable[Iterable[Word]]) -> Crowd:
        """`words`: of all rows, drawn or not; to have them nothing need be run."""
        every, said = list(traced), list(words)
        return cls(
            len(every),
            len(said),
            Counter(line for each in every for line in each.lines),
            Counter(word for each in said for word in each),
        )

    def rarity_of_line(self, line: tuple[str, int]) -> float:
        """1 for a line of one row only, 0 for one that all execute."""
        return 1.0 if self.rows < 2 else 1 - (self.lines[line] - 1) / (self.rows - 1)

    def rarity_of_word(self, word: Word) -> float:
        """1 for a word of one row only, 1/2 for one of 4 rows, and so on."""
        return 1 / math.sqrt(max(1, self.words[word]))


def score(mutant: Mutant, traced: Traced, crowd: Crowd) -> float:
    """How likely the mutant is of the row's value; 0 where its tests do not come by."""
    is_text = not mutant.path.endswith(".py")
    place = (mutant.path, 0 if is_text else mutant.line)
    if place not in traced.lines or (isinstance(mutant.value, str) and _ID.fullmatch(mutant.value)):
        return 0.0
    rare = crowd.rarity_of_line(place)
    prose = isinstance(mutant.value, str) and " " in mutant.value and not is_text
    own = (mutant.path, mutant.line) in traced.naming and not prose and not mutant.told
    named = _named(mutant, traced.words, crowd) + _NAMED * own
    named += _SUBJECT * (bool(named) and PurePath(mutant.path).stem in traced.subjects)
    if is_text or not mutant.local:  # what stands in a table is loaded by all: only its name tells whose it is
        return named + rare if named else 0.0
    return named + _RARE * rare if named or rare > 0.9 else 0.0


def _named(mutant: Mutant, words: Mapping[Word, float], crowd: Crowd) -> float:
    value = mutant.value
    if value is None:
        return max((_said(text, words, crowd) for text in mutant.says), default=0.0)
    if isinstance(value, bool):
        return 0.0
    if isinstance(value, str) and value not in words and (len(value.split()) > 2 or (mutant.told and " " in value)):
        return 0.0  # a sentence, of which tests look for a part only
    if value in words:
        option = isinstance(value, str) and value.startswith(_OPTION) and mutant.path.endswith(".py")
        return _SAME * words[value] * crowd.rarity_of_word(value) * (_IN_A_SENTENCE if option else 1)
    if not isinstance(value, str) or len(value) < _LONG:
        return 0.0
    parts = [
        word
        for word in words
        if isinstance(word, str) and (word in value or value in word) and _overlap(word, value) >= _MOST_OF_IT
    ]
    return max(
        (_PART * words[word] * crowd.rarity_of_word(word) * _overlap(word, value) for word in parts), default=0.0
    )


def _said(text: str, words: Mapping[Word, float], crowd: Crowd) -> float:
    """How likely a test looks for the text: it names a part of it, of several words."""
    parts = (word for word in words if isinstance(word, str) and len(word.split()) > 2 and word in text)
    return max((_SAME * words[word] * crowd.rarity_of_word(word) for word in parts), default=0.0)


def _overlap(one: str, other: str) -> float:
    short, long = sorted((len(one), len(other)))
    return 0.5 + short / long / 2


def ranked(candidates: Iterable[Mutant], traced: Traced, crowd: Crowd) -> list[tuple[float, Mutant]]:
    """The mutants that are located, best first; where two are alike, the one whose value stands in fewer places."""
    scored = [(score(mutant, traced, crowd), mutant) for mutant in candidates]
    places = Counter(mutant.value for points, mutant in scored if points)
    good = [(points, mutant) for points, mutant in scored if points >= LOCATED]
    return sorted(good, key=lambda each: (-each[0], places[each[1].value], each[1].path, each[1].start))
