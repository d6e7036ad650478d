# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
r"""Change values in a JSON text and keep the rest: order, blanks, tabs, line ends.

edit('{"a": 1,\r\n\t"b": 2}', {"a": 1, "b": 3})      # '{"a": 1,\r\n\t"b": 3}'
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


@dataclass(slots=True)
class _Node:
    """A value and its place in the text. An object's `members` are (key, where the key begins, value); a list's
    `items` are nodes."""

    start: int
    end: int
    value: Any
    members: list[tuple[str, int, _Node]] = field(default_factory=list)
    items: list[_Node] = field(default_factory=list)


def edit(text: str, wanted: Any) -> str:
    """The text with the values of `wanted`. ValueError if the text is not JSON."""
    end = "\r\n" if "\r\n" in text else "\n"
    root = _parse(text, _skip(text, 0))
    changes: list[tuple[int, int, str]] = []
    _change(text, root, wanted, changes, _Style(_unit(text), end))
    for start, stop, new in sorted(changes, reverse=True):
        text = text[:start] + new + text[stop:]
    if json.loads(text) != wanted:  # two changes met at one place, so write the whole text
        return json.dumps(wanted, indent=_unit(text) or None, ensure_ascii=False).replace("\n", end)
    return text


@dataclass(frozen=True, slots=True)
class _Style:
    unit: str
    end: str

    def write(self, value: Any, indent: str, *, lines: bool) -> str:
        """The value as JSON: on lines that begin with `indent`, or on one line."""
        if not lines or not self.unit:
            return json.dumps(value, ensure_ascii=False)
        return json.dumps(value, indent=self.unit, ensure_ascii=False).replace("\n", self.end + indent)


def _unit(text: str) -> str:
    """The indent of one level; empty for a text on one line."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else ""


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _parse(text: str, at: int) -> _Node:
    value, end = _DECODER.raw_decode(text, at)
    node = _Node(at, end, value)
    if isinstance(value, dict | list):
        at = _skip(text, at + 1)
        while text[at] not in "}]":
            key_at, key = at, ""
            if isinstance(value, dict):
                key, at = _DECODER.raw_decode(text, at)
                at = _skip(text, _skip(text, at) + 1)
            child = _parse(text, at)
            if isinstance(value, dict):
                node.members.append((key, key_at, child))
            else:
                node.items.append(child)
            at = _skip(text, child.end)
            if text[at] == ",":
                at = _skip(text, at + 1)
    return node


def _change(text: str, node: _Node, wanted: Any, changes: list[tuple[int, int, str]], style: _Style) -> None:
    if node.value == wanted and type(node.value) is type(wanted):
        return
    if isinstance(node.value, dict) and isinstance(wanted, Mapping) and node.members:
        _change_object(text, node, wanted, changes, style)
    elif isinstance(node.value, list) and isinstance(wanted, list) and node.items and len(wanted) >= len(node.items):
        for child, value in zip(node.items, wanted, strict=False):
            _change(text, child, value, changes, style)
        starts = [each.start for each in node.items]
        for value in wanted[len(node.items) :]:
            _append(text, node, starts, "", value, changes, style)
    else:
        lines = "\n" in text[node.start : node.end] or isinstance(wanted, dict | list)
        changes.append((node.start, node.end, style.write(wanted, _indent(text, node.start), lines=lines)))


def _change_object(
    text: str, node: _Node, wanted: Mapping[str, Any], changes: list[tuple[int, int, str]], style: _Style
) -> None:
    kept = [member for member in node.members if member[0] in wanted]
    fresh = [key for key in wanted if key not in node.value]
    gone = [member for member in node.members if member[0] not in wanted]
    if len(gone) == len(fresh) and gone:  # one key replaces one key: write it in the same place
        for (_key, key_at, child), key in zip(gone, fresh, strict=True):
            lines = "\n" in text[child.start : child.end] or "\n" in text[node.start : node.end]
            value = style.write(wanted[key], _indent(text, key_at), lines=lines)
            changes.append((key_at, child.end, f"{json.dumps(key, ensure_ascii=False)}: {value}"))
    elif not kept:
        changes.append((node.start, node.end, style.write(dict(wanted), _indent(text, node.start), lines=True)))
        return
    else:
        for member in gone:
            changes.append(_remove_member(text, node, member))
        for key in fresh:
            starts = [key_at for _key, key_at, _child in node.members]
            _append(text, node, starts, f"{json.dumps(key, ensure_ascii=False)}: ", wanted[key], changes, style)
    for key, _key_at, child in kept:
        _change(text, child, wanted[key], changes, style)


def _remove_member(text: str, node: _Node, member: tuple[str, int, _Node]) -> tuple[int, int, str]:
    """The change that removes a member, with the comma before it, or after it for the first member."""
    number = node.members.index(member)
    if number == 0:
        following = node.members[1][1] if len(node.members) > 1 else member[2].end
        return member[1], following, ""
    return node.members[number - 1][2].end, member[2].end, ""


def _append(
    text: str,
    node: _Node,
    starts: list[int],
    head: str,
    value: Any,
    changes: list[tuple[int, int, str]],
    style: _Style,
) -> None:
    """Add members behind the last one, with the blanks that the first has before it."""
    last = node.members[-1][2].end if node.members else node.items[-1].end
    before = text[node.start + 1 : starts[0]]
    apart = "\n" in before
    gap = before if apart else " "
    indent = before.rpartition("\n")[2] if apart else ""
    neighbour = text[starts[-1] : last]
    lines = apart and not (neighbour.endswith(("}", "]")) and "\n" not in neighbour)
    changes.append((last, last, f",{gap}{head}{style.write(value, indent, lines=lines)}"))


def _indent(text: str, at: int) -> str:
    """The blanks at the start of the line of `at`."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]
