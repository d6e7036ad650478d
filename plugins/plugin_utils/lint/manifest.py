# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads manifests: YAML or JSON text, several documents, lists of objects, and objects from a cluster.

A document keeps its values and its place in the text. The tree with line and column of every path is parsed again, from
the document's own text, only if there is a finding in it.
"""

from __future__ import annotations

import gc
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import yaml

from ..foreign.files import ForeignError
from ..foreign.values import DEEPEST, LOADER, check_node
from .as_yaml import as_yaml
from .model import Path, as_list, as_map, as_text


@contextmanager
def pause_garbage_collection() -> Iterator[None]:
    """Disable garbage collection: node trees are kept and have no cycles, and with thousands of documents the
    collector takes half of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class UnreadableError(Exception):
    """An input is not a manifest: a sentence with file, line and remedy.

    `unchecked`: what it is, if not a broken manifest: a template (with placeholders of Helm or Jinja2), a chart,
    a kustomization, another file; empty if it is one. `remedy`: what to do, if not what such ones always need.
    """

    def __init__(
        self, sentence: str, file: str = "", line: int = 0, column: int = 0, unchecked: str = "", remedy: str = ""
    ) -> None:
        super().__init__(sentence)
        self.file, self.line, self.column, self.unchecked, self.remedy = file, line, column, unchecked, remedy


class _Loader(LOADER):
    """YAML as kubectl reads it: no timestamps and no base-60 integers (`10:22` is a string)."""


_SCALARS_THAT_KUBECTL_KNOWS = ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_Loader.yaml_implicit_resolvers = {
    first: [entry for entry in resolvers if entry[0] not in _SCALARS_THAT_KUBECTL_KNOWS]
    for first, resolvers in LOADER.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int",
    re.compile(r"^[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]*|[1-9][0-9_]*)$"),
    list("-+0123456789"),
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    # Source: sigs.k8s.io/yaml goyaml.v2 resolve.go, yamlStyleFloat: 1e3 is a number without a dot, too.
    re.compile(
        r"^[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+)$"
    ),
    list("-+0123456789."),
)


class Tagged:
    """A value whose tag only another program understands (`!Ref` of CloudFormation, `!vault`): present, but unknown."""

    def __init__(self, tag: str) -> None:
        self.tag = tag

    def __repr__(self) -> str:
        return self.tag


def _tag(_loader: Any, node: yaml.Node) -> Tagged:
    return Tagged(node.tag)


def _mapping(loader: Any, node: yaml.MappingNode) -> Iterator[dict[Any, Any]]:
    """The mapping. A YAML key may be anything; one that is not a scalar is kept as such and names no field.

    `{{ name }}` is such a key too, in a file that is not a manifest yet.
    """
    made: dict[Any, Any] = {}
    yield made
    loader.flatten_mapping(node)
    for key, value in node.value:
        if isinstance(key, yaml.MappingNode) and key.flow_style and node.flow_style:
            raise yaml.constructor.ConstructorError(None, None, "found unhashable key", key.start_mark)
        known = loader.construct_object(key, deep=True) if isinstance(key, yaml.ScalarNode) else Tagged(key.tag)
        made[known] = loader.construct_object(value)


_Loader.add_constructor(None, _tag)
_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)
_Loader.add_constructor("tag:yaml.org,2002:value", yaml.SafeLoader.construct_scalar)


