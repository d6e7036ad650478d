# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said to the person whose Node YAML is wrong: one problem, one sentence, one place."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import yaml

HIDDEN = "a value that is not shown"
_SHOWN = 80


@dataclass(frozen=True, order=True)
class Position:
    """A place in a file; line and column count from 1."""

    line: int
    column: int


@dataclass(frozen=True, order=True)
class Problem:
    """A mistake, with which the file cannot be used; or, by its `level`, something that works but should be known.

    `subject` is the key it is about (``spec.credentials.hostname``); two problems of one subject at one place are one.
    """

    at: Position
    text: str
    subject: str = ""
    level: Literal["error", "warning", "deprecated"] = "error"

    def located(self, file: str) -> str:
        """``file:line:column: sentence``, the form that editors and terminals turn into a link."""
        return f"{file}:{self.at.line}:{self.at.column}: {self.text}"


def position_of(mark: yaml.Mark) -> Position:
    """Where PyYAML's mark points to."""
    return Position(mark.line + 1, mark.column + 1)


def tidy(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """In the order of the file; the first problem of a subject at a place wins."""
    seen: dict[tuple[Position, str], Problem] = {}
    for problem in problems:
        seen.setdefault((problem.at, problem.subject or problem.text), problem)
    return tuple(sorted(seen.values()))


def quote(text: str) -> str:
    """A value as it can stand in a sentence: in quotes, on one line, control characters visible, not too long."""
    visible = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
    if len(visible) > _SHOWN:
        visible = visible[: _SHOWN - 3] + "..."
    return f"'{visible}'"


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant, or None. Case does not count: sourceUrl is sourceURL."""
    by_lower: dict[str, str] = {}
    for name in known:
        by_lower.setdefault(name.lower(), name)
    close = difflib.get_close_matches(word.lower(), list(by_lower), n=1, cutoff=0.6)
    return by_lower[close[0]] if close else None


def one_of(words: Iterable[str]) -> str:
    """``a, b or c``."""
    items = list(words)
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} or {items[-1]}"
