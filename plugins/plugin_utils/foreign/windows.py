# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
r"""Patterns over texts of any length, in time that grows only with the text.

A pattern of a regular expression may take the square of a text's length, or more. Here none sees more than WINDOW
characters at once, so that the whole takes at most so many times what one window takes.

    HOST = Pattern(r"(\S+)\.example", re.IGNORECASE)
    for found in HOST.finditer(text): print(found[1])
    for piece in cut_line(line): print(piece)           # the texts of a line of JSON, else its windows
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

WINDOW = 4000
"""Characters that a pattern sees."""
MARGIN = 400
"""So far a match may reach out of its window, and its surroundings are seen."""
_STEP = WINDOW - 2 * MARGIN
_STRING = re.compile(r'"((?:[^"\\]|\\.)*+)"?(\s*:)?', re.DOTALL)
"""One that is not closed is a string, too, so that no text is looked at again from each of its quotes."""


class Pattern:
    """A regular expression that sees a window at a time. A match that is longer than MARGIN may be cut, or missed."""

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.pattern, self.flags = pattern, flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern, self.flags)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """All matches; those of a long text have places within their windows."""
        if len(text) <= WINDOW:
            yield from self._compiled.finditer(text)
            return
        last = 0
        for start, window in list_windows(text):
            for found in self._compiled.finditer(window):
                at = found.start()
                # At the ends of a window it is not known what stands beside a match.
                if (start and at < MARGIN) or start + at < last:
                    continue
                if at >= WINDOW - MARGIN and start + WINDOW < len(text):
                    break
                last = start + found.end()
                yield found

    def search(self, text: str) -> re.Match[str] | None:
        """The first match."""
        return next(self.finditer(text), None)

    def findall(self, text: str) -> list[str]:
        """The matches, or their only group."""
        return [found[self._compiled.groups and 1] for found in self.finditer(text)]

    def match(self, text: str) -> re.Match[str] | None:
        """The match at the beginning. None in a long text for one that reaches the end of the window."""
        found = self._compiled.match(text[:WINDOW])
        return found if found is None or len(text) <= WINDOW or found.end() < WINDOW else None

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """The match of the whole text; None for a text that is longer than a window."""
        return self._compiled.fullmatch(text) if len(text) <= WINDOW else None


def list_windows(text: str) -> Iterator[tuple[int, str]]:
    """Where each window begins, and what it shows; each shows the end of the one before."""
    start = 0
    while True:
        yield start, text[start : start + WINDOW]
        if start + WINDOW >= len(text):
            return
        start += _STEP


def cut_line(line: str) -> Iterator[str]:
    """A line as it is, if it is not long; the texts of a long line of JSON, each with the name before it; else its
    windows."""
    if len(line) <= WINDOW:
        yield line
        return
    for piece in _list_strings(line) if line.lstrip()[:1] in {"{", "["} else (line,):
        for _start, window in list_windows(piece):
            yield window


def _list_strings(line: str) -> Iterator[str]:
    """The strings of JSON that have words, with the names before them; whether the JSON is right is not asked."""
    name = ""
    for found in _STRING.finditer(line):
        if found[2]:
            name = found[1]
        else:
            yield f"{name}: {found[1]}" if name else found[1]
