# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CRI's messages, made at run time from api.proto beside this file, so that no generated code has to fit the protobuf
package of a controller.

Reads the part of the proto3 language that api.proto uses: messages, enums and services at the top level, scalar types,
`repeated` and `map<string, string>`. Source: protobuf.dev, Protocol Buffers language specification (proto3).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

API = Path(__file__).with_name("api.proto")

_COMMENT = re.compile(r"//[^\n]*")
_BLOCK = re.compile(r"^(message|enum|service) (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"(?:(repeated) )?(map<string, string>|\w+) (\w+) = (\d+);")
_VALUE = re.compile(r"(\w+) = (\d+);")
_RPC = re.compile(r"rpc (\w+)\((\w+)\) returns \((\w+)\) \{\}")
_SCALARS = frozenset({"string", "bool", "int64", "uint64", "uint32"})
_MAP = "map<string, string>"


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message; `type` is a scalar's name, `map<string, string>` or the name of a message or enum."""

    name: str
    number: int
    type: str
    repeated: bool


@dataclass(frozen=True, slots=True)
class Rpc:
    """A call, such as RuntimeService/Version, with the names of its messages."""

    service: str
    name: str
    request: str
    response: str


@dataclass(frozen=True, slots=True)
class Schema:
    """What api.proto says, by name."""

    messages: Mapping[str, tuple[Field, ...]]
    enums: Mapping[str, tuple[tuple[str, int], ...]]
    rpcs: Mapping[str, Rpc]


def read_schema(text: str) -> Schema:
    """`text` in the language above. ValueError for a line that is none of it."""
    messages: dict[str, tuple[Field, ...]] = {}
    enums: dict[str, tuple[tuple[str, int], ...]] = {}
    rpcs: dict[str, Rpc] = {}
    for kind, name, body in _BLOCK.findall(_COMMENT.sub("", text)):
        lines = [line.strip() for line in body.splitlines() if line.strip()]
        if kind == "message":
            found = [_match(_FIELD, line) for line in lines]
            messages[name] = tuple(Field(one[3], int(one[4]), one[2], bool(one[1])) for one in found)
        elif kind == "enum":
            enums[name] = tuple((one[1], int(one[2])) for one in (_match(_VALUE, line) for line in lines))
        else:
            rpcs |= {one[1]: Rpc(name, one[1], one[2], one[3]) for one in (_match(_RPC, line) for line in lines)}
    return Schema(messages, enums, rpcs)


def _match(pattern: re.Pattern[str], line: str) -> re.Match[str]:
    found = pattern.fullmatch(line)
    if found is None:
        raise ValueError(f"api.proto: '{line}' is not in the part of proto3 that is read here")
    return found


@cache
def schema() -> Schema:
    """That of api.proto beside this file."""
    return read_schema(API.read_text(encoding="utf-8"))


@cache
def message_classes(api: str) -> Mapping[str, Any]:
    """A protobuf class for each message, in the package `runtime.v1` or `runtime.v1alpha2` (`api` is the last part).

    The classes live in a pool of their own: a Kubernetes package that brings CRI's messages does not collide with them.
    ImportError without protobuf.
    """
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    known = schema()
    package = f"runtime.{api}"
    file: Any = descriptor_pb2.FileDescriptorProto()
    file.name, file.package, file.syntax = f"winkube/{api}/api.proto", package, "proto3"
    for name, values in known.enums.items():
        enum = file.enum_type.add(name=name)
        for value, number in values:
            enum.value.add(name=value, number=number)
    for name, fields in known.messages.items():
        message = file.message_type.add(name=name)
        for field in fields:
            _add_field(message, field, package, known)
    pool: Any = descriptor_pool.DescriptorPool()
    pool.Add(file)
    make: Any = message_factory.GetMessageClass
    return {name: make(pool.FindMessageTypeByName(f"{package}.{name}")) for name in known.messages}


def _add_field(message: Any, field: Field, package: str, known: Schema) -> None:
    added = message.field.add(name=field.name, number=field.number)
    many = field.repeated or field.type == _MAP
    added.label = added.LABEL_REPEATED if many else added.LABEL_OPTIONAL
    if field.type == _MAP:
        # A map is a repeated message of key and value, nested, with a name made from the field's.
        entry = message.nested_type.add(name=f"{field.name.title().replace('_', '')}Entry")
        entry.options.map_entry = True
        for number, name in ((1, "key"), (2, "value")):
            part = entry.field.add(name=name, number=number)
            part.label, part.type = part.LABEL_OPTIONAL, part.TYPE_STRING
        added.type, added.type_name = added.TYPE_MESSAGE, f".{package}.{message.name}.{entry.name}"
    elif field.type in _SCALARS:
        added.type = getattr(added, f"TYPE_{field.type.upper()}")
    else:
        added.type = added.TYPE_ENUM if field.type in known.enums else added.TYPE_MESSAGE
        added.type_name = f".{package}.{field.type}"
