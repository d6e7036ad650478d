# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Edits of a YAML or JSON text that keep every other character: comments, order, quotes, blank lines.

A library that loads and dumps would reformat the whole file. Here the node tree tells where a key is, and only those
characters are removed or inserted. The caller loads the result and compares it with the expected value (see fix), so a
text that this file misreads is left alone.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import yaml

from .manifest import Document, child, node_in_file
from .model import Path


class EditError(Exception):
    """The place cannot be edited safely: an alias, a merge key, or an unknown shape."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Remove the mapping entry at `path`."""

    path: Path


@dataclass(frozen=True, slots=True)
class Put:
    """Insert `key: value` as the first entry of the mapping at `path`; with `key` None, as the first item of a list."""

    path: Path
    key: str | None
    value: Any


Edit = Cut | Put


@dataclass(frozen=True, slots=True)
class Splice:
    start: int
    end: int
    text: str


def splices_of(document: Document, text: str, edits: Sequence[Edit]) -> list[Splice]:
    """The changes of `text`, the file that contains the document. Raises EditError without a partial result."""
    cuts = _whole(document, edits)
    by_mapping: defaultdict[Path, set[Any]] = defaultdict(set)
    for path in cuts:
        by_mapping[path[:-1]].add(path[-1])
    splices = [each for parent, keys in by_mapping.items() for each in _cut(document, text, parent, keys)]
    splices += [_put(document, text, edit, by_mapping[edit.path]) for edit in edits if isinstance(edit, Put)]
    splices.sort(key=lambda each: (each.start, each.end))
    for before, after in pairwise(splices):
        if after.start < before.end:
            raise EditError("two edits of it overlap")
    return splices


def apply_splices(text: str, splices: Iterable[Splice]) -> str:
    for each in sorted(splices, key=lambda each: (each.start, each.end), reverse=True):
        text = text[: each.start] + each.text + text[each.end :]
    return text


def apply_to_value(document: Document, value: Any, edits: Sequence[Edit]) -> None:
    """Apply the same edits in place to a copy of the loaded value."""
    for path in _whole(document, edits):
        del _inside(value, path[:-1])[path[-1]]
    for edit in edits:
        if isinstance(edit, Put) and edit.key is None:
            _inside(value, edit.path).insert(0, edit.value)
        elif isinstance(edit, Put):
            _inside(value, edit.path)[edit.key] = edit.value


def _inside(value: Any, path: Path) -> Any:
    for part in path:
        value = value[part]
    return value


def _node(document: Document, path: Path) -> yaml.Node:
    node = node_in_file(document)
    for part in path:
        step = child(node, part)
        if step is None or node is None:
            raise EditError("the place comes from an alias or a merge key")
        # A node behind an alias lies outside of its parent.
        first, last = node.start_mark.index, node.end_mark.index
        node = step[1]
        if not first <= node.start_mark.index <= node.end_mark.index <= last:
            raise EditError("the place is behind an alias")
    if node is None:
        raise EditError("it is one of several JSON values in a row, or came from a cluster")
    return node


def _whole(document: Document, edits: Sequence[Edit]) -> list[Path]:
    """The cuts; a mapping that would lose all entries is removed itself, so that no empty securityContext remains."""
    paths = list(dict.fromkeys(edit.path for edit in edits if isinstance(edit, Cut)))
    while True:
        for parent in dict.fromkeys(path[:-1] for path in paths):
            node = _node(document, parent)
            inside = [path for path in paths if path[:-1] == parent]
            holder = _node(document, parent[:-1])
            if isinstance(holder, yaml.MappingNode) and len(node.value) == len(inside) and len(parent) > 1:
                paths = [path for path in paths if path not in inside] + [parent]
                break
        else:
            return paths


def _cut(document: Document, text: str, path: Path, keys: set[Any]) -> Iterator[Splice]:
    mapping = _node(document, path)
    if not isinstance(mapping, yaml.MappingNode):
        raise EditError("the place is not an entry of a mapping")
    entries = mapping.value
    numbers = [number for number, (key, _value) in enumerate(entries) if key.value in keys]
    if len(numbers) != len(keys):
        raise EditError("a key is there twice, or comes from a merge key")
    for number in numbers:
        _node(document, (*path, entries[number][0].value))
    for first, last in _runs(numbers):
        start = entries[first][0].start_mark.index
        following = entries[last + 1][0].start_mark.index if last + 1 < len(entries) else None
        line = text.rfind("\n", 0, start) + 1
        if mapping.flow_style:
            if following is None and first:
                yield Splice(_end(*entries[first - 1]), _end(*entries[last]), "")
            else:
                yield Splice(start, following or _end(*entries[last]), "")
        elif text[line:start].strip():
            # The first entry of a list item follows the dash: move the next entry up to it.
            if following is None:
                raise EditError("it is all that a list item holds")
            yield Splice(start, following, "")
        else:
            for number in range(first, last + 1):
                begin = text.rfind("\n", 0, entries[number][0].start_mark.index) + 1
                stop = text.find("\n", _end(*entries[number]))
                yield Splice(begin, len(text) if stop < 0 else stop + 1, "")


def _runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Consecutive numbers as (first, last): [1, 2, 5] -> (1, 2), (5, 5)."""
    first = previous = None
    for number in numbers:
        if previous is not None and first is not None and number != previous + 1:
            yield first, previous
            first = number
        first = number if first is None else first
        previous = number
    if first is not None and previous is not None:
        yield first, previous


def _end(key: yaml.Node, value: yaml.Node) -> int:
    """The end of an entry's last character; PyYAML's mark of a block collection lies behind blank lines and
    comments."""
    if isinstance(value, yaml.CollectionNode) and not value.flow_style and value.value:
        last = value.value[-1]
        return _end(*last) if isinstance(last, tuple) else _end(last, last)
    if isinstance(value, yaml.ScalarNode) and value.style in ("|", ">"):
        raise EditError("it holds a block of text")
    end: int = max(value.end_mark.index, key.end_mark.index)
    return end


def _put(document: Document, text: str, edit: Put, cut: set[Any]) -> Splice:
    node = _node(document, edit.path)
    if not isinstance(node, yaml.CollectionNode):
        raise EditError(f"{edit.path[-1]} is there without a value")
    if node.flow_style:
        entry = json.dumps(edit.value) if edit.key is None else f"{json.dumps(edit.key)}: {json.dumps(edit.value)}"
        start = node.start_mark.index + 1
        return Splice(start, start, entry + (", " if len(node.value) > len(cut) else ""))
    if edit.key is None:
        anchor = node.start_mark
        value: Any = [edit.value]
    else:
        # before the first entry that stays
        anchor = next((key.start_mark for key, _value in node.value if key.value not in cut), None)
        value = {edit.key: edit.value}
    if anchor is None:
        raise EditError(f"{edit.path[-1]} would be empty in between")
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = yaml.safe_dump(value, default_flow_style=False, sort_keys=False).splitlines()
    return Splice(anchor.index, anchor.index, "".join(f"{line}{newline}{' ' * anchor.column}" for line in lines))
