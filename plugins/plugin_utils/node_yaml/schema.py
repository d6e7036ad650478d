# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks a located document against node.schema.json and says in sentences what does not fit.

The package `jsonschema` is not used: ansible-core does not depend on it, and its messages ("'x' does not match '^...'")
do not help a person. This checker knows the keywords that the schema uses and refuses a schema with others; a test
compares its verdicts with those of `jsonschema`. Checks that JSON Schema cannot express are named by `x-check`: each
takes a text and returns None, or what is wrong with it as the end of a sentence, "<value> ..., wanted <x-wanted>".
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .problems import HIDDEN, Position, Problem, did_you_mean, one_of, quote
from .tree import Mapping, Scalar, Sequence, Value

_LABEL = re.compile(r"^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$")
_HOST = re.compile(r"^[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9])?$")
_SCHEME = re.compile(r"^(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):")
_DRIVE = re.compile(r"^[A-Za-z]:[\\/]")

# What a person wrote after a backslash in double quotes, by the character that YAML made of it (YAML 1.1, section 5.7).
_ESCAPES = {
    "\0": "0", "\a": "a", "\b": "b", "\t": "t", "\n": "n", "\v": "v", "\f": "f", "\r": "r", "\x1b": "e",
    "\x85": "N", "\xa0": "_", "\u2028": "L", "\u2029": "P",
}  # fmt: skip


@dataclass(frozen=True)
class Address:
    """A host as Ansible wants it: IPv6 without brackets; port None when the text names none."""

    host: str
    port: int | None


def parse_address(text: str) -> Address:
    """Split `host:port`. Raises ValueError with the end of a sentence: what is wrong and what to do."""
    if "://" in text:
        raise ValueError("which is a URL; leave out the part before the host name and everything after the port")
    if "@" in text:
        raise ValueError("which holds a user; write it as username")
    if re.search(r"\s", text):
        raise ValueError("which holds a blank")
    if text.startswith("["):
        host, closed, rest = text[1:].partition("]")
        if not closed or (rest and not rest.startswith(":")):
            raise ValueError("which is not an IPv6 address in brackets; write '[::1]:22'")
        port_text = rest[1:] if rest else None
        try:
            ipaddress.IPv6Address(host)
        except ValueError:
            raise ValueError(f"in which '{host}' is not an IPv6 address") from None
    elif text.count(":") > 1:
        raise ValueError(
            "which could be an IPv6 address with or without a port; put the address in brackets and all of it in"
            " quotes: '[::1]:22'"
        )
    else:
        host, colon, port_part = text.partition(":")
        port_text = port_part if colon else None
        if re.fullmatch(r"[0-9.]+", host):
            try:
                ipaddress.IPv4Address(host)
            except ValueError:
                raise ValueError(f"in which '{host}' is not an IPv4 address") from None
        elif not _HOST.match(host):
            raise ValueError(f"in which '{host}' is not a host name")
    if port_text is None:
        return Address(host, None)
    if not re.fullmatch(r"[0-9]+", port_text):
        raise ValueError(f"in which the port '{port_text}' is not a number")
    if not 1 <= int(port_text) <= 65535:
        raise ValueError(f"in which the port {port_text} is not between 1 and 65535")
    return Address(host, int(port_text))


def escape(text: str) -> str | None:
    r"""The text with its control characters turned back into the escapes they came from, None if there are none.

    `"c:\bin"` in double quotes is `c:`, a backspace and `in`.
    """
    found = [char for char in text if char in _ESCAPES or ord(char) < 0x20 or ord(char) == 0x7F]
    if not found:
        return None
    return "".join(
        "\\" + _ESCAPES[char] if char in _ESCAPES else (f"\\x{ord(char):02x}" if char in found else char)
        for char in text
    )


def _address(text: str) -> str | None:
    try:
        parse_address(text)
    except ValueError as error:
        return str(error)
    return None


# What Ansible understands by itself where a host is named. Source: ansible-core inventory/data.py (the two groups that
# always exist) and constants.LOCALHOST (the controller).
_RESERVED = {
    "all": "which Ansible keeps for the group of every host",
    "ungrouped": "which Ansible keeps for the group of hosts without a group",
    "localhost": "which Ansible keeps for the machine that it runs on",
    "127.0.0.1": "which Ansible keeps for the machine that it runs on",
}


