# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a Node YAML file into nodes, or lists every mistake in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ..foreign import spelling
from . import syntax
from .problems import Position, Problem, one_of, quote, tidy
from .schema import Checker, node_schema
from .source import API_GROUP
from .tree import Mapping, Member, Scalar, Sequence, Value, build

_HEADER = ("apiVersion", "kind")


@dataclass(frozen=True)
class File:
    """The result of reading one file. A problem in one document makes the whole file unusable.

    `nodes` are its documents, with former keys renamed and annotations folded into `spec`.
    """

    nodes: tuple[Mapping, ...]
    problems: tuple[Problem, ...]
    notices: tuple[Problem, ...]


def read(text: str, *, hide: bool = False) -> File:
    """All nodes of a text. `hide`: show no values in messages, since the file is vaulted as a whole."""
    composed = syntax.compose(text)
    said = list(composed.problems)
    nodes: list[Mapping] = []
    checker = Checker(hide)
    for document in composed.documents:
        if document is None:
            continue
        value, found = build(document)
        said += found
        if not isinstance(value, Mapping):
            said += checker.problems(value)
            continue
        if _is_another_object(value):
            said += (problem for problem in checker.problems(value) if problem.subject in _HEADER)
            continue
        value, found = fold_annotations(value)
        said += [*found, *checker.problems(value)]
        value, found = _rename_former_keys(value)
        said += found
        names = (item.get("name") for item in provisioners(value))
        said += _find_second(names, "provisioner", "one for each service; remove one of the two")
        nodes.append(value)
    if not nodes and not said:
        found_none = "found no document" if text.strip() else "found an empty file"
        wanted = "wanted a Node YAML: apiVersion, kind, metadata, spec."
        said.append(Problem(Position(1, 1), f"{found_none}, {wanted}"))
    names = (node.get("metadata", "name") for node in nodes)
    said += _find_second(names, "node", "each name once; rename one of the two")
    problems = tidy(problem for problem in said if problem.level == "error")
    return File(tuple(nodes), problems, tuple(problem for problem in said if problem.level != "error"))


def node_name(node: Mapping) -> str:
    """The Kubernetes node's name: metadata.name in lower case, which is what Kubernetes allows."""
    return node.text("metadata", "name").lower()


def provisioners(node: Mapping) -> Iterator[Mapping]:
    """The items of spec.kubernetes.provisioners."""
    items = node.get("spec", "kubernetes", "provisioners")
    if isinstance(items, Sequence):
        yield from (item for item in items.items if isinstance(item, Mapping))


def _is_another_object(document: Mapping) -> bool:
    """Whether the document is another kind of object, such as a core Node, in which every line would be wrong."""
    group = document.text("apiVersion").partition("/")[0]
    return group not in ("", API_GROUP) or document.text("kind") in node_schema()["properties"]["kind"]["x-hints"]


def _rename_former_keys(document: Mapping) -> tuple[Mapping, list[Problem]]:
    """Rename `deploys` to `provisioners`."""
    block = document.get("spec", "kubernetes")
    old = block.member("deploys") if isinstance(block, Mapping) else None
    if not isinstance(block, Mapping) or old is None:
        return document, []
    new = block.member("provisioners")
    if new is not None:
        text = (
            f"found deploys and provisioners (line {new.at.line}) in spec.kubernetes, wanted only provisioners;"
            " deploys is its former name."
        )
        return document, [Problem(old.at, text, "spec.kubernetes.deploys")]
    members = tuple(replace(member, key="provisioners") if member is old else member for member in block.members)
    text = "spec.kubernetes.deploys is the former name of provisioners; rename the key."
    renamed = put(document, ("spec", "kubernetes"), replace(block, members=members), old.at)
    return renamed, [Problem(old.at, text, level="deprecated")]


def _find_second(names: Iterable[Value | None], thing: str, wanted: str) -> Iterator[Problem]:
    """Report each name that repeats an earlier one; case does not matter."""
    seen: dict[str, Position] = {}
    for name in names:
        if not isinstance(name, Scalar) or not isinstance(name.value, str) or not name.value:
            continue
        first = seen.setdefault(name.value.lower(), name.at)
        if first != name.at:
            found = f"found a second {thing} {quote(name.value)} (first on line {first.line})"
            yield Problem(name.at, f"{found}, wanted {wanted}.")


# Our keys of spec as Kubernetes annotations, for files that other tools read too.
#
# SIG Windows Dev Tools decodes a Node YAML strictly and so refuses a file with keys under spec that it does not know;
# annotations are free. Source: kubernetes-sigs/sig-windows-dev-tools experiments/swdt/pkg/config/node.go
# (EnableStrict).

ANNOTATION_PREFIX = "winkube.node/"


def annotation_paths() -> tuple[str, ...]:
    """The paths allowed after the prefix: each of our keys under spec, such as `network.mode`."""
    blocks = node_schema()["$defs"].items()
    return tuple(
        f"{block}.{key}"
        for block, schema in blocks
        for key, item in schema.get("properties", {}).items()
        if "x-variable" in item and "x-extension" in item
    )


def fold_annotations(document: Mapping) -> tuple[Mapping, list[Problem]]:
    """Copy each annotation `winkube.node/<path>` to the key under spec that it stands for."""
    problems: list[Problem] = []
    for member in list(_ours(document)):
        path = member.key.removeprefix(ANNOTATION_PREFIX)
        block, _dot, key = path.partition(".")
        there = document.get("spec", block, key)
        if path not in annotation_paths():
            meant = spelling.meant(path, annotation_paths())
            remedy = f"did you mean {ANNOTATION_PREFIX}{meant}?" if meant else "remove it."
            found = f"found the unknown annotation {quote(member.key)}"
            problems.append(
                Problem(member.at, f"{found}, wanted {ANNOTATION_PREFIX} and {one_of(annotation_paths())}: {remedy}")
            )
        elif there is not None:
            found = f"found {quote(member.key)} and spec.{path} (line {there.at.line})"
            problems.append(Problem(member.at, f"{found}, wanted one of them; remove the other."))
        elif isinstance(document.get("spec"), Mapping):
            document = put(document, ("spec", block, key), _convert_text(path, member.value), member.at)
    return document, problems


def _ours(document: Mapping) -> Iterator[Member]:
    annotations = document.get("metadata", "annotations")
    if isinstance(annotations, Mapping):
        yield from (member for member in annotations.members if member.key.startswith(ANNOTATION_PREFIX))


def _convert_text(path: str, value: Value) -> Value:
    """Annotations are always text; only `os.build` becomes a number."""
    if path == "os.build" and isinstance(value, Scalar) and value.text.isdecimal():
        return replace(value, value=int(value.text))
    return value


def put(mapping: Mapping, path: tuple[str, ...], value: Value, at: Position) -> Mapping:
    """Return the mapping with `value` at `path`; missing or empty blocks are created."""
    key, *rest = path
    member = mapping.member(key)
    if rest:
        inner = member.value if member is not None and isinstance(member.value, Mapping) else Mapping(at, ())
        value = put(inner, tuple(rest), value, at)
    new = Member(key, member.at if member else at, value)
    if member is None:
        return replace(mapping, members=(*mapping.members, new))
    return replace(mapping, members=tuple(new if old.key == key else old for old in mapping.members))
