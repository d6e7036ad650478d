# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Instructions as files to be sent: each part is one gzip member of whole instructions, so that none needs another."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

from .instructions import Instruction, encoded

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
