# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks a document against node.schema.json and reports each mismatch as a sentence.

The package `jsonschema` is not used: ansible-core does not depend on it, and its messages ("'x' does not match '^...'")
do not help a person. This checker knows the keywords that the schema uses; tests compare its verdicts with those of
`jsonschema`. The schema's `x-refuse` says why a text that matches a pattern does not fit. `x-check` names a check that
needs more than a pattern: it takes a text and returns None, or the reason as the end of a sentence, "<value> ...".
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ..foreign import spelling
from .problems import HIDDEN, Position, Problem, one_of, quote
from .tree import Mapping, Scalar, Sequence, Value

Schema = dict[str, Any]

SCHEMA_FILE = Path(__file__).with_name("node.schema.json")
_TEMPLATE = re.compile(r"\{\{|\{%|\{#")
_ADDRESS = re.compile(r"(?:\[(?P<inside>[^\]]*)\]|(?P<host>[^:\[]*))(?::(?P<port>.*))?")
_HOST = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9])?")

# What a person wrote after a backslash in double quotes, by the character that YAML made of it (YAML 1.1, section 5.7).
_ESCAPES = {
    "\0": "0", "\a": "a", "\b": "b", "\t": "t", "\n": "n", "\v": "v", "\f": "f", "\r": "r", "\x1b": "e",
    "\x85": "N", "\xa0": "_", "\u2028": "L", "\u2029": "P",
}  # fmt: skip

_NAMES = {
    "string": "text", "boolean": "true or false", "integer": "a whole number", "object": "a mapping", "array": "a list",
    "null": "nothing",
}  # fmt: skip


@cache
def node_schema() -> Schema:
    """The published schema."""
    schema: Schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    return schema


def resolve(schema: Schema) -> Schema:
    """A part of the published schema with its reference resolved."""
    reference = schema.get("$ref")
    if reference is None:
        return schema
    target = node_schema()["$defs"][reference.removeprefix("#/$defs/")]
    return {**resolve(target), **{key: item for key, item in schema.items() if key != "$ref"}}


def has_template(value: object) -> bool:
    return isinstance(value, str) and _TEMPLATE.search(value) is not None


@dataclass(frozen=True)
class Address:
    """A host as Ansible expects it: IPv6 without brackets; port None if the text has none."""

    host: str
    port: int | None


def parse_address(text: str) -> Address:
    """Split `host:port`. Raises ValueError with the reason as the end of a sentence."""
    if text.count(":") > 1 and not text.startswith("["):
        raise ValueError(
            "which could be an IPv6 address with or without a port; put the address in brackets and all of it in"
            " quotes: '[::1]:22'"
        )
    found = _ADDRESS.fullmatch(text)
    if found is None:
        raise ValueError("which is not an IPv6 address in brackets; write '[::1]:22'")
    inside, host, port = found.groups()
    if inside is not None:
        host = inside
        right, form = _ip(host, 6) is None, "an IPv6 address"
    elif re.fullmatch(r"[0-9.]+", host):
        right, form = _ip(host, 4) is None, "an IPv4 address"
    else:
        right, form = _HOST.fullmatch(host) is not None, "a host name"
    if not right:
        raise ValueError(f"in which '{host}' is not {form}")
    if port is None:
        return Address(host, None)
    if not re.fullmatch(r"[0-9]+", port):
        raise ValueError(f"in which the port '{port}' is not a number")
    if not 1 <= int(port) <= 65535:
        raise ValueError(f"in which the port {port} is not between 1 and 65535")
    return Address(host, int(port))


def _address(text: str) -> str | None:
    try:
        parse_address(text)
    except ValueError as error:
        return str(error)
    return None


def _ip(text: str, version: int | None = None) -> str | None:
    try:
        right = ipaddress.ip_address(text).version in (version or 4, version or 6)
    except ValueError:
        right = False
    return None if right else "which is not an IP address"


