"""Kinds that CustomResourceDefinitions add: which there are, and what the API server says to an object of one.

custom.json has names and types out of upstream's own files (tests/real/custom_kinds.py). Source of the behaviour:
kubernetes apiextensions-apiserver pkg/apiserver/schema/pruning (fields that no one knows go without a word),
pkg/apiserver/validation (types, enums, required ones: 422).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.lab.cluster.kinds import Kind

_FILE = json.loads((Path(__file__).parent / "custom.json").read_text(encoding="utf-8"))
_SCHEMAS: dict[str, Any] = {each["kind"]: each["spec"] for each in _FILE["kinds"]}
_TYPES = {"string": str, "boolean": bool, "integer": int, "array": list, "object": dict}

ALL = (
    *(
        Kind(each["group"], each["version"], each["plural"], each["kind"], each["namespaced"])
        for each in _FILE["kinds"]
    ),
    Kind("projectcalico.org", "v3", "ipamconfigurations", "IPAMConfiguration", False),
    Kind("projectcalico.org", "v3", "felixconfigurations", "FelixConfiguration", False),
    Kind("projectcalico.org", "v3", "ippools", "IPPool", False),
    Kind("windows.k8s.io", "v1", "gmsacredentialspecs", "GMSACredentialSpec", False),
)
BY_PATH = {(kind.group, kind.version, kind.plural): kind for kind in ALL}
OPERATOR, STORED, OWN = "operator.tigera.io", "crd.projectcalico.org", "projectcalico.org"


def kind_of(group: str, name: str) -> Kind:
    return next(kind for kind in ALL if (kind.group, kind.name) == (group, name))


def pruned(kind: Kind, body: dict[str, Any]) -> dict[str, Any]:
    """The object without what its definition does not know."""
    schema = _SCHEMAS.get("IPAMConfig" if kind.name == "IPAMConfiguration" else kind.name)
    return body if schema is None or "spec" not in body else {**body, "spec": _prune(body["spec"], schema)}


def wrong(kind: Kind, body: dict[str, Any]) -> str:
    """Why the server refuses an object; empty if it takes it."""
    schema = _SCHEMAS.get("IPAMConfig" if kind.name == "IPAMConfiguration" else kind.name)
    return "" if schema is None else "; ".join(_wrong(body.get("spec", {}), schema, "spec"))


def _prune(value: Any, schema: dict[str, Any]) -> Any:
    if isinstance(value, dict) and "properties" in schema:
        known = schema["properties"]
        return {key: _prune(inner, known[key]) for key, inner in value.items() if key in known}
    if isinstance(value, list) and "items" in schema:
        return [_prune(each, schema["items"]) for each in value]
    return value


def _wrong(value: Any, schema: dict[str, Any], where: str) -> Iterator[str]:
    wanted = _TYPES.get(schema.get("type", ""))
    if wanted and (not isinstance(value, wanted) or (wanted is int and isinstance(value, bool))):
        yield f'{where}: Invalid value: "{type(value).__name__}": must be of type {schema["type"]}'
        return
    if "enum" in schema and value not in schema["enum"]:
        listed = ", ".join(f'"{each}"' for each in schema["enum"])
        yield f'{where}: Unsupported value: "{value}": supported values: {listed}'
    if "pattern" in schema and isinstance(value, str) and not re.search(schema["pattern"], value):
        yield f"{where}: Invalid value: \"{value}\": {where} in body should match '{schema['pattern']}'"
    if isinstance(value, dict):
        yield from (f"{where}.{name}: Required value" for name in schema.get("required", ()) if name not in value)
        known = schema.get("properties", {})
        for key, inner in value.items():
            yield from _wrong(inner, known.get(key, {}), f"{where}.{key}")
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _wrong(each, schema.get("items", {}), f"{where}[{index}]")
