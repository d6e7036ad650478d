# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The difference of two builds as instructions; pure.

The segments that `alignment` finds are cut into blocks. A block that is equal is copied; one that resembles travels as
the number to be added. Between two segments each block is tried at the shifts of both; if at neither the number has
more zeros than not, the block travels as it is.
"""

from __future__ import annotations

from collections.abc import Iterator

from .alignment import Segment, segments
from .instructions import MAX_PIECE, Add, Copy, Instruction, Literal, difference

BLOCK = 4096
SMALL_GAP = 32
"""Below this many bytes it is not worth while to try anything."""


def delta(old: bytes, new: bytes) -> Iterator[Instruction]:
    """What makes `new` out of `old`."""
    for start, end, shift in _merged(_covered(old, new)):
        if shift is None:
            yield from _literal(new, start, end)
        else:
            yield from _resembling(old, new, Segment(start, end, shift))


def whole(new: bytes) -> Iterator[Instruction]:
    """`new` out of nothing."""
    return _literal(new, 0, len(new))


_Stretch = tuple[int, int, int | None]
"""(start, end, shift) of the new file; without a shift it is like nothing in the old one."""


def _covered(old: bytes, new: bytes) -> Iterator[_Stretch]:
    """All of `new`, in order."""
    before = 0
    at = 0
    for segment in segments(old, new):
        yield from _gap(old, new, at, segment.start, (before, segment.shift))
        yield segment.start, segment.end, segment.shift
        at, before = segment.end, segment.shift
    yield from _gap(old, new, at, len(new), (before, len(old) - len(new)))


def _gap(old: bytes, new: bytes, start: int, end: int, shifts: tuple[int, ...]) -> Iterator[_Stretch]:
    """The bytes between two segments, at whatever leaves most zeros for gzip."""
    if end - start < SMALL_GAP:
        if end > start:
            yield start, end, _fitting(old, start, end, shifts)
        return
    for at in range(start, end, BLOCK):
        to = min(end, at + BLOCK)
        block = new[at:to]
        best: int | None = None
        equal = (to - at) // 2
        for shift in dict.fromkeys(shifts):
            if at + shift >= 0 and to + shift <= len(old):
                there = difference(block, old[at + shift : to + shift]).count(0)
                if there > equal:
                    best, equal = shift, there
        yield at, to, best


def _fitting(old: bytes, start: int, end: int, shifts: tuple[int, ...]) -> int | None:
    return next((s for s in shifts if start + s >= 0 and end + s <= len(old)), None)


def _merged(stretches: Iterator[_Stretch]) -> Iterator[_Stretch]:
    """Neighbours of the same shift as one."""
    held: _Stretch | None = None
    for stretch in stretches:
        if held is not None and held[2] == stretch[2]:
            held = (held[0], stretch[1], held[2])
            continue
        if held is not None:
            yield held
        held = stretch
    if held is not None:
        yield held


def _resembling(old: bytes, new: bytes, segment: Segment) -> Iterator[Instruction]:
    """A segment as copies of its equal blocks and additions to the others."""
    start, equal = segment.start, True
    for at in range(segment.start, segment.end, BLOCK):
        to = min(segment.end, at + BLOCK)
        same = new[at:to] == old[at + segment.shift : to + segment.shift]
        if same is not equal or (not same and to - start > MAX_PIECE):
            yield from _piece(old, new, start, at, segment.shift, equal)
            start, equal = at, same
    yield from _piece(old, new, start, segment.end, segment.shift, equal)


def _piece(old: bytes, new: bytes, start: int, end: int, shift: int, equal: bool) -> Iterator[Instruction]:
    if start == end:
        return
    if not equal:
        yield Add(start + shift, difference(new[start:end], old[start + shift : end + shift]))
        return
    for at in range(start, end, 1 << 30):
        yield Copy(at + shift, min(end - at, 1 << 30))


def _literal(new: bytes, start: int, end: int) -> Iterator[Instruction]:
    for at in range(start, end, MAX_PIECE):
        yield Literal(new[at : min(end, at + MAX_PIECE)])
