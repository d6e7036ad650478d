# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Our keys of spec as Kubernetes annotations, for files that other tools read too.

SIG Windows Dev Tools decodes a Node YAML strictly and so refuses a file with keys under spec that it does not know;
annotations are free. Source: kubernetes-sigs/sig-windows-dev-tools experiments/swdt/pkg/config/node.go (EnableStrict).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from .problems import Position, Problem, did_you_mean, one_of, shown
from .schema import node_schema
from .tree import Mapping, Member, Scalar, Value

PREFIX = "winkube.node/"
_OWN_BLOCKS = ("network", "containerd", "os")


def paths() -> tuple[str, ...]:
    """What may stand behind the prefix: every key of ours under spec, `network.mode` and so on."""
    definitions = node_schema()["$defs"]
    own = [f"{block}.{key}" for block in _OWN_BLOCKS for key in definitions[block]["properties"]]
    kubernetes = definitions["kubernetes"]["properties"].items()
    return (*own, *(f"kubernetes.{key}" for key, item in kubernetes if item.get("x-extension")))


def fold(document: Mapping) -> tuple[Mapping, list[Problem]]:
    """The document with annotations `winkube.node/<path>` also as the keys under spec that they stand for."""
    problems: list[Problem] = []
    for member in list(_ours(document)):
        path = member.key.removeprefix(PREFIX)
        block, _dot, key = path.partition(".")
        there = document.get("spec", block, key)
        if path not in paths():
            meant = did_you_mean(path, paths())
            remedy = f"did you mean {PREFIX}{meant}?" if meant else "remove it."
            found = f"found the unknown annotation {shown(member.key)}"
            problems.append(Problem(member.at, f"{found}, wanted {PREFIX} and {one_of(paths())}: {remedy}"))
        elif there is not None:
            found = f"found {shown(member.key)} and spec.{path} (line {there.at.line})"
            problems.append(Problem(member.at, f"{found}, wanted one of them; remove the other."))
        elif isinstance(document.get("spec"), Mapping):
            document = put(document, ("spec", block, key), _typed(path, member.value), member.at)
    return document, problems


def _ours(document: Mapping) -> Iterator[Member]:
    annotations = document.get("metadata", "annotations")
    if isinstance(annotations, Mapping):
        yield from (member for member in annotations.members if member.key.startswith(PREFIX))


def _typed(path: str, value: Value) -> Value:
    """Annotations are always text; the one number among our keys is made from it."""
    if path == "os.build" and isinstance(value, Scalar) and value.text.isdecimal():
        return replace(value, value=int(value.text))
    return value


def put(mapping: Mapping, path: tuple[str, ...], value: Value, at: Position) -> Mapping:
    """The mapping with `value` under `path`; blocks that are missing or empty are made."""
    key, *rest = path
    member = mapping.member(key)
    if rest:
        inner = member.value if member is not None and isinstance(member.value, Mapping) else Mapping(at, ())
        value = put(inner, tuple(rest), value, at)
    new = Member(key, member.at if member else at, value)
    if member is None:
        return replace(mapping, members=(*mapping.members, new))
    return replace(mapping, members=tuple(new if old.key == key else old for old in mapping.members))