def _node_name(text: str) -> str | None:
    if text.lower() in _RESERVED:
        return _RESERVED[text.lower()]
    if any(len(part) > 63 for part in text.split(".")):
        return "in which a part is longer than 63 characters"
    bad = sorted({char for char in text if not re.match(r"[A-Za-z0-9.-]", char)})
    if bad:
        return f"in which {' '.join(bad)} is not allowed"
    if any(not _LABEL.match(part) for part in text.split(".")):
        return "in which a part is empty, or begins or ends with '-'"
    return None


def _source(text: str) -> str | None:
    if _DRIVE.match(text):
        return "which is a Windows path, but the file is taken from the controller or from a web server"
    scheme = _SCHEME.match(text)
    if not scheme:
        return None
    if scheme["scheme"] not in ("http", "https", "file"):
        return f"in which '{scheme['scheme']}' is a scheme that nothing here can fetch"
    try:
        parts = urlsplit(text)
        port_ok = parts.port is None or parts.port > 0
    except ValueError:
        return "which is not a valid URL"
    if scheme["scheme"] != "file" and not (parts.hostname and port_ok):
        return "in which the host is missing"
    if scheme["scheme"] == "file" and (parts.netloc or not parts.path.startswith("/")):
        return "which is not a file address; write file:/// and an absolute path"
    if parts.username or parts.password:
        return "which holds a user or a password; they would be seen in logs"
    if re.search(r"\s", text):
        return "which holds a blank; write %20"
    return None


def _windows_file(text: str) -> str | None:
    if text.endswith(("\\", "/")):
        return "which is a folder; add the file's name"
    if text.startswith(("\\\\", "//")):
        return "which is on another machine; a service's program lies on a drive of the node"
    if not _DRIVE.match(text):
        return "which is not absolute; begin with the drive"
    if "." not in re.split(r"[\\/]", text)[-1]:
        return "which looks like a folder, since its last part has no extension; add the file's name"
    return None


def _ip(text: str) -> str | None:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return "which is not an IP address"
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


def _key_path(text: str) -> str | None:
    if "PRIVATE KEY-----" in text:
        return "which is a key itself; keep the key in a file and write its path"
    if text.endswith(".pub"):
        return "which is a public key; leave out .pub"
    return None


CHECKS: dict[str, Callable[[str], str | None]] = {
    "address": _address,
    "node-name": _node_name,
    "source": _source,
    "windows-file": _windows_file,
    "ip": _ip,
    "cidr": _cidr,
    "key-path": _key_path,
}


SCHEMA_FILE = Path(__file__).with_name("node.schema.json")
_TEMPLATE = re.compile(r"\{\{|\{%|\{#")
_ANNOTATIONS = frozenset({"$schema", "$id", "$defs", "title", "description", "default", "deprecated", "x-extension"})
KEYWORDS = _ANNOTATIONS | {
    "$ref", "type", "const", "enum", "pattern", "minLength", "maxLength", "minimum", "maximum", "items", "properties",
    "required", "additionalProperties", "anyOf", "if", "then", "else",
    "x-wanted", "x-check", "x-template", "x-vault", "x-secret", "x-hints", "x-variable", "x-convert", "x-optional",
}  # fmt: skip

Schema = dict[str, Any]

_NAMES = {
    "string": "text", "boolean": "true or false", "integer": "a whole number", "object": "a mapping", "array": "a list",
    "null": "nothing",
}  # fmt: skip


@cache
def node_schema() -> Schema:
    """The published schema, as it is in the file."""
    schema: Schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    return schema


def resolved(schema: Schema) -> Schema:
    """A part of the published schema, with what its reference stands for."""
    return Checker(node_schema()).resolved(schema)


def has_template(value: object) -> bool:
    return isinstance(value, str) and _TEMPLATE.search(value) is not None