class _PlaceLoader(_Loader):
    """For positions only: resolving the type of each scalar takes a third of the time, and is not needed."""

    def resolve(self, *_: Any) -> str:
        return _STR

    def descend_resolver(self, *_: Any) -> None:
        return

    def ascend_resolver(self) -> None:
        return


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """One YAML document: `text[start:end]` of a file; `first_line` counts the file's lines before the text.

    `text` is empty for objects from a cluster. `column` is that of `start` in its line. `inside`: the document and path
    of a string that contains this document; `text` is then that string.
    """

    file: str
    text: str
    value: Any
    start: int = 0
    end: int = 0
    column: int = 0
    first_line: int = 0
    # One of several JSON values in sequence: `text` is the file, positions count from the value's own piece.
    piece: str = ""
    inside: tuple[Document, Path] | None = None
    # A program generated it from `file`, with the same values on other lines.
    rendered: bool = False
    # For a rendered document: the base document that it was made from, if known.
    origin: Document | None = None

    @property
    def editable(self) -> bool:
        """Whether its place in the file can be edited."""
        return bool(self.text) and self.inside is None and not self.rendered

    @property
    def own_text(self) -> str:
        """The document's piece of the text, with blanks in place of what precedes it in its first line."""
        return " " * self.column + (self.piece or self.text)[self.start : self.end]

    def position(self, path: Path) -> tuple[int, int]:
        """Line and column, from 1, of the key or item at `path`, or of the deepest existing part of it."""
        if not self.text:
            return 0, 0
        mark = None
        node = _tree(self)
        for part in path:
            step = child(node, part)
            if step is None:
                break
            key, node = step
            mark = (key or node).start_mark
        line, column = (mark.line, mark.column) if mark else (0, self.column)
        line += 1 + self.first_line
        return self._outside(*self.inside, line, column) if self.inside else (line, column + 1)

    def _outside(self, outer: Document, path: Path, line: int, column: int) -> tuple[int, int]:
        """The position in the file that contains the string; the string's own position if its lines are not there
        unchanged."""
        first, begin = outer.position(path)
        if not _BLOCK.search(outer.line(first)):
            return first, begin
        there = outer.line(first + line)
        return first + line, len(there) - len(there.lstrip(" ")) - _indent(self.line_of(line)) + column + 1

    def line_of(self, number: int) -> str:
        """Line `number`, from 1, of the text."""
        lines = _lines(self.text)
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def line(self, number: int) -> str:
        """Line `number`, from 1, of the file."""
        return self.inside[0].line(number) if self.inside else self.line_of(number)


_BLOCK = re.compile(r":\s+\|[-+0-9]*\s*(?:#.*)?$")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


@lru_cache(maxsize=2)
def _lines(text: str) -> list[str]:
    return text.splitlines()


@lru_cache(maxsize=2)
def _tree(document: Document) -> yaml.Node | None:
    """The node tree of the document's own piece; None if the piece cannot be parsed without the rest (a %TAG)."""
    text = document.own_text
    loader = (_Loader if "<<" in text else _PlaceLoader)(as_yaml(document.file, text))
    try:
        node: yaml.Node | None = _merge(loader, loader.get_single_node(), text)
        return node
    except yaml.YAMLError:
        return None
    finally:
        loader.dispose()


def _merge(loader: Any, node: Any, text: str) -> Any:
    """The tree with the entries of its merge keys, which PyYAML adds while it makes the value."""
    if "<<" in text:
        loader.construct_document(node)
    return node


@lru_cache(maxsize=1)
def _trees(file: str, text: str) -> dict[int, yaml.Node]:
    loader = _Loader(as_yaml(file, text))
    try:
        nodes: dict[int, yaml.Node] = {}
        while loader.check_node():
            node = _merge(loader, loader.get_node(), text)
            nodes[node.start_mark.index] = node
        return nodes
    finally:
        loader.dispose()


def node_in_file(document: Document) -> yaml.Node | None:
    """The document's node tree with positions in the whole file, for edits."""
    if not document.editable or document.piece:
        return None
    return _trees(document.file, document.text).get(document.start)


def child(node: yaml.Node | None, part: str | int) -> tuple[yaml.Node | None, yaml.Node] | None:
    """The (key node, value node) of `part` below `node`; the key is None for a list item."""
    if isinstance(node, yaml.MappingNode):
        # Of two equal keys the last wins, as in the loaded value.
        for key, value in reversed(node.value):
            if key.value == part:
                return key, value
    elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return None, node.value[part]
    return None


