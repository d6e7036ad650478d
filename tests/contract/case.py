"""Contract cases: what each op, wait kind, query, answer and outcome of docs/protocol.md does (see README.md)."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tests import yaml_text
from tests.contract.provides import ALL

FOLDER = Path(__file__).parent / "ops"
Kind = Literal["op", "query", "talk"]

_KEYS: dict[Kind, tuple[frozenset[str], frozenset[str]]] = {
    "op": (
        frozenset({"op", "args"}),
        frozenset({"secrets", "result", "fails", "after", "again", "undo", "undone", "setup", "cleanup", "hidden"}),
    ),
    "query": (frozenset({"query", "value"}), frozenset({"setup", "cleanup"})),
    "talk": (frozenset({"steps"}), frozenset({"cleanup"})),
}
_COMMON = frozenset({"name", "needs", "before"})
_STEP = frozenset({"send", "answer", "after", "state", "place", "start", "hidden"})


class CaseError(ValueError):
    """A sentence: what is wrong with a case."""


@dataclass(frozen=True)
class Tree:
    """Files below the root (path with `/`, a folder's ends in `/`), registry below the contract's key."""

    files: Mapping[str, Any] = field(default_factory=dict)
    registry: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """One case; `body` is what its kind adds. The keys are those of README.md."""

    file: str
    name: str
    kind: Kind
    needs: frozenset[str]
    before: Tree
    body: Mapping[str, Any]

    @property
    def id(self) -> str:
        return f"{self.file}-{re.sub(r'[^a-z0-9]+', '-', self.name.lower()).strip('-')}"


@functools.cache
def all_cases() -> tuple[Case, ...]:
    """Those of docs/protocol.md, read once in a process."""
    return load_cases(FOLDER)


def load_cases(folder: Path) -> tuple[Case, ...]:
    """All cases of all files of a folder, checked. CaseError names file and case."""
    found = [case for path in sorted(folder.glob("*.yml")) for case in _read(path)]
    ids = [case.id for case in found]
    twice = sorted({name for name in ids if ids.count(name) > 1})
    if twice:
        raise CaseError(f"two cases have the same name: {', '.join(twice)}")
    return tuple(found)


def tree(value: Any) -> Tree:
    """The `files` and `registry` of a `before` or `after`."""
    value = value or {}
    unknown = set(value) - {"files", "registry"}
    if unknown:
        raise CaseError(f"a tree has files and registry, not {', '.join(sorted(unknown))}")
    return Tree(value.get("files") or {}, value.get("registry") or {})


def ops_of(case: Case) -> Iterator[Mapping[str, Any]]:
    """Every op that a case sends, `{op, args, ..}`: its own, and those of undo lists, gates, set-up, clean-up."""
    if case.kind == "op":
        yield case.body
    for key in ("undo", "setup", "cleanup"):
        yield from case.body.get(key) or []
    for step in case.body.get("steps") or []:
        send = step.get("send") or {}
        document = ((step.get("place") or {}).get("expiry.json") or {}).get("json") or {}
        yield from (item for name in ("first", "same", "last") for item in document.get(name) or [])
        for item in [*(send.get("ops") or []), *(send.get("gate") or [])]:
            yield item
            yield from item.get("undo") or []


def queries_of(case: Case) -> Iterator[Mapping[str, Any]]:
    """Every query that a case asks."""
    if case.kind == "query":
        yield case.body["query"]
    for step in case.body.get("steps") or []:
        send = step.get("send") or {}
        yield from (item["query"] for item in send.get("pre") or [])
        yield from send.get("state") or []


def _read(path: Path) -> Iterator[Case]:
    document = yaml_text.load_file(path)
    if not isinstance(document, dict) or set(document) != {"about", "cases"}:
        raise CaseError(f"{path.name}: needs exactly about and cases")
    for number, entry in enumerate(document["cases"]):
        where = f"{path.name}, case {number + 1} ({entry.get('name', 'without a name')})"
        try:
            yield _case(path.stem, entry)
        except CaseError as error:
            raise CaseError(f"{where}: {error}") from error


def _case(file: str, entry: Mapping[str, Any]) -> Case:
    kinds: list[Kind] = [kind for kind, (needed, _) in _KEYS.items() if needed <= set(entry)]
    if len(kinds) != 1:
        raise CaseError("needs op and args, or query and value, or steps")
    needed, allowed = _KEYS[kinds[0]]
    unknown = set(entry) - needed - allowed - _COMMON
    if unknown:
        raise CaseError(f"there is no key {', '.join(sorted(unknown))} in a case of kind {kinds[0]}")
    if not entry.get("name"):
        raise CaseError("needs a name")
    needs = frozenset(entry.get("needs") or [])
    if needs - ALL:
        raise CaseError(f"nothing provides {', '.join(sorted(needs - ALL))}; there are {', '.join(sorted(ALL))}")
    if "fails" in entry and "result" in entry:
        raise CaseError("has both fails and result")
    for step in entry.get("steps") or []:
        if set(step) - _STEP:
            raise CaseError(f"there is no key {', '.join(sorted(set(step) - _STEP))} in a step")
    for key in ("after", "undone"):
        tree(entry.get(key))
    return Case(file, str(entry["name"]), kinds[0], needs, tree(entry.get("before")), dict(entry))
