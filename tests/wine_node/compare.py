"""What PowerShell on Wine answers, held against what the lab's twin answers for the same role: form, not values.

    reading   fields and their types of each part that both were asked for
    answer    fields and their types of a batch's answer, and of each op's result, by the op's name
    plan      ops that a batch of the same component has on one side alone

Each difference is a line; `known.yml` says of each why it is one, or which case holds it.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.wine_node.calls import Call

KNOWN = Path(__file__).with_name("known.yml")
READING, BATCH = "winkube.node.node_probe", "winkube.node.node_apply"
_DYNAMIC = re.compile(r"^(tree|values|keys|free_bytes|nssm|inside)$")
"""Fields whose own fields are names: of keys, values, volumes."""


@dataclass(frozen=True)
class Exchange:
    """What a module was asked in a chapter, and what it answered."""

    chapter: str
    module: str
    arguments: Mapping[str, Any]
    answer: Mapping[str, Any]


def of_calls(calls: Iterable[Mapping[str, Any]]) -> Iterator[Exchange]:
    """Those of the node's calls that had an answer."""
    for call in calls:
        if found := Call(**call).answered():
            yield Exchange(call["chapter"], call["module"], call["arguments"], found)


def differences(ours: Sequence[Exchange], labs: Sequence[Exchange]) -> list[str]:
    """Lines, each once, in order."""
    found: set[str] = set()
    for name in (READING, BATCH):
        left, right = _forms(ours, name), _forms(labs, name)
        for path in sorted(set(left) & set(right)):
            found.update(_between(path, left[path], right[path]))
    return sorted(found)


def _between(path: str, ours: Mapping[str, set[str]], labs: Mapping[str, set[str]]) -> Iterator[str]:
    for name in sorted({*ours, *labs}):
        on_wine, in_lab = ours.get(name, set()), labs.get(name, set())
        if not on_wine or not in_lab:
            where = "on Wine" if on_wine else "in the lab"
            yield f"{path}.{name}: {where} alone"
        # null stands for a value that is not known, of whatever type.
        elif on_wine - {"null"} != in_lab - {"null"} and on_wine != {"null"} and in_lab != {"null"}:
            yield f"{path}.{name}: {'|'.join(sorted(on_wine))} on Wine, {'|'.join(sorted(in_lab))} in the lab"


def _forms(exchanges: Sequence[Exchange], module: str) -> dict[str, dict[str, set[str]]]:
    """What was seen -> field -> types. An op's results are seen by its name, a part by its own."""
    seen: dict[str, dict[str, set[str]]] = {}
    for exchange in exchanges:
        if exchange.module != module:
            continue
        if module == READING:
            for key, value in exchange.answer.get("parts", {}).items():
                _add(seen, f"reading {key}", value)
            continue
        answer = {key: value for key, value in exchange.answer.items() if key not in ("results", "state", "invocation")}
        _add(seen, f"answer {answer.get('outcome', answer.get('answer', ''))}", answer)
        for result in exchange.answer.get("results", []):
            _add(seen, f"op {result['op']}", result)
        for key, value in exchange.answer.get("state", {}).items():
            _add(seen, f"reading {key}", value)
        batch = json.loads(gzip.decompress(base64.b64decode(str(exchange.arguments["batch"])))).get("batch")
        if batch:
            _add(seen, f"plan {batch.get('component', '')}", {op["op"]: "" for op in batch["ops"]})
    return seen


def _add(seen: dict[str, dict[str, set[str]]], path: str, value: Any) -> None:
    fields = seen.setdefault(path, {})
    if isinstance(value, list):
        for item in value:
            _add(seen, path, item)
    elif isinstance(value, dict):
        for name, item in value.items():
            fields.setdefault(name, set()).add(_type(item))
            if not _DYNAMIC.match(name) and isinstance(item, dict | list):
                _add(seen, f"{path}.{name}", item)
    else:
        fields.setdefault("", set()).add(_type(value))


def _type(value: Any) -> str:
    names = {bool: "bool", int: "int", float: "float", str: "str", list: "list", dict: "map", type(None): "null"}
    return names[type(value)]


def unexplained(found: Sequence[str]) -> list[str]:
    """Those of which known.yml says nothing."""
    known = [re.compile(entry["difference"]) for entry in yaml.safe_load(KNOWN.read_text(encoding="utf-8"))]
    return [line for line in found if not any(pattern.search(line) for pattern in known)]
