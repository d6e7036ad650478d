# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The difference of two builds as instructions, and their bytes (docs/protocol.md, section 5); pure.

If a few functions of a Go program change, everything after them moves by some bytes, and so does nearly every
instruction with an address: hardly a kilobyte of code is equal, but the two files run in parallel. So short windows are
searched (anchors), and the bytes between anchors with one shift are assumed to have the same shift.

The resulting segments are cut into blocks. An equal block is copied; a similar one is sent as the number to add.
Between two segments each block is tried at both shifts; if at neither the number is mostly zeros, the block is sent as
it is.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MAX_PIECE = 1024 * 1024
"""Bytes of one `literal` or `add`: what the node holds in memory at a time."""

LITERAL, COPY, ADD = 1, 2, 3
_HEAD = struct.Struct("<Bqi")


@dataclass(frozen=True, slots=True)
class Copy:
    """`length` bytes of the base from `offset`, unchanged."""

    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Add:
    """As many bytes of the base as `difference` has, read as a little-endian number, plus that number; overflow is
    dropped."""

    offset: int
    difference: bytes


@dataclass(frozen=True, slots=True)
class Literal:
    """These bytes."""

    data: bytes


Instruction = Copy | Add | Literal


def encode(instruction: Instruction) -> bytes:
    """13 bytes: kind, offset in the base (8), length (4), little-endian; then the bytes of a literal or an add."""
    if isinstance(instruction, Copy):
        return _HEAD.pack(COPY, instruction.offset, instruction.length)
    if isinstance(instruction, Add):
        return _HEAD.pack(ADD, instruction.offset, len(instruction.difference)) + instruction.difference
    return _HEAD.pack(LITERAL, 0, len(instruction.data)) + instruction.data


def output_length(instruction: Instruction) -> int:
    """The number of bytes in the new file that the instruction makes."""
    if isinstance(instruction, Copy):
        return instruction.length
    return len(instruction.difference if isinstance(instruction, Add) else instruction.data)


def difference(new: bytes, old: bytes) -> bytes:
    """The little-endian number that added to `old` gives `new`, which has the same length.

    Where a field of any width at any place has grown by n, it has n there and zeros around it: after a shift a
    program's addresses differ by few distinct numbers, which gzip compresses well. C adds such long numbers fast, here
    and in .NET, so that PowerShell can assemble 100 MB.
    """
    number = int.from_bytes(new, "little") - int.from_bytes(old, "little")
    if number < 0:
        number += 1 << (8 * len(new))
    return number.to_bytes(len(new), "little")


# Instructions as files for the transfer: each part is one gzip member of whole instructions, independent of the others.

PART = 8 * 1000 * 1000
"""Bytes after which a part ends; each part prints a line of progress."""

LEVEL = 6
"""The compression level of a delta: it is mostly zeros, so compression is cheap."""
WHOLE_LEVEL = 1
"""The level for a whole build: 6 makes it a tenth smaller and takes three times as long, which a fast link does not
repay."""
_GZIP = 31
"""zlib's wbits for the largest window with gzip's header and trailer."""


def parts(instructions: Iterable[Instruction], limit: int = PART, level: int = LEVEL) -> Iterator[bytes]:
    """The gzipped parts, at least one; a part ends with the instruction that brings it to `limit` bytes."""
    packer, held, size, count = zlib.compressobj(level, zlib.DEFLATED, _GZIP), list[bytes](), 0, 0
    for instruction in instructions:
        if size >= limit:
            yield b"".join([*held, packer.flush()])
            packer, held, size, count = zlib.compressobj(level, zlib.DEFLATED, _GZIP), [], 0, count + 1
        held.append(packer.compress(encode(instruction)))
        size += len(held[-1])
    if held or count == 0:
        yield b"".join([*held, packer.flush()])


WINDOW = 16


def _pattern(first: bytes, second: bytes) -> re.Pattern[bytes]:
    """A byte of `first`, then one of `second`; group 1 is what follows, up to the length of a window."""
    return re.compile(
        rb"(?s)[" + re.escape(first) + rb"](?=[" + re.escape(second) + rb"](.{%d}))" % (WINDOW - 2),
    )


SPARSE = _pattern(b"\x24\x72\x89", b"\x01\x24\x48\x54\x6e\x84\x89\x8b\xc3")
"""About one anchor in 300 bytes of a Go program, code and texts alike."""
DENSE = _pattern(
    b"\x00\x0f\x24\x44\x48\x65\x72\x83\x89\x8b\xc0\xe8\xff",
    b"\x01\x05\x24\x2e\x39\x4c\x54\x61\x6e\x74\x7c\x84\x8b\x8d\xc3\xc7\xd0",
)
"""About one anchor in 30 bytes, for the bytes between two segments, which are few."""
WIDE = 1024
"""A gap of at least this number of bytes is searched again, with denser anchors."""


@dataclass(frozen=True, slots=True)
class Segment:
    """`new[start:end]` resembles `old[start + shift:end + shift]`."""

    start: int
    end: int
    shift: int


def segments(old: bytes, new: bytes) -> list[Segment]:
    """The parts of `new` that resemble a part of `old`, in order, without overlap."""
    rough = _find_segments(old, new, SPARSE)
    fine: list[Segment] = []
    at = place = 0
    for segment in [*rough, Segment(len(new), len(new), len(old) - len(new))]:
        gap, room = segment.start - at, segment.start + segment.shift - place
        if gap >= WIDE and 0 < room <= 4 * gap + (1 << 16):
            inner = _find_segments(old[place : place + room], new[at : segment.start], DENSE)
            fine += [Segment(at + one.start, at + one.end, one.shift + place - at) for one in inner]
        if segment.start < segment.end:
            fine.append(segment)
        at, place = segment.end, segment.end + segment.shift
    return fine


def _find_segments(old: bytes, new: bytes, pattern: re.Pattern[bytes]) -> list[Segment]:
    """A segment begins where two successive anchors have the same shift, and continues while anchors have it; a
    single different anchor is a coincidence until the next one confirms it."""
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


BLOCK = 4096
SMALL_GAP = 32
"""Gaps of fewer bytes are not searched."""


def delta(old: bytes, new: bytes) -> Iterator[Instruction]:
    """The instructions that make `new` from `old`."""
    for start, end, shift in _merge(_cover(old, new)):
        if shift is None:
            yield from _literal(new, start, end)
        else:
            yield from _encode_segment(old, new, Segment(start, end, shift))


def whole(new: bytes) -> Iterator[Instruction]:
    """The instructions that make `new` from nothing."""
    return _literal(new, 0, len(new))


_Stretch = tuple[int, int, int | None]
"""(start, end, shift) in the new file; no shift: it resembles nothing in the old one."""


def _cover(old: bytes, new: bytes) -> Iterator[_Stretch]:
    """All of `new`, in order."""
    before = 0
    at = 0
    for segment in segments(old, new):
        yield from _gap(old, new, at, segment.start, (before, segment.shift))
        yield segment.start, segment.end, segment.shift
        at, before = segment.end, segment.shift
    yield from _gap(old, new, at, len(new), (before, len(old) - len(new)))


def _gap(old: bytes, new: bytes, start: int, end: int, shifts: tuple[int, ...]) -> Iterator[_Stretch]:
    """The bytes between two segments, at the shift that leaves most zeros for gzip."""
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


def _merge(stretches: Iterator[_Stretch]) -> Iterator[_Stretch]:
    """Merge neighbours of the same shift."""
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


def _encode_segment(old: bytes, new: bytes, segment: Segment) -> Iterator[Instruction]:
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
