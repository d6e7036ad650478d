# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A YAML document as values with their positions in the file.

Ansible's own loader tells the place of a value only to Ansible; here every mistake of a file is to be reported with
line and column, and the text as written is needed to explain what YAML made of it (``10:22`` is the number 622).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from ..foreign.files import ForeignError
from ..foreign.values import check_node
from .problems import Position, Problem, position_of, quote

_MERGE = "tag:yaml.org,2002:merge"
_CORE = "tag:yaml.org,2002:"
_PLAIN_TAGS = frozenset(_CORE + name for name in ("str", "int", "float", "bool", "null", "timestamp", "value"))
# What stands for 2024-13-77: no text, so that it is told to be put in quotes like any other date.
NO_DATE = object()
_OWN_TAGS = {"!vault": "vault", "!vault-encrypted": "vault", "!unsafe": "unsafe"}


@dataclass(frozen=True)
class Scalar:
    """One value. `text` is the text in the file (quotes and escapes resolved), `value` the parsed value."""

    at: Position
    value: Any
    text: str
    tag: str = ""
    source: str = ""


@dataclass(frozen=True)
class Member:
    key: str
    at: Position
    value: Value

    @property
    def at_value(self) -> Position:
        """The position of the value, or of the key if the value is empty."""
        return self.at if is_null(self.value) else self.value.at


@dataclass(frozen=True)
class Mapping:
    at: Position
    members: tuple[Member, ...]

    def member(self, key: str) -> Member | None:
        return next((member for member in self.members if member.key == key), None)

    def get(self, *keys: str) -> Value | None:
        """The value at a path of keys, or None."""
        value: Value = self
        for key in keys:
            member = value.member(key) if isinstance(value, Mapping) else None
            if member is None:
                return None
            value = member.value
        return value

    def text(self, *keys: str) -> str:
        """The text at a path of keys, or an empty one."""
        value = self.get(*keys)
        return value.value if isinstance(value, Scalar) and isinstance(value.value, str) else ""


@dataclass(frozen=True)
class Sequence:
    at: Position
    items: tuple[Value, ...]


Value = Scalar | Mapping | Sequence


def is_null(value: Value | None) -> bool:
    return value is None or (isinstance(value, Scalar) and value.value is None)


def plain(value: Value, leaf: Callable[[Scalar], Any] = lambda scalar: scalar.value) -> Any:
    """Convert to dicts, lists and scalars; `leaf` converts scalars (the plugin marks templates and vaulted values)."""
    if isinstance(value, Mapping):
        return {member.key: plain(member.value, leaf) for member in value.members}
    if isinstance(value, Sequence):
        return [plain(item, leaf) for item in value.items]
    return leaf(value)


@dataclass
class _Builder:
    problems: list[Problem] = field(default_factory=list)

    def report(self, at: Position, found: str, wanted: str) -> None:
        self.problems.append(Problem(at, f"found {found}, wanted {wanted}."))

    def build(self, node: yaml.Node) -> Value:
        at = position_of(node.start_mark)
        if isinstance(node, yaml.ScalarNode):
            return self.scalar(node, at)
        if node.tag not in (_CORE + "seq", _CORE + "map"):
            self.unknown_tag(at)
        if isinstance(node, yaml.MappingNode) and any(isinstance(pair[0], yaml.MappingNode) for pair in node.value):
            found = "a template without quotes, which YAML takes for a mapping"
            self.report(at, found, 'quotes around it: "{{ name }}"')
            return Scalar(at, "{{ }}", "{{ }}")
        if isinstance(node, yaml.MappingNode):
            return Mapping(at, self.members(node))
        return Sequence(at, tuple(self.build(item) for item in node.value))

    def members(self, node: yaml.MappingNode) -> tuple[Member, ...]:
        own: dict[str, Member] = {}
        merged: dict[str, Member] = {}
        for key_node, value_node in node.value:
            at = position_of(key_node.start_mark)
            if key_node.tag == _MERGE:
                for member in self.merge(value_node, at):
                    merged.setdefault(member.key, member)
            elif not isinstance(key_node, yaml.ScalarNode):
                self.report(at, "a key that is a list or a mapping", "a word")
            elif key_node.value in own:
                first = own[key_node.value].at.line
                found = f"the key {quote(key_node.value)} a second time (first on line {first})"
                self.report(at, found, "it once; remove one of the two")
            else:
                own[key_node.value] = Member(key_node.value, at, self.build(value_node))
        return (*own.values(), *(member for key, member in merged.items() if key not in own))

    def merge(self, node: yaml.Node, at: Position) -> Iterator[Member]:
        for source in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            value = self.build(source)
            if isinstance(value, Mapping):
                yield from value.members
            else:
                self.report(at, "<< with a value that is not a mapping", "'<<: *name' with the name of a mapping")

    def scalar(self, node: yaml.ScalarNode, at: Position) -> Scalar:
        start, end = node.start_mark, node.end_mark
        source = start.buffer[start.pointer : end.pointer] if start.buffer is not None else ""
        if node.tag in _OWN_TAGS:
            return Scalar(at, node.value, node.value, _OWN_TAGS[node.tag], source)
        if node.tag not in _PLAIN_TAGS:
            self.unknown_tag(at)
            return Scalar(at, node.value, node.value, "", source)
        try:
            value = yaml.constructor.SafeConstructor().construct_object(node)
        except (ValueError, yaml.YAMLError):
            value = NO_DATE  # the only form that YAML recognises and cannot make: a day that does not exist
        return Scalar(at, value, node.value, "", source)

    def unknown_tag(self, at: Position) -> None:
        # The tag itself is not shown: it may be a password that begins with an exclamation mark.
        found = "a ! at the beginning, which YAML takes for a tag that is not known here"
        self.report(at, found, "no tag, or !vault or !unsafe; if the text itself begins with ! put it in quotes")


def build(node: yaml.Node) -> tuple[Value, list[Problem]]:
    """Build the values of a parsed document; duplicate keys, endless aliases and unknown tags are problems."""
    try:
        check_node(node)
    except ForeignError as error:
        at = Position(error.line, error.column)
        return Scalar(at, None, ""), [Problem(at, f"found values that are not read: {error}", "syntax")]
    builder = _Builder()
    return builder.build(node), builder.problems