@dataclass(frozen=True, slots=True, eq=False)
class KubeObject:
    """One Kubernetes object and its place (`document`, `prefix`)."""

    document: Document
    prefix: Path
    value: Mapping[str, Any]
    kind: str
    group: str
    name: str
    namespace: str

    @property
    def label(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"

    @property
    def sort(self) -> str:
        """The kind if it is Kubernetes' own, else with its group: a Job of Volcano is not one of batch."""
        own = "." not in self.group or self.group.endswith(".k8s.io")
        return self.kind if own else f"{self.kind}.{self.group}"

    @property
    def metadata(self) -> dict[str, Any]:
        return as_map(self.value.get("metadata"))

    @property
    def spec(self) -> dict[str, Any]:
        return as_map(self.value.get("spec"))

    @property
    def live(self) -> bool:
        """Whether it comes from an API server, which fills in every default."""
        return "uid" in self.metadata or "resourceVersion" in self.metadata


def read_documents(file: str, text: str) -> list[Document]:
    """All documents of a text except empty ones. Raises UnreadableError with the place of the first mistake."""
    pieces = _split_json(text) if text.lstrip("\ufeff \t\r\n").startswith("{") else []
    if len(pieces) > 1:
        return [
            replace(document, text=text, piece=piece, first_line=document.first_line + line)
            for line, piece in pieces
            for document in _read(file, piece)
        ]
    return _read(file, text)


def _split_json(text: str) -> list[tuple[int, str]]:
    """(line from 0, text) of each JSON value of a stream with several, as `kubectl` and `jq` write it.

    Empty if the text is not such a stream.
    """
    decoder = json.JSONDecoder()
    pieces: list[tuple[int, str]] = []
    place = line = 0
    while True:
        start = _BLANK.match(text, place)
        place_of_value = start.end() if start else place
        line += text.count("\n", place, place_of_value)
        if place_of_value >= len(text):
            return pieces
        try:
            _value, end = decoder.raw_decode(text, place_of_value)
        except (ValueError, RecursionError):
            return []
        pieces.append((line, text[place_of_value:end]))
        line += text.count("\n", place_of_value, end)
        place = end


_BLANK = re.compile(r"[\ufeff\s]*")


def _read(file: str, text: str) -> list[Document]:
    documents: list[Document] = []
    loader = _Loader(as_yaml(file, text))
    # Without an anchor nothing is shared, and no value contains itself.
    shared = _ANCHOR.search(text) is not None
    make = loader.construct_document if shared else _Maker(loader).value
    try:
        with pause_garbage_collection():
            while loader.check_node():
                node = loader.get_node()
                if shared:
                    check_node(node)
                value = make(node)
                if value is not None:
                    first, last = node.start_mark, node.end_mark
                    documents.append(Document(file, text, value, first.index, last.index, first.column, first.line))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        where = f"{file}:{line}:{column}" if mark else file
        sentence = f"{where}: this is not valid YAML: {error.problem or error.context}.{_hint(text, mark)}"
        unchecked = _template(text, mark)
        if error.problem == _OF_LIBYAML:
            sentence = f"{where}: this file was not checked: in a list, quote a value that ends in a colon."
            unchecked = "file"
        raise UnreadableError(sentence, file, line, column, unchecked) from error
    except yaml.reader.ReaderError as error:
        # libyaml's reader has the character as a number, PyYAML's as a string.
        number = error.character if isinstance(error.character, int) else ord(error.character)
        raise UnreadableError(f"{file}: this is not text: it holds the character U+{number:04X}.", file) from error
    except ForeignError as error:
        where = f"{file}:{error.line}:{error.column}" if error.line else file
        raise UnreadableError(f"{where}: {error}", file, error.line, error.column, _template(text)) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        sentence = f"{file}: this is not valid YAML: {error}.{_hint(text)}"
        raise UnreadableError(sentence, file, unchecked=_template(text)) from error
    finally:
        loader.dispose()
    return documents


_ANCHOR = re.compile(r"(?:^|[\s\[{,:])&[^\s&]", re.MULTILINE)
_STR, _MAP, _SEQ = ("tag:yaml.org,2002:str", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
_SCALARS = tuple(f"tag:yaml.org,2002:{name}" for name in ("int", "float", "bool", "null"))


class _Maker:
    """Makes values from node trees without aliases: the same as PyYAML's constructor, in half of its time.

    Documents share equal keys and equal scalars other than strings.
    """

    def __init__(self, loader: Any) -> None:
        self.loader = loader
        self.known: dict[tuple[str, str], Any] = {}

    def value(self, node: yaml.Node) -> Any:
        try:
            return self._make(node)
        except _UnusualError:
            check_node(node)
            return self.loader.construct_document(node)

    def _make(self, node: yaml.Node, depth: int = 0) -> Any:
        tag = node.tag
        if depth > DEEPEST:
            raise _UnusualError
        if tag == _STR:
            text = node.value
            return sys.intern(text) if len(text) <= _SHARED else text
        if tag == _MAP and isinstance(node, yaml.MappingNode):
            made = {}
            for key, value in node.value:
                if key.tag != _STR:
                    raise _UnusualError
                made[sys.intern(key.value)] = self._make(value, depth + 1)
            return made
        if tag == _SEQ:
            return [self._make(each, depth + 1) for each in node.value]
        if tag not in _SCALARS:
            raise _UnusualError
        found = self.known.get((tag, node.value), self)
        if found is self:
            found = self.known[tag, node.value] = self.loader.construct_object(node)
        return found


class _UnusualError(Exception):
    """A tag or key that only PyYAML's own constructor can handle, or a value that is too deep."""


# longer strings (scripts, certificates) seldom repeat
_SHARED = 64


# Helm, Jinja2, ERB; a line `__NAME__`, for sed.
_TEMPLATE = re.compile(r"\{\{|\{%|<%|^[ \t]*__[A-Z0-9_]+__[ \t]*$", re.MULTILINE)
# Where YAML can have no such value: `%NAME%`, but not of a variable that Windows sets; `%s`; `{NAME}.16`.
_FILLED_IN = re.compile(
    r"(?<=: )(?:%(?!CONTAINER_|PROCESSOR_|NUMBER_OF_)[A-Z0-9]+_[A-Z0-9_]+%|%s\b|\{[A-Z0-9_]+\}(?=[\w.:/-]))"
)
# libyaml refuses what the API server reads. Source: go.yaml.in/yaml/v2 scannerc.go, yaml_parser_scan_plain_scalar.
_OF_LIBYAML = "found unexpected ':'"


def _template(text: str, mark: yaml.Mark | None = None) -> str:
    """`template` if it has placeholders that a program fills in."""
    return "template" if _placeholder(text, mark) else ""


def _placeholder(text: str, mark: yaml.Mark | None) -> str:
    """The first one; of a kind that may be in any text only in the line of the mistake."""
    found = _TEMPLATE.search(text) or (_FILLED_IN.search(_line_at(text, mark.index)) if mark is not None else None)
    return found.group().strip() if found else ""


# `kind: ` or `"kind": ` at the beginning of a line marks a file for Kubernetes.
_SAYS_KIND = re.compile(r"""^[ \t{-]*["']?kind["']?\s*:""", re.MULTILINE)
_SAYS_VERSION = re.compile(r"""^[ \t{-]*["']?apiVersion["']?\s*:""", re.MULTILINE)


def says_that_it_is_a_manifest(text: str, in_part: bool = False) -> bool:
    """Whether a text names apiVersion and kind, readable or not; `in_part`: one of them."""
    return (any if in_part else all)(each.search(text) for each in (_SAYS_KIND, _SAYS_VERSION))


def may_hold_objects(text: str) -> bool:
    """Whether a text can have an object: each has the two words as keys, as they are or with escapes in double quotes.

    Many YAML files of a repository have none (CI, values, variables), and searching takes a hundredth of parsing.
    """
    return ("apiVersion" in text and "kind" in text) or _ESCAPED.search(text) is not None


# Escapes that may stand for a letter, or for a break within a word.
_ESCAPED = re.compile(r"\\[xuU\r\n]")


def _hint(text: str, mark: yaml.Mark | None = None) -> str:
    if mark is not None and text[mark.index : mark.index + 1] == "\t":
        return " A tab stands there; YAML is indented with blanks."
    if found := _placeholder(text, mark):
        return f" It holds '{found}', so it looks like an unrendered template: render it first."
    if mark is not None and _BACKSLASH.search(_line_at(text, mark.index)):
        return " In double quotes a backslash begins an escape: write single quotes, or each backslash twice."
    return ""


_BACKSLASH = re.compile(r'"[^"]*\\')


def _line_at(text: str, index: int) -> str:
    return text[text.rfind("\n", 0, index) + 1 :].partition("\n")[0]


def live_documents(objects: Sequence[Any], source: str = "cluster") -> list[Document]:
    """Objects from the API server, as documents without text."""
    for number, value in enumerate(objects):
        if not isinstance(value, dict):
            raise UnreadableError(f"{source}: item {number} is not a mapping but {json.dumps(value)[:60]}.")
    return [Document(source, "", value) for value in objects]


def objects_of(document: Document) -> Iterator[KubeObject]:
    """The Kubernetes objects of a document, each item of a List separately. Other documents yield nothing."""
    for thing in _unwrap(document, (), document.value):
        yield thing
        yield from _find_embedded(thing)


def _find_embedded(thing: KubeObject) -> Iterator[KubeObject]:
    """Manifests in the text of a ConfigMap or Secret, as for a ClusterResourceSet of Cluster API."""
    for holder in _TEXTS.get(thing.kind, ()):
        for key, text in as_map(thing.value.get(holder)).items():
            if isinstance(text, str) and _LOOKS_LIKE_PODS.search(text) and "apiVersion:" in text:
                try:
                    inner = read_documents(thing.document.file, text)
                except UnreadableError:
                    continue
                for each in inner:
                    path = (*thing.prefix, holder, key)
                    yield from objects_of(
                        replace(each, inside=(thing.document, path), rendered=thing.document.rendered)
                    )


_TEXTS = {"ConfigMap": ("data",), "Secret": ("stringData",)}
_LOOKS_LIKE_PODS = re.compile(r"^\s*(?:- )?containers:", re.MULTILINE)


# Fields that contain whole objects: Template of OpenShift; ManifestWork of Open Cluster Management and Work of Karmada;
# SyncSet of Hive. Source: their API types.
_HOLDERS = (("objects",), ("spec", "workload", "manifests"), ("spec", "resources"))


def _dig(value: Any, path: tuple[str, ...]) -> Any:
    for part in path:
        value = as_map(value).get(part)
    return value


def _unwrap(document: Document, prefix: Path, value: Any) -> Iterator[KubeObject]:
    if not isinstance(value, dict):
        return
    kind, version = as_text(value.get("kind")), as_text(value.get("apiVersion"))
    if kind.endswith("List") and isinstance(value.get("items"), list):
        for number, item in enumerate(value["items"]):
            # The API server omits kind and apiVersion in the items of a typed list.
            if isinstance(item, dict) and kind != "List" and "kind" not in item:
                item = {"apiVersion": version, "kind": kind.removesuffix("List"), **item}
            yield from _unwrap(document, (*prefix, "items", number), item)
        return
    if not kind or not version:
        return
    for holder in _HOLDERS:
        for number, item in enumerate(as_list(_dig(value, holder))):
            yield from _unwrap(document, (*prefix, *holder, number), item)
    metadata = as_map(value.get("metadata"))
    name = as_text(metadata.get("name")) or f"{as_text(metadata.get('generateName'))}(no name)"
    yield KubeObject(
        document=document,
        prefix=prefix,
        value=value,
        kind=kind,
        group=version.rpartition("/")[0],
        name=name,
        namespace=as_text(metadata.get("namespace")) or "default",
    )
