# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shapes of what programs of a Windows node print when something is wrong, and the finding that it leads to.

The tables of messages consist of both. A `Rule` is about a reason that any program may give, such as a code of Windows
or an untrusted certificate: its meaning depends on what was being done. A `Message` is about words that only one
program prints. Its pattern is the program's own format string with open places, so it matches other names, numbers and
releases than the thread in which it was seen. Neither may match a line of a healthy node: tests/judge checks all of
them against the logs of such nodes.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from . import windows_codes

Reasons = tuple[int | str, ...]
"""Codes of Windows, in whatever form and language, and patterns of the words that libraries give."""

ANY = ("any",)
"""Of a sentence that has one cause whatever it wraps: `source` names the function that prints it for nothing else."""


@dataclass(frozen=True, slots=True)
class Message:
    """A pattern (without regard to case) of a line, and the id of the finding that it leads to. `source` is the file
    that prints the line, or a public thread in which it stands. `early`: a healthy node prints it too, while it starts;
    it says something only where it goes on, or to a person who asks about it. `over`: the findings over which it
    stands; ANY for all reasons behind the sentence (words/precedence.py)."""

    finding: str
    pattern: str
    source: str
    early: bool = False
    over: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """For a person's eyes."""
        return self.pattern

    @property
    def anywhere(self) -> bool:
        """Whether it counts whatever was being done."""
        return True

    def fits(self, operations: Collection[str]) -> bool:
        """Whether it counts where these things were being done."""
        return True


@dataclass(frozen=True, slots=True)
class Rule:
    """`doing`: one of the operations, or groups of them, of message_places that it has to come from, any without one;
    `never` those that it says nothing of. The rest is a Message's."""

    finding: str
    reasons: Reasons
    source: str
    doing: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    early: bool = False
    over: tuple[str, ...] = ()

    @property
    def pattern(self) -> str:
        """Of its reasons."""
        codes = tuple(each for each in self.reasons if isinstance(each, int))
        return "|".join(
            [
                *([windows_codes.pattern(*codes)] if codes else []),
                *(each for each in self.reasons if isinstance(each, str)),
            ]
        )

    @property
    def shown(self) -> str:
        """For a person's eyes."""
        said = "|".join(windows_codes.show(each) if isinstance(each, int) else each for each in self.reasons)
        where = " or ".join(self.doing) or (f"not {', '.join(self.never)}" if self.never else "")
        return f"{said} ({where})" if where else said

    @property
    def anywhere(self) -> bool:
        """Whether it counts whatever was being done."""
        return not self.doing and not self.never

    def fits(self, operations: Collection[str]) -> bool:
        """Whether it counts where these things were being done."""
        done = set(operations)
        return (not self.doing or not done.isdisjoint(self.doing)) and done.isdisjoint(self.never)