@dataclass(frozen=True)
class Checker:
    """`hide`: no value is shown in any sentence (the whole file is vaulted)."""

    schema: Schema
    hide: bool = False

    def problems(self, value: Value) -> list[Problem]:
        return list(self._check(self.schema, value, "", value.at))

    def resolved(self, schema: Schema) -> Schema:
        """With what its reference stands for. ValueError for a keyword that nothing here knows."""
        unknown = schema.keys() - KEYWORDS
        if unknown:
            raise ValueError(f"node.schema.json uses keywords that the checker does not know: {sorted(unknown)}")
        reference = schema.get("$ref")
        if reference is None:
            return schema
        target = self.schema
        for part in reference.removeprefix("#/").split("/"):
            target = target[part]
        return {**self.resolved(target), **{key: item for key, item in schema.items() if key != "$ref"}}

    def _check(self, schema: Schema, value: Value, where: str, at: Position) -> Iterator[Problem]:
        schema = self.resolved(schema)
        if isinstance(value, Scalar) and value.value is None and value.source.startswith("&"):
            found = f"found nothing for {where}, since YAML takes a & at the beginning for an anchor"
            yield Problem(at, f"{found}; wanted {_describe_wanted(schema)}: put the value in quotes.", where)
            return
        if "anyOf" in schema:
            branches = [branch for branch in map(self.resolved, schema["anyOf"]) if _type(value) in _types(branch)]
            if branches:
                yield from self._check(branches[0], value, where, at)
            else:
                yield self._wrong_type(schema, value, where, at)
            return
        if _types(schema) and _type(value) not in _types(schema):
            yield self._wrong_type(schema, value, where, at)
            return
        if isinstance(value, Mapping):
            yield from self._mapping(schema, value, where, at)
        elif isinstance(value, Sequence):
            for index, item in enumerate(value.items):
                yield from self._check(schema.get("items", {}), item, f"{where}[{index}]", item.at)
        else:
            yield from self._scalar(schema, value, where, at)

    def _mapping(self, schema: Schema, value: Mapping, where: str, at: Position) -> Iterator[Problem]:
        known: dict[str, Schema] = schema.get("properties", {})
        yield from self._check_required(schema, value, where, at)
        for member in value.members:
            path = f"{where}.{member.key}" if where else member.key
            if member.key in known:
                yield from self._check(known[member.key], member.value, path, member.at_value)
                continue
            others = schema.get("additionalProperties", True)
            if others is False:
                yield Problem(member.at, self._unknown_key(schema, value, member.key, where), path)
            elif isinstance(others, dict):
                yield from self._check(others, member.value, path, member.value.at)
        if "if" in schema:
            branch = "else" if list(self._check(schema["if"], value, where, at)) else "then"
            yield from self._check_required(schema.get(branch, {}), value, where, at)

    def _check_required(self, schema: Schema, value: Mapping, where: str, at: Position) -> Iterator[Problem]:
        # A misspelt key is one mistake, not two.
        meant = {self._guess_key(schema, value, member.key) for member in value.members}
        for key in schema.get("required", ()):
            if value.member(key) is None and key not in meant:
                path = f"{where}.{key}" if where else key
                wanted = self.resolved(schema.get("properties", {}).get(key, {})).get("x-wanted")
                tail = f"'{key}:' with {wanted}" if wanted else f"'{key}:'"
                yield Problem(at, f"found no {key} in {where or 'the document'}, wanted {tail}.", path)

    def _guess_key(self, schema: Schema, value: Mapping, key: str) -> str | None:
        """The key that a misspelt one stands for; None for a key that is known, or like none that is missing."""
        known = schema.get("properties", {})
        if key in known or key in schema.get("x-hints", {}):
            return None
        return did_you_mean(key, [name for name in known if value.member(name) is None])

    def _unknown_key(self, schema: Schema, value: Mapping, key: str, where: str) -> str:
        block = where or "the document"
        hint = schema.get("x-hints", {}).get(key)
        if hint:
            return f"found the key {quote(key)} in {block}, which is not used here: {hint}."
        known = [name for name, item in schema["properties"].items() if not self.resolved(item).get("deprecated")]
        meant = self._guess_key(schema, value, key)
        remedy = f"did you mean {meant}?" if meant else "remove it or look for a wrong indentation."
        return f"found the unknown key {quote(key)} in {block}, wanted {one_of(known)}: {remedy}"

    def _scalar(self, schema: Schema, value: Scalar, where: str, at: Position) -> Iterator[Problem]:
        wanted = _describe_wanted(schema)
        if value.tag == "vault":
            if not schema.get("x-vault"):
                sentence = (
                    f"found a vaulted value for {where}, wanted {wanted}; the inventory needs this value when it is "
                    "read, so it cannot be encrypted by itself (vault the whole file, or only the password)."
                )
                yield Problem(at, sentence, where)
            return
        if value.value is None:
            return
        text = value.value if isinstance(value.value, str) else None
        if text is not None and has_template(text) and value.tag != "unsafe":
            if not schema.get("x-template"):
                sentence = (
                    f"found {self._show(schema, text, 'the template ')} for {where}, wanted {wanted}; this value is "
                    "needed when the inventory is read, before any variable has a value."
                )
                yield Problem(at, sentence, where)
            return
        written = escape(text) if text is not None and not schema.get("x-secret") else None
        if written is not None:
            sentence = (
                f"found {self._show(schema, written)} in double quotes for {where}, in which a backslash and a letter "
                f"became a control character; wanted {wanted} without quotes or in single quotes."
            )
            yield Problem(at, sentence, where)
            return
        found = self._show(schema, text if text is not None else value.text)
        if "const" in schema and value.value != schema["const"]:
            yield Problem(at, f"found {found} for {where}, wanted {schema['const']}.", where)
        elif "enum" in schema and value.value not in schema["enum"]:
            meant = did_you_mean(value.text, schema["enum"])
            remedy = f": did you mean {meant}?" if meant else "."
            yield Problem(at, f"found {found} for {where}, wanted {wanted}{remedy}", where)
        elif text is not None:
            reason = CHECKS[schema["x-check"]](text) if "x-check" in schema and text else None
            if reason is not None:
                yield Problem(at, f"found {found} for {where}, {self._reason(reason)}; wanted {wanted}.", where)
            elif len(text) < schema.get("minLength", 0):
                yield Problem(at, f"found an empty value for {where}, wanted {wanted}.", where)
            elif len(text) > schema.get("maxLength", len(text)) or not re.search(schema.get("pattern", ""), text):
                yield Problem(at, f"found {found} for {where}, wanted {wanted}.", where)
        elif "minimum" in schema and not schema["minimum"] <= value.value <= schema["maximum"]:
            span = f"between {schema['minimum']} and {schema['maximum']}"
            yield Problem(at, f"found {found} for {where}, wanted {wanted}, {span}.", where)

    def _wrong_type(self, schema: Schema, value: Value, where: str, at: Position) -> Problem:
        wanted, remedy = _describe_wanted(schema), ""
        if isinstance(value, Mapping):
            found = "a mapping"
        elif isinstance(value, Sequence):
            found = "a list"
        elif value.value is None:
            found = "nothing"
        elif isinstance(value.value, str):
            found = self._show(schema, value.text, "the text ")
            if "boolean" in _types(schema) and value.text.lower() in ("true", "false", "yes", "no", "on", "off"):
                remedy = "; leave out the quotes"
        else:
            found = self._misread(schema, value)
            if "anyOf" in schema or self._fits(schema, value.text):
                quoted = '"..."' if self._hidden(schema) else f'"{value.text}"'
                remedy = f"; put it in quotes: {quoted}"
            elif self._fits(schema, dotted := _join_version(value.text)) and not self._hidden(schema):
                remedy = f"; write it with dots: {dotted}"
        return Problem(at, f"found {found} for {where or 'the document'}, wanted {wanted}{remedy}.", where)

    def _fits(self, schema: Schema, text: str) -> bool:
        """Whether the text alone would be right: quotes around 1.30 help little where three numbers are wanted."""
        if "string" not in _types(schema) or not re.search(schema.get("pattern", ""), text):
            return False
        return "x-check" not in schema or CHECKS[schema["x-check"]](text) is None

    def _misread(self, schema: Schema, value: Scalar) -> str:
        if isinstance(value.value, bool):
            kind = "true or false"
        else:
            kind = "a number" if isinstance(value.value, (int, float)) else "a date"
        if self._hidden(schema):
            return f"a value that YAML reads as {kind}"
        if kind == "a number" and str(value.value) != value.text:
            return f"{quote(value.text)}, which YAML reads as the number {value.value},"
        if isinstance(value.value, float):
            return f"{quote(value.text)}, which YAML reads as a number (1.30 would become 1.3),"
        return f"{quote(value.text)}, which YAML reads as {kind},"

    def _hidden(self, schema: Schema) -> bool:
        return self.hide or bool(schema.get("x-secret"))

    def _show(self, schema: Schema, text: str, kind: str = "") -> str:
        return HIDDEN if self._hidden(schema) else f"{kind}{quote(text)}"

    def _reason(self, reason: str) -> str:
        return "which does not fit" if self.hide else reason


def _join_version(text: str) -> str:
    """`1:30:00`, which YAML takes for a number to the base of 60, as the version that it was meant to be: 1.30.0."""
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
    kind = schema.get("type")
    if kind is not None:
        return (kind,) if isinstance(kind, str) else tuple(kind)
    if "const" in schema or "enum" in schema:
        return ("string",)
    return ()


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
