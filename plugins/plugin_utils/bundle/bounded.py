# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts in bounds: the beginning and the end of what is too long, cut at lines; pure."""

from __future__ import annotations

import codecs
import re

HEAD = 64 * 1024
TAIL = 320 * 1024
LIMIT = HEAD + TAIL
"""Bytes of one file: with base64 and what is around it they fit into one answer of a node (1 MB)."""

_CUT_BY_NODE = re.compile(r"[^\n]*\n(\.\.\. \d+ bytes left out \.\.\.)\r?\n[^\n]*")


def decoded(data: bytes) -> str:
    """The text, whatever wrote it: Windows' own tools and PowerShell's > write UTF-16, Go UTF-8."""
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, errors="replace")
    if data[:400].count(0) > len(data[:400]) // 4:
        even = data[: len(data) // 2 * 2]
        return even.decode("utf-16-le", errors="replace")
    return data.decode("utf-8", errors="replace")


def joined(head: bytes, tail: bytes, size: int) -> str:
    """Beginning and end of a file of `size` bytes around a line that says what is missing. The lines that were cut
    through are left out: what is left of them might hide a secret from who looks for it."""
    wide = len(head) > 1 and head[:400].count(0) > len(head[:400]) // 4
    first = decoded(head)
    last = tail.decode("utf-16-le", errors="replace") if wide else tail.decode("utf-8", errors="replace")
    first = first[: first.rfind("\n") + 1]
    last = last[last.find("\n") + 1 :] if "\n" in last else ""
    return f"{first}... {size - len(head) - len(tail)} bytes left out ...\n{last}"


def whole_lines(text: str) -> str:
    """What a node has cut out of a program's output, without the lines that were cut through."""
    return _CUT_BY_NODE.sub(r"\1", text)
