# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shape of what programs of a Windows node print when something is wrong, and the finding that it leads to.

A file of its own: both tables of messages are made of it. A pattern is taken from the program's own format string, with
whatever fills it left open, so that it fits other names, numbers and releases than those of the thread that it was seen
in. It has to fit no line that a healthy node prints: tests/judge holds all of them against the logs of such nodes. HNS
and HCS answer with a code, in whatever language Windows speaks: those are patterns over windows_codes.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Message:
    """A pattern (without regard to case) of a line, and the id of the finding that it leads to. `source` is the file
    that prints the line, or a public thread in which it stands. `early`: a healthy node prints it too, while it starts;
    it says something only where it goes on, or to a person who asks about it."""

    finding: str
    pattern: str
    source: str
    early: bool = False
