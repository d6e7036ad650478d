# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Problems in a Node YAML: one sentence and one place each."""

from __future__ import annotations

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
    """A mistake, which makes the file unusable, or a warning, a deprecation or a hint (shown by -v), by its `level`.

    `subject` is the key (``spec.credentials.hostname``). Of two problems with one subject and place, the first is kept.
    """

    at: Position
    text: str
    subject: str = ""
    level: Literal["error", "warning", "deprecated", "hint"] = "error"

    def locate(self, file: str) -> str:
        """``file:line:column: sentence``, which editors and terminals turn into a link."""
        return f"{file}:{self.at.line}:{self.at.column}: {self.text}"


def position_of(mark: yaml.Mark) -> Position:
    """The position of a PyYAML mark."""
    return Position(mark.line + 1, mark.column + 1)


def tidy(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Sort by position; keep the first problem for each subject and place."""
    seen: dict[tuple[Position, str], Problem] = {}
    for problem in problems:
        seen.setdefault((problem.at, problem.subject or problem.text), problem)
    return tuple(sorted(seen.values()))


def quote(text: str) -> str:
    """Quote a value for a sentence: one line, visible control characters, at most 80 characters."""
    visible = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
    if len(visible) > _SHOWN:
        visible = visible[: _SHOWN - 3] + "..."
    return f"'{visible}'"


def one_of(words: Iterable[str]) -> str:
    """``a, b or c``."""
    items = list(words)
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} or {items[-1]}"
