# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Node YAML file as nodes, or as everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from . import schema, syntax
from .problems import Notice, Position, Problem, did_you_mean, one_of, quote, tidy
from .schema import node_schema
from .source import API_GROUP, API_VERSION, KIND
from .tree import Mapping, Member, Scalar, Sequence, Value, build, is_null, is_string

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
        found, ours = check_header(value)
        problems += found
        if not ours:
            continue
        value, found = fold_annotations(value)
        problems += found
        problems += checker.problems(value)
        value, found, old = _former_names(value)
        problems += found
        notices += old
        problems += _provisioner_names(value)
        nodes.append(Node(value.at, value))
    if not nodes and not problems:
        found_none = "found no document" if text.strip() else "found an empty file"
        problems.append(Problem(Position(1, 1), f"{found_none}, {_WANTED}"))
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
            f"found deploys and provisioners (line {new.at.line}) in spec.kubernetes, wanted only provisioners;"
            " deploys is its former name."
        )
        return document, [Problem(old.at, text, "spec.kubernetes.deploys")], []
    members = tuple(replace(member, key="provisioners") if member is old else member for member in block.members)
    notice = Notice(old.at, "spec.kubernetes.deploys is the former name of provisioners; rename the key.", "deprecated")
    return put(document, ("spec", "kubernetes"), replace(block, members=members), old.at), [], [notice]


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
            found = f"found a second provisioner {quote(name.value)} (first on line {first.line})"
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
            found = f"found a second node {quote(name)} (first on line {first.line})"
            yield Problem(value.at, f"{found}, wanted each name once; rename one of the two.")


# apiVersion and kind: whether a document is a Node YAML at all, and if not, what it is instead.

_LISTS = ("NodeList", "List")
_CORE_NODE = "a core Kubernetes Node is what the cluster says about a node; it has no credentials"


def check_header(document: Mapping) -> tuple[list[Problem], bool]:
    """Problems of apiVersion and kind, and whether the rest is worth checking (a core Node fails in every line)."""
    version, version_at = _read_text(document, "apiVersion")
    kind, kind_at = _read_text(document, "kind")
    group = (version or "").partition("/")[0]
    problems: list[Problem] = []
    if version is None:
        problems.append(Problem(version_at, f"found no apiVersion, wanted 'apiVersion: {API_VERSION}'.", "apiVersion"))
    elif version != API_VERSION:
        reason = f": {_CORE_NODE}" if (version, kind) == ("v1", KIND) else ""
        text = f"found apiVersion {quote(version)}, wanted {API_VERSION}{reason}."
        problems.append(Problem(version_at, text, "apiVersion"))
    if kind is None:
        problems.append(Problem(kind_at, f"found no kind, wanted 'kind: {KIND}'.", "kind"))
    elif kind != KIND:
        problems.append(Problem(kind_at, f"found kind {quote(kind)}, wanted {KIND}: {_instead_of(kind)}", "kind"))
    return problems, group in ("", API_GROUP) and kind not in (*_LISTS, _SWDT_CLUSTER)


_SWDT_CLUSTER = "Cluster"
"""SWDT's later kind: a virtual machine that swdt makes beside a minikube, without an address.

Source: kubernetes-sigs/sig-windows-dev-tools 314a82d experiments/swdt/apis/config/v1alpha1/config_types.go, Cluster.
"""
_FROM_CLUSTER = (
    "swdt's Cluster makes a virtual machine and does not say where it is. Write a Node with spec.credentials (its "
    "address as hostname; username and privateKey of spec.workload.virtualization.ssh), spec.setup (enableRDP and "
    "chocoPackages of spec.workload.auxiliary), spec.containerd.version (containerdVersion), "
    "spec.kubernetes.version (kubernetesVersion) and spec.kubernetes.provisioners."
)


def _instead_of(kind: str) -> str:
    if kind == _SWDT_CLUSTER:
        return _FROM_CLUSTER
    if kind in _LISTS:
        return "write each node as a document of its own, with a line '---' between two."
    meant = did_you_mean(kind, [KIND])
    return f"did you mean {meant}?" if meant else "keep other objects in other files."


def _read_text(document: Mapping, key: str) -> tuple[str | None, Position]:
    """The text under a key, None if there is none, and the place to name for it."""
    member = document.member(key)
    if member is None:
        return None, document.at
    value = member.value
    return (value.text if isinstance(value, Scalar) and not is_null(value) else None), member.at_value


# Our keys of spec as Kubernetes annotations, for files that other tools read too.
#
# SIG Windows Dev Tools decodes a Node YAML strictly and so refuses a file with keys under spec that it does not know;
# annotations are free. Source: kubernetes-sigs/sig-windows-dev-tools experiments/swdt/pkg/config/node.go
# (EnableStrict).

ANNOTATION_PREFIX = "winkube.node/"


def annotation_paths() -> tuple[str, ...]:
    """What may stand behind the prefix: every key of ours under spec, `network.mode` and so on."""
    blocks = node_schema()["$defs"].items()
    return tuple(
        f"{block}.{key}"
        for block, schema in blocks
        for key, item in schema.get("properties", {}).items()
        if "x-variable" in item and "x-extension" in item
    )


def fold_annotations(document: Mapping) -> tuple[Mapping, list[Problem]]:
    """The document with annotations `winkube.node/<path>` also as the keys under spec that they stand for."""
    problems: list[Problem] = []
    for member in list(_ours(document)):
        path = member.key.removeprefix(ANNOTATION_PREFIX)
        block, _dot, key = path.partition(".")
        there = document.get("spec", block, key)
        if path not in annotation_paths():
            meant = did_you_mean(path, annotation_paths())
            remedy = f"did you mean {ANNOTATION_PREFIX}{meant}?" if meant else "remove it."
            found = f"found the unknown annotation {quote(member.key)}"
            problems.append(
                Problem(member.at, f"{found}, wanted {ANNOTATION_PREFIX} and {one_of(annotation_paths())}: {remedy}")
            )
        elif there is not None:
            found = f"found {quote(member.key)} and spec.{path} (line {there.at.line})"
            problems.append(Problem(member.at, f"{found}, wanted one of them; remove the other."))
        elif isinstance(document.get("spec"), Mapping):
            document = put(document, ("spec", block, key), _typed(path, member.value), member.at)
    return document, problems


def _ours(document: Mapping) -> Iterator[Member]:
    annotations = document.get("metadata", "annotations")
    if isinstance(annotations, Mapping):
        yield from (member for member in annotations.members if member.key.startswith(ANNOTATION_PREFIX))


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