def _url(text: str) -> str | None:
    """Check what the patterns of the schema leave open."""
    try:
        parts = urlsplit(text)
        right = parts.port != 0
    except ValueError:
        right = False
    if not right:
        return "which is not a valid URL"
    if parts.scheme in ("http", "https") and not parts.hostname:
        return "in which the host is missing"
    return None


def _cidr(text: str) -> str | None:
    """One network, or two of different families with a comma between them. Whether the network mode takes two is not
    known here: `networks.range_problems` says it of a variable and of a Node YAML alike."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) == 1:
        return _network(text)
    for part in parts:
        reason = _network(part)
        if reason is not None:
            return f"in which '{part}' is one {reason}"
    if len(parts) > 2 or len({ipaddress.ip_network(part).version for part in parts}) == 1:
        return "which holds more than one network of one family"
    return None


def _network(text: str) -> str | None:
    if "/" not in text:
        return "which has no prefix length"
    try:
        ipaddress.ip_network(text)
    except ValueError as error:
        if "host bits" in str(error):
            return f"which is an address in the network {ipaddress.ip_network(text, strict=False)}; write the network"
        return "which is not a network"
    return None


CHECKS: dict[str, Callable[[str], str | None]] = {"address": _address, "url": _url, "ip": _ip, "cidr": _cidr}


def _find_reason(schema: Schema, text: str) -> str | None:
    """Why a text is refused, or None."""
    for pattern, reason in schema.get("x-refuse", ()):
        if match := re.search(pattern, text):
            return str(reason).format(match[0])
    return CHECKS[schema["x-check"]](text) if "x-check" in schema else None


def escape(text: str) -> str | None:
    r"""Turn control characters back into the escapes they came from; None if the text has none.

    `"c:\bin"` in double quotes is `c:`, a backspace and `in`.
    """
    found = [char for char in text if char in _ESCAPES or ord(char) < 0x20 or ord(char) == 0x7F]
    if not found:
        return None
    return "".join(
        "\\" + _ESCAPES[char] if char in _ESCAPES else (f"\\x{ord(char):02x}" if char in found else char)
        for char in text
    )


class _Fault(NamedTuple):
    """Parts of a sentence: what was found, the reason, and the text after what is wanted."""

    found: str
    reason: str = ""
    remedy: str = "."


@dataclass(frozen=True)
class Checker:
    """`hide`: show no values in sentences, since the whole file is vaulted."""

    hide: bool = False

    def problems(self, value: Value) -> list[Problem]:
        return list(self._check(node_schema(), value, "", value.at))

    def _check(self, schema: Schema, value: Value, where: str, at: Position) -> Iterator[Problem]:
        schema = resolve(schema)
        branches = map(resolve, schema.get("anyOf", [schema]))
        fitting = next((branch for branch in branches if _takes(branch, value)), None)
        if fitting is None:
            yield _problem(schema, where, at, self._wrong_type(schema, value))
        elif isinstance(value, Mapping):
            yield from self._mapping(fitting, value, where, at)
        elif isinstance(value, Sequence):
            for index, item in enumerate(value.items):
                yield from self._check(fitting.get("items", {}), item, f"{where}[{index}]", item.at)
        elif fault := self._scalar(fitting, value):
            yield _problem(fitting, where, at, fault)

    def _mapping(self, schema: Schema, value: Mapping, where: str, at: Position) -> Iterator[Problem]:
        known: dict[str, Schema] = schema.get("properties", {})
        yield from _check_required(schema, value, where, at)
        for member in value.members:
            path = f"{where}.{member.key}" if where else member.key
            if member.key in known:
                yield from self._check(known[member.key], member.value, path, member.at_value)
                continue
            others = schema.get("additionalProperties", True)
            if others is False:
                yield Problem(member.at, _unknown_key(schema, value, member.key, where), path)
            elif isinstance(others, dict):
                yield from self._check(others, member.value, path, member.value.at)
        if "if" in schema:
            branch = "else" if list(self._check(schema["if"], value, where, at)) else "then"
            yield from _check_required(schema.get(branch, {}), value, where, at)

    def _scalar(self, schema: Schema, value: Scalar) -> _Fault | None:
        if value.tag == "vault":
            remedy = (
                "; the inventory needs this value when it is read, so it cannot be encrypted by itself (vault the whole"
                " file, or only the password)."
            )
            return None if schema.get("x-vault") else _Fault("a vaulted value", remedy=remedy)
        if isinstance(value.value, str):
            return self._text(schema, value.value, template=has_template(value.value) and value.tag != "unsafe")
        least, most = schema.get("minimum"), schema.get("maximum")
        if least is None or value.value is None or least <= value.value <= most:
            return None
        return _Fault(self._show(schema, value.text), remedy=f", between {least} and {most}.")

    def _text(self, schema: Schema, text: str, *, template: bool) -> _Fault | None:
        if template:
            remedy = "; this value is needed when the inventory is read, before any variable has a value."
            return None if schema.get("x-template") else _Fault(self._show(schema, text, "the template "), "", remedy)
        written = None if schema.get("x-secret") else escape(text)
        if written is not None:
            return _Fault(
                f"{self._show(schema, written)} in double quotes",
                "in which a backslash and a letter became a control character",
                " without quotes or in single quotes.",
            )
        found = self._show(schema, text)
        choices = [schema["const"]] if "const" in schema else schema.get("enum", [text])
        if text not in choices:
            hints = schema.get("x-hints", {})
            # Where there is one value, only its case may be meant otherwise: Nodes may be a List.
            guess = "enum" in schema or text.casefold() == choices[0].casefold()
            meant = spelling.meant(text, choices) if guess else ""
            hint = hints.get(text, hints.get("*"))
            return _Fault(found, remedy=f": did you mean {meant}?" if meant else f": {hint}." if hint else ".")
        if len(text) < schema.get("minLength", 0):
            return _Fault("an empty value")
        reason = _find_reason(schema, text) if text else None
        if reason is not None:
            return _Fault(found, "which does not fit" if self.hide else reason)
        if len(text) > schema.get("maxLength", len(text)) or not re.search(schema.get("pattern", ""), text):
            return _Fault(found)
        return None

    def _wrong_type(self, schema: Schema, value: Value) -> _Fault:
        if isinstance(value, Mapping):
            return _Fault("a mapping")
        if isinstance(value, Sequence):
            return _Fault("a list")
        if _is_lost(value):
            return _Fault(
                "nothing", "since YAML takes a & at the beginning for an anchor", ": put the value in quotes."
            )
        if value.value is None:
            return _Fault("nothing")
        if isinstance(value.value, str):
            quoted = "boolean" in _types(schema) and value.text.lower() in ("true", "false", "yes", "no", "on", "off")
            return _Fault(self._show(schema, value.text, "the text "), "", "; leave out the quotes." if quoted else ".")
        found = self._misread(schema, value)
        if "anyOf" in schema or _fits(schema, value.text):
            return _Fault(found, "", '; put it in quotes: "{}".'.format("..." if self._hides(schema) else value.text))
        if _fits(schema, dotted := _join_version(value.text)) and not self._hides(schema):
            return _Fault(found, "", f"; write it with dots: {dotted}.")
        return _Fault(found)

    def _misread(self, schema: Schema, value: Scalar) -> str:
        if isinstance(value.value, bool):
            kind = "true or false"
        else:
            kind = "a number" if isinstance(value.value, (int, float)) else "a date"
        if self._hides(schema):
            return f"a value that YAML reads as {kind}"
        if kind == "a number" and str(value.value) != value.text:
            return f"{quote(value.text)}, which YAML reads as the number {value.value},"
        if isinstance(value.value, float):
            return f"{quote(value.text)}, which YAML reads as a number (1.30 would become 1.3),"
        return f"{quote(value.text)}, which YAML reads as {kind},"

    def _hides(self, schema: Schema) -> bool:
        return self.hide or bool(schema.get("x-secret"))

    def _show(self, schema: Schema, text: str, kind: str = "") -> str:
        return HIDDEN if self._hides(schema) else f"{kind}{quote(text)}"


def _problem(schema: Schema, where: str, at: Position, fault: _Fault) -> Problem:
    why = f", {fault.reason};" if fault.reason else ","
    wanted = _describe_wanted(schema)
    return Problem(at, f"found {fault.found} for {where or 'the document'}{why} wanted {wanted}{fault.remedy}", where)


def _check_required(schema: Schema, value: Mapping, where: str, at: Position) -> Iterator[Problem]:
    # A misspelt key is one mistake, not two.
    meant = {_guess_key(schema, value, member.key) for member in value.members}
    for key in schema.get("required", ()):
        if value.member(key) is None and key not in meant:
            item = resolve(schema.get("properties", {}).get(key, {}))
            right = f"{key}: {item['const']}" if "const" in item else f"{key}:"
            tail = f" with {item['x-wanted']}" if "x-wanted" in item else ""
            text = f"found no {key} in {where or 'the document'}, wanted '{right}'{tail}."
            yield Problem(at, text, f"{where}.{key}" if where else key)


def _guess_key(schema: Schema, value: Mapping, key: str) -> str:
    """The missing key that a misspelt one resembles; empty for none."""
    known = schema.get("properties", {})
    if key in known or key in schema.get("x-hints", {}):
        return ""
    return spelling.meant(key, [name for name in known if value.member(name) is None])


def _unknown_key(schema: Schema, value: Mapping, key: str, where: str) -> str:
    block = where or "the document"
    hint = schema.get("x-hints", {}).get(key)
    if hint:
        return f"found the key {quote(key)} in {block}, which is not used here: {hint}."
    known = [name for name, item in schema["properties"].items() if not resolve(item).get("deprecated")]
    meant = _guess_key(schema, value, key)
    remedy = f"did you mean {meant}?" if meant else "remove it or look for a wrong indentation."
    return f"found the unknown key {quote(key)} in {block}, wanted {one_of(known)}: {remedy}"


def _fits(schema: Schema, text: str) -> bool:
    """Whether the text would be valid in quotes: quotes around 1.30 do not help where three numbers are wanted."""
    right = "string" in _types(schema) and re.search(schema.get("pattern", ""), text) is not None
    return right and _find_reason(schema, text) is None


def _join_version(text: str) -> str:
    """Turn `1:30:00`, which YAML reads as a base-60 number, into the version 1.30.0."""
    return ".".join(str(int(part)) if part.isdecimal() else part for part in text.split(":"))


def _describe_wanted(schema: Schema) -> str:
    if "x-wanted" in schema:
        return str(schema["x-wanted"])
    if "const" in schema:
        return str(schema["const"])
    if "enum" in schema:
        # A spelling in lower case stands for the others.
        return one_of(
            dict.fromkeys(item.lower() if item.lower() in schema["enum"] else item for item in schema["enum"])
        )
    return one_of([_NAMES[name] for name in _types(schema)] or ["another value"])


def _types(schema: Schema) -> tuple[str, ...]:
    """The JSON Schema types that a part of the schema allows; empty for any type."""
    kind = schema.get("type")
    if kind is not None:
        return (kind,) if isinstance(kind, str) else tuple(kind)
    return ("string",) if "const" in schema or "enum" in schema else ()


def _takes(schema: Schema, value: Value) -> bool:
    types = _types(schema)
    return not _is_lost(value) and (not types or _type(value) in types)


def _is_lost(value: Value) -> bool:
    """Whether YAML took a text that begins with & for an anchor, which leaves no value."""
    return isinstance(value, Scalar) and value.value is None and value.source.startswith("&")


def _type(value: Value) -> str:
    if isinstance(value, Mapping):
        return "object"
    if isinstance(value, Sequence):
        return "array"
    if value.value is None:
        return "null"
    if isinstance(value.value, bool):
        return "boolean"
    if isinstance(value.value, str):
        return "string"
    return "integer" if isinstance(value.value, int) else "other"
