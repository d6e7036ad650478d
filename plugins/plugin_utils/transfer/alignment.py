# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which part of the new build lies where in the old one.

Where a few functions of a Go program change, all that follows them moves by some bytes, and nearly every instruction
that names an address changes with it: there is hardly a kilobyte of code in common, but the two files run beside each
other. So short windows are looked for (anchors), and what is between anchors of one shift is taken to lie there too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

WINDOW = 16


def _pattern(first: bytes, second: bytes) -> re.Pattern[bytes]:
    """A byte of `first`, then one of `second`; what follows up to the length of a window is group 1."""
    return re.compile(
        rb"(?s)[" + re.escape(first) + rb"](?=[" + re.escape(second) + rb"](.{%d}))" % (WINDOW - 2),
    )


SPARSE = _pattern(b"\x24\x72\x89", b"\x01\x24\x48\x54\x6e\x84\x89\x8b\xc3")
"""An anchor in some 300 bytes of a Go program, code and texts alike."""
DENSE = _pattern(
    b"\x00\x0f\x24\x44\x48\x65\x72\x83\x89\x8b\xc0\xe8\xff",
    b"\x01\x05\x24\x2e\x39\x4c\x54\x61\x6e\x74\x7c\x84\x8b\x8d\xc3\xc7\xd0",
)
"""One in some 30 bytes, for what lies between two parts that were found: there is not much of it."""
WIDE = 1024
"""A gap of so many bytes is looked at more closely."""


@dataclass(frozen=True, slots=True)
class Segment:
    """`new[start:end]` resembles `old[start + shift:end + shift]`."""

    start: int
    end: int
    shift: int


def segments(old: bytes, new: bytes) -> list[Segment]:
    """The parts of `new` that resemble a part of `old`, in order, without overlap."""
    rough = _found(old, new, SPARSE)
    fine: list[Segment] = []
    at = place = 0
    for segment in [*rough, Segment(len(new), len(new), len(old) - len(new))]:
        gap, room = segment.start - at, segment.start + segment.shift - place
        if gap >= WIDE and 0 < room <= 4 * gap + (1 << 16):
            inner = _found(old[place : place + room], new[at : segment.start], DENSE)
            fine += [Segment(at + one.start, at + one.end, one.shift + place - at) for one in inner]
        if segment.start < segment.end:
            fine.append(segment)
        at, place = segment.end, segment.end + segment.shift
    return fine


def _found(old: bytes, new: bytes, pattern: re.Pattern[bytes]) -> list[Segment]:
    """A segment begins where two anchors in a row have moved by the same, and goes on while anchors are where it has
    them; one that is elsewhere is a chance likeness until the next one says the same."""
    index = {match[1]: match.start() for match in pattern.finditer(old)}
    found: list[Segment] = []
    inside = False
    shift = first = last = guess = 0
    guessed = -1
    for match in pattern.finditer(new):
        at, window = match.start(), match[1]
        if inside and at + shift >= 0 and old[at + shift + 2 : at + shift + WINDOW] == window:
            last, guessed = at, -1
            continue
        place = index.get(window)
        if place is None:
            continue
        if guessed < 0 or place - at != guess:
            guess, guessed = place - at, at
            continue
        if inside:
            found.append(Segment(first, last + WINDOW, shift))
        first = max(guessed, last + WINDOW) if inside else guessed
        inside, shift, last, guessed = True, guess, at, -1
    if inside:
        found.append(Segment(first, last + WINDOW, shift))
    return found
