"""The JSON Schema of a node's record and the table of docs/record.md, both from the classes of plugin_utils/record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from ansible_collections.winkube.node.plugins.plugin_utils.record.node_record import (
    FAILED,
    OK,
    SCHEMA,
    UNREACHABLE,
    NodeRecord,
)

Schema = dict[str, Any]
_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean"}
_CHOICES: Mapping[str, list[Any]] = {"schema": [SCHEMA], "state": [OK, FAILED, UNREACHABLE]}
HEADER = "| field | type | |"


def record_schema() -> Schema:
    """Of one line of the file."""
    about = "What one run of winkube.node did to one node: a line of winkube_record_file, and the fact winkube_record."
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "winkube.node: the record of a node"}
    return {**head, "description": about, **_of_class(NodeRecord)}


def _of_class(kind: Any) -> Schema:
    types = get_type_hints(kind)
    properties = {}
    for each in fields(kind):
        told = {"description": each.metadata["description"]} if "description" in each.metadata else {}
        choices = {"enum": _CHOICES[each.name]} if each.name in _CHOICES and kind is NodeRecord else {}
        properties[each.name] = {**told, **_of_type(types[each.name]), **choices}
    # Nothing is forbidden beside them: a later release may add a field without another version.
    return {"type": "object", "required": list(properties), "properties": properties}


def _of_type(kind: Any) -> Schema:
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return {}
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    if is_dataclass(kind):
        return _of_class(kind)
    if origin is UnionType:
        return {"anyOf": [{"type": "null"}, *(_of_type(each) for each in inner if each is not type(None))]}
    if origin is tuple:
        return {"type": "array", "items": _of_type(inner[0])}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _of_type(inner[1]) or True}
    raise TypeError(f"{kind}: the schema has no form for it")


def page_rows() -> list[str]:
    """The fields of the record, a row each."""
    types = get_type_hints(NodeRecord)
    return [
        f"| `{each.name}` | {_name(types[each.name])} | {each.metadata['description']} |" for each in fields(NodeRecord)
    ]


def _name(kind: Any) -> str:
    if is_dataclass(kind):
        return ", ".join(f"`{each.name}`" for each in fields(kind))
    origin, inner = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return " or ".join("null" if each is type(None) else _name(each) for each in inner)
    if origin is tuple:
        return f"list of {_name(inner[0])}"
    if origin is not None and issubclass(origin, Mapping):
        return "dict" if inner[1] is Any else f"dict of {_name(inner[1])}"
    return str(kind.__name__)
