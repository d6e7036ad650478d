# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Other people's texts as they may be printed: no character that moves a terminal's cursor, colours or rewrites what
stands there, or turns the direction of writing, and no text without an end."""

from __future__ import annotations

import re
from typing import Any

LONGEST_TEXT = 1024 * 1024
"""Characters of one text in a task's result, such as a file in a diff or a page."""
LONGEST_SENTENCE = 8 * 1024
"""Characters of one warning or error."""
DEEPEST = 100

_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but tab and line break, DEL, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # the direction of writing
    "\u2028\u2029"  # separators of lines and paragraphs
    "\ud800-\udfff\ufeff]"  # halves of a pair, which no file can hold; a byte-order mark
)
_CARRIAGE_RETURN = re.compile(r"\r+\n")


def escape(text: str) -> str:
    r"""The text with control characters as `\x1b` or `\u2028`; line breaks and tabs stay, Windows' line ends become
    plain ones."""
    return _CONTROL.sub(_name, _CARRIAGE_RETURN.sub("\n", text)) if not text.isprintable() else text


def _name(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def shorten(text: str, most: int) -> str:
    """At most `most` characters of the text, and then how many were left out."""
    return text if len(text) <= most else f"{text[:most]}... ({len(text) - most:,} more characters)"


def make_sentence(text: object, most: int = LONGEST_SENTENCE) -> str:
    """A text for a warning or an error."""
    return escape(shorten(str(text), most))


def make_printable(value: Any, most: int = LONGEST_TEXT) -> Any:
    """A result's value with all of its texts fit to be printed; equal to `value` where they already are."""
    return _walk(value, most, DEEPEST)


def _walk(value: Any, most: int, depth: int) -> Any:
    if isinstance(value, str):
        text = escape(shorten(value, most))
        return value if text == value else text  # a tagged or other kind of text stays itself where nothing changes
    if isinstance(value, dict) and depth:
        return {_walk(key, most, 0): _walk(each, most, depth - 1) for key, each in value.items()}
    if isinstance(value, list | tuple) and depth:
        return [_walk(each, most, depth - 1) for each in value]
    return value if depth or not isinstance(value, dict | list | tuple) else "(nested too deeply to be shown)"
