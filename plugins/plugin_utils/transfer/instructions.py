# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The instructions of which a delta consists, and their bytes (docs/protocol.md, section 5)."""

from __future__ import annotations

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
    """`length` bytes of the base from `offset` on, unchanged."""

    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Add:
    """As many bytes of the base as `difference` has, as a number (the first byte counts least), plus that number;
    what does not fit into so many bytes is dropped."""

    offset: int
    difference: bytes


@dataclass(frozen=True, slots=True)
class Literal:
    """These bytes."""

    data: bytes


Instruction = Copy | Add | Literal


def encoded(instruction: Instruction) -> bytes:
    """13 bytes: kind, offset in the base (8), length (4), little-endian; then the bytes of a literal or an add."""
    if isinstance(instruction, Copy):
        return _HEAD.pack(COPY, instruction.offset, instruction.length)
    if isinstance(instruction, Add):
        return _HEAD.pack(ADD, instruction.offset, len(instruction.difference)) + instruction.difference
    return _HEAD.pack(LITERAL, 0, len(instruction.data)) + instruction.data


def made(instruction: Instruction) -> int:
    """How many bytes of the new file an instruction makes."""
    if isinstance(instruction, Copy):
        return instruction.length
    return len(instruction.difference if isinstance(instruction, Add) else instruction.data)


def difference(new: bytes, old: bytes) -> bytes:
    """The number that added to `old` gives `new`, both of one length, the first byte counting least.

    Where a field of any width at any place has grown by n, this has n there and zeros around it: after a shift the
    addresses in a program differ by few numbers, and gzip makes little of them. Numbers this long are added at the
    speed of C, here and in .NET, which is what lets PowerShell put 100 MB together.
    """
    number = int.from_bytes(new, "little") - int.from_bytes(old, "little")
    if number < 0:
        number += 1 << (8 * len(new))
    return number.to_bytes(len(new), "little")


# Instructions as files to be sent: each part is one gzip member of whole instructions, so that none needs another.

PART = 8 * 1000 * 1000
"""Bytes after which a part ends: a line of progress each."""

LEVEL = 6
"""Of a delta: mostly zeros, so that it costs little."""
WHOLE_LEVEL = 1
"""Of a whole build: 6 makes a tenth less of it and takes three times as long, which a fast link does not give back."""
_GZIP = 31
"""zlib's word for the largest window with the head and tail of gzip."""


def parts(instructions: Iterable[Instruction], limit: int = PART, level: int = LEVEL) -> Iterator[bytes]:
    """The gzipped parts, at least one; a part ends with the instruction that brings it to `limit` bytes."""
    packer, held, size, count = zlib.compressobj(level, zlib.DEFLATED, _GZIP), list[bytes](), 0, 0
    for instruction in instructions:
        if size >= limit:
            yield b"".join([*held, packer.flush()])
            packer, held, size, count = zlib.compressobj(level, zlib.DEFLATED, _GZIP), [], 0, count + 1
        held.append(packer.compress(encoded(instruction)))
        size += len(held[-1])
    if held or count == 0:
        yield b"".join([*held, packer.flush()])
