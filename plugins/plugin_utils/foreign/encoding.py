# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bytes to text: by the byte order mark, else by where the zeros stand, else UTF-8.

Windows' own tools and PowerShell's > write UTF-16, with a mark or, through a pipe, without one; Go writes UTF-8.
"""

from __future__ import annotations

import codecs

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""UTF-32's mark begins as UTF-16's does."""
_MARK = "\ufeff"
_LOOKED_AT = 400
_MOST_ZEROS = 0.5
"""Of every second byte: more of them are zero in a text of Latin letters as UTF-16, and none in a text as UTF-8."""


def encoding_of(data: bytes) -> str:
    """The name of Python's codec; a mark is a character of the text to it."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding
    high, low = data[1:_LOOKED_AT:2], data[:_LOOKED_AT:2]
    if high.count(0) > _MOST_ZEROS * len(high) and low.count(0) < len(low) / 4:
        return "utf-16-le"
    if low.count(0) > _MOST_ZEROS * len(low) and high.count(0) < len(high) / 4:
        return "utf-16-be"
    return "utf-8"


def decode(data: bytes) -> str:
    """The text without a mark. UnicodeDecodeError, whose `encoding` and `start` say what and where, if it is none."""
    return data.decode(encoding_of(data)).removeprefix(_MARK)


def decode_anyhow(data: bytes, encoding: str = "") -> str:
    """The text, with U+FFFD in place of what is none; half a character at the end is left out. `encoding` is that of
    the whole file, for a part of it."""
    known = encoding or encoding_of(data)
    wide = int(known[4:6]) // 8 if known != "utf-8" else 1
    return data[: len(data) // wide * wide].decode(known, errors="replace").removeprefix(_MARK)


def encode(text: str, like: bytes) -> bytes:
    """The text in the encoding of a file that is there, with its mark."""
    mark = next((mark for mark, _encoding in _MARKS if like.startswith(mark)), b"")
    return mark + text.encode(encoding_of(like))
