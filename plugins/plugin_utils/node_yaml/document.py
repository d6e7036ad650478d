# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Node YAML file as nodes, or as everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from . import annotation_keys, header, schema, syntax
from .problems import Notice, Position, Problem, shown, tidy
from .tree import Mapping, Scalar, Sequence, Value, build, is_string

_WANTED = "wanted a Node YAML: apiVersion, kind, metadata, spec."


@dataclass(frozen=True)
class Node:
    """One document. `at`: where it begins; `tree`: `provisioners` for its former name, annotations folded in."""

    at: Position
    tree: Mapping

    def get(self, *keys: str) -> Value | None:
        return self.tree.get(*keys)

    def text(self, *keys: str) -> str | None:
        """The text under a path of keys; None where there is none, or an empty one."""
        value = self.get(*keys)
        return value.value if isinstance(value, Scalar) and isinstance(value.value, str) and value.value else None


@dataclass(frozen=True)
class File:
    """What came out of one file. With a problem in any document no document may be used."""

    nodes: tuple[Node, ...]
    problems: tuple[Problem, ...]
    notices: tuple[Notice, ...]


def read(text: str, *, hide: bool = False) -> File:
    """All nodes of a text. `hide`: show no values in messages, since the file is vaulted as a whole."""
    composed = syntax.compose(text)
    problems = list(composed.problems)
    notices: list[Notice] = []
    nodes: list[Node] = []
    checker = schema.Checker(schema.node_schema(), hide)
    for document in composed.documents:
        if document is None:
            continue
        value, found = build(document)
        problems += found
        if not isinstance(value, Mapping):
            problems.append(Problem(value.at, f"found {_what(value)}, {_WANTED}"))
            continue
        found, ours = header.check(value)
        problems += found
        if not ours:
            continue
        value, found = annotation_keys.fold(value)
        problems += found
        problems += checker.problems(value)
        value, found, old = _former_names(value)
        problems += found
        notices += old
        problems += _provisioner_names(value)
        nodes.append(Node(value.at, value))
    if not nodes and not problems:
        problems.append(Problem(Position(1, 1), f"found no document, {_WANTED}"))
    problems += _names_twice(nodes)
    return File(tuple(nodes), tidy(problems), tuple(notices))


def node_name(node: Node) -> str:
    """The Kubernetes node's name: metadata.name in lower case, which is what Kubernetes allows."""
    return (node.text("metadata", "name") or "").lower()


def _what(value: Value) -> str:
    return "a list" if isinstance(value, Sequence) else "a single value" if isinstance(value, Scalar) else "a mapping"


def _former_names(document: Mapping) -> tuple[Mapping, list[Problem], list[Notice]]:
    """`deploys` as `provisioners`, its name since."""
    block = document.get("spec", "kubernetes")
    old = block.member("deploys") if isinstance(block, Mapping) else None
    if not isinstance(block, Mapping) or old is None:
        return document, [], []
    new = block.member("provisioners")
    if new is not None:
        text = (
            f"found deploys and provisioners (line {new.at.line}) in spec.kubernetes, wanted provisioners alone;"
            " deploys is its former name."
        )
        return document, [Problem(old.at, text, "spec.kubernetes.deploys")], []
    members = tuple(replace(member, key="provisioners") if member is old else member for member in block.members)
    notice = Notice(old.at, "spec.kubernetes.deploys is the former name of provisioners; rename the key.", "deprecated")
    return annotation_keys.put(document, ("spec", "kubernetes"), replace(block, members=members), old.at), [], [notice]


def provisioners(document: Mapping | Node) -> Iterator[Mapping]:
    """The items of spec.kubernetes.provisioners."""
    items = document.get("spec", "kubernetes", "provisioners")
    if isinstance(items, Sequence):
        yield from (item for item in items.items if isinstance(item, Mapping))


def _provisioner_names(document: Mapping) -> Iterator[Problem]:
    seen: dict[str, Position] = {}
    for item in provisioners(document):
        name = item.get("name")
        if not isinstance(name, Scalar) or not is_string(name):
            continue
        first = seen.setdefault(name.value.lower(), name.at)
        if first != name.at:
            found = f"found a second provisioner {shown(name.value)} (first on line {first.line})"
            yield Problem(name.at, f"{found}, wanted one for each service; remove one of the two.")


def _names_twice(nodes: list[Node]) -> Iterator[Problem]:
    seen: dict[str, Position] = {}
    for node in nodes:
        value = node.get("metadata", "name")
        name = node_name(node)
        if value is None or not name:
            continue
        first = seen.setdefault(name, value.at)
        if first != value.at:
            found = f"found a second node {shown(name)} (first on line {first.line})"
            yield Problem(value.at, f"{found}, wanted each name once; rename one of the two.")
