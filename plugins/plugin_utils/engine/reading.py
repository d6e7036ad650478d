# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known about a node: read once, passed from task to task, trusted only for a limited time.

Shape of a reading in facts: `{schema, run, machine, boot_id, taken_at, predicted, parts: {key: value}}`, without
secrets. Keys: `system`, `services` (the listed names), `service:<name>`, `file:<path key>`, `pipe:<name>`,
`registry:<path>`; values as in docs/protocol.md, section 1.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from . import windows_path
from .environment import mask_value, mask_values

SCHEMA = 1

CONFIDENTIAL = "confidential:"
"""Key prefix of parts that never leave the task: neither in facts nor in results."""

VARIABLE = "variable:"
"""Key prefix of the machine's variables; the reading keeps only fingerprints of their values."""

Value = Any
"""A JSON value as a node returned it."""


@dataclass(frozen=True, slots=True)
class Query:
    """One thing to read. `key` names it in the reading; `op` and `args` are the probe's (docs/protocol.md)."""

    key: str
    op: str
    args: tuple[tuple[str, Value], ...] = ()

    def wire(self) -> dict[str, Value]:
        """The query as the probe takes it."""
        return {"key": self.key, "op": self.op, **{name: _thaw(value) for name, value in self.args}}


_IDENTITY = {"file": ("exists", "kind"), "registry": ("exists", "value")}
"""Fields that tell whether a thing is still the one that was read, by the probe's op."""

_IF_ASKED = ("sha256", "sddl", "inside")
"""The same, only if the query asks for them: the reading may have them from another component."""


def _thaw(value: Value) -> Value:
    return list(value) if isinstance(value, tuple) else value


@dataclass(frozen=True, slots=True)
class Expectation:
    """A fact that the plan relied on: if `query` no longer answers `expect`, nothing is done and the answer is
    `stale`."""

    query: Query
    expect: tuple[tuple[str, Any], ...]

    def wire(self) -> dict[str, Any]:
        """The expectation as node_apply takes it."""
        return {"key": self.query.key, "query": self.query.wire(), "expect": dict(self.expect)}


def expect_unchanged(query: Query, reading: Reading) -> Expectation | None:
    """The expectation that a file, folder or registry value is still as it was read; None for a query that is not
    about one thing, such as a list of services."""
    if query.op not in _IDENTITY:
        return None
    found, asked = reading.parts[query.key], dict(query.args)
    names = (*_IDENTITY[query.op], *(name for name in _IF_ASKED if asked.get(name)))
    return Expectation(query, tuple((name, found[name]) for name in names if name in found))


def file_query(
    path: str,
    *,
    sha256: bool = False,
    content_limit: int = 0,
    sddl: bool = False,
    entries: bool = False,
    inside: tuple[str, ...] = (),
) -> Query:
    """A query for the file or folder at `path`: whether it exists, its kind, and what the options ask for. `inside`
    are endings of file names: the answer lists those files of a folder that are links or have their own owner or
    access list."""
    asked = {"sha256": sha256, "content_limit": content_limit, "sddl": sddl, "entries": entries, "inside": inside}
    return Query(file_key(path), "file", (("path", path), *((name, value) for name, value in asked.items() if value)))


def services_query(names: Iterable[str]) -> Query:
    """A query for the services outside the Windows folder, those in `names`, and what depends on them."""
    return Query("services", "services", (("names", tuple(sorted({name.casefold() for name in names}))),))


def system_query() -> Query:
    """The machine itself: id, boot, build, clock, free space."""
    return Query("system", "system")


def pipe_query(name: str) -> Query:
    """Whether a named pipe is there."""
    return Query(f"pipe:{name.casefold()}", "pipe", (("name", name),))


def http_query(url: str, service: str = "") -> Query:
    """A query for what the node itself gets from a URL. With `service` only while that runs, since a port without a
    listener costs the whole time limit."""
    return Query(f"http:{url}", "http", (("url", url), *((("service", service),) if service else ())))


def file_key(path: str) -> str:
    """The key of a file in a reading."""
    return f"file:{windows_path.key(path)}"


def service_key(name: str) -> str:
    """The key of a service in a reading."""
    return f"service:{name.casefold()}"


def merge_queries(queries: Iterable[Query]) -> tuple[Query, ...]:
    """One query per key: if two components ask for the same file, they get the union of their questions."""
    merged: dict[str, Query] = {}
    for query in queries:
        known = merged.get(query.key)
        merged[query.key] = query if known is None else replace(known, args=_union(dict(known.args), dict(query.args)))
    return tuple(merged.values())


def widen(queries: Iterable[Query], plan: Iterable[Query]) -> tuple[Query, ...]:
    """`queries`, extended by what `plan` asks about the same things: a new answer replaces the old one entirely."""
    wanted = tuple(queries)
    keys = {query.key for query in wanted}
    return merge_queries((*wanted, *(query for query in plan if query.key in keys)))


def _union(left: dict[str, Value], right: dict[str, Value]) -> tuple[tuple[str, Value], ...]:
    union = dict(left)
    for name, value in right.items():
        if isinstance(value, tuple):
            union[name] = tuple(sorted({*union.get(name, ()), *value}))
        elif isinstance(value, int):  # switches and limits: the wider one
            union[name] = max(union.get(name, value), value)
    return tuple(union.items())


@dataclass(frozen=True, slots=True)
class Reading:
    """The parts of a node that were read, and where and when."""

    parts: Mapping[str, Value] = field(default_factory=dict)
    run: str = ""
    taken_at: float = 0.0
    predicted: bool = False

    @property
    def machine(self) -> str:
        """MachineGuid: it survives a new name and new addresses."""
        return str(self.parts.get("system", {}).get("machine", ""))

    @property
    def boot_id(self) -> str:
        """Differs after each boot."""
        return str(self.parts.get("system", {}).get("boot_id", ""))

    @property
    def free_bytes(self) -> Mapping[str, Any]:
        """Bytes that are free on each fixed drive, by its letter (`C:`); empty if they were not read."""
        return self.parts.get("system", {}).get("free_bytes") or {}

    @property
    def build(self) -> int | None:
        """The build of Windows, 20348 for Server 2022; None if it was not read."""
        build = (self.parts.get("system", {}).get("os") or {}).get("build")
        return int(build) if build is not None else None

    def find_missing(self, queries: Iterable[Query]) -> tuple[Query, ...]:
        """The queries that the reading does not answer completely."""
        return tuple(query for query in merge_queries(queries) if not self._answers(query))

    def _answers(self, query: Query) -> bool:
        if query.op == "services":
            listed = self.parts.get("services", ())
            return "services" in self.parts and set(dict(query.args)["names"]) <= set(listed)
        known = self.parts.get(query.key)
        if not isinstance(known, Mapping):
            return isinstance(known, list)
        if query.op != "file" or not known.get("exists") or known.get("kind") == "link":
            return True
        asked = dict(query.args)
        if known.get("kind") == "directory":
            return all(name in known for name in ("sddl", "entries", "inside") if asked.get(name))
        needs = [name for name in ("sha256", "sddl") if asked.get(name)]
        needs += ["content"] if asked.get("content_limit", 0) else []
        return all(name in known for name in needs)

    def file(self, path: str) -> Mapping[str, Value]:
        """The answer for `path`; `{"exists": False}` if there is no file. KeyError if it was not read."""
        value: Mapping[str, Value] = self.parts[file_key(path)]
        return value

    def text(self, path: str) -> str | None:
        """The content of a small UTF-8 file, None if it is absent, too large or not text."""
        content = self.file(path).get("content")
        if content is None:
            return None
        try:
            return base64.b64decode(content).decode("utf-8-sig")
        except (ValueError, UnicodeDecodeError):
            return None

    def service(self, name: str) -> Mapping[str, Value] | None:
        """A service from the list, None if no service has that name. KeyError if services were not read."""
        if "services" not in self.parts:
            raise KeyError("services")
        value: Mapping[str, Value] | None = self.parts.get(service_key(name))
        return value

    def services(self) -> Iterator[Mapping[str, Value]]:
        """All listed services."""
        for part, value in self.parts.items():
            if part.startswith("service:") and value is not None:
                yield value

    def merge(
        self, answers: Mapping[str, Value], queries: Iterable[Query] = (), *, predicted: bool | None = None
    ) -> Reading:
        """The reading with new answers. A list of services replaces all known services."""
        parts = dict(self.parts)
        for part, value in answers.items():
            if part == "services" and isinstance(value, list):
                parts = {known: old for known, old in parts.items() if not known.startswith("service:")}
                parts.update({service_key(service["name"]): mask_values(service) for service in value})
                asked = next((dict(query.args)["names"] for query in queries if query.op == "services"), ())
                parts["services"] = sorted({*asked, *(service["name"].casefold() for service in value)})
            elif part.startswith(VARIABLE):
                parts[part] = mask_value(part.removeprefix(VARIABLE), value)
            else:
                parts[part] = value
        return replace(self, parts=parts, predicted=self.predicted if predicted is None else predicted)

    def complete(self, queries: Iterable[Query], probe: Callable[[tuple[Query, ...]], Mapping[str, Value]]) -> Reading:
        """The reading with its missing answers; `probe` is called only if some are missing. Planned parts stay,
        including planned services, though an answer lists all services."""
        missing = self.find_missing(queries)
        if not missing:
            return self
        found = self.merge(probe(missing), missing)
        planned = {part: value for part, value in self.parts.items() if part.startswith(service_key(""))}
        return replace(found, parts={**found.parts, **planned}) if self.predicted else found

    def errors(self) -> dict[str, str]:
        """The parts that could not be read, with the node's error."""
        return {
            part: str(value["error"])
            for part, value in self.parts.items()
            if isinstance(value, Mapping) and set(value) == {"error"}
        }

    def to_fact(self) -> dict[str, Value]:
        """The reading as returned in `ansible_facts`."""
        return {
            "schema": SCHEMA,
            "run": self.run,
            "machine": self.machine,
            "boot_id": self.boot_id,
            "taken_at": self.taken_at,
            "predicted": self.predicted,
            "parts": {key: value for key, value in self.parts.items() if not key.startswith(CONFIDENTIAL)},
        }


def pack(fact: Mapping[str, Value]) -> dict[str, Value]:
    """The fact with its parts as base64 of zlib of JSON, an eighth of the size: Ansible keeps the facts of every
    host."""
    text = json.dumps(fact["parts"], separators=(",", ":")).encode()
    return {**fact, "parts": base64.b64encode(zlib.compress(text)).decode()}


def _unpack(parts: object) -> object:
    if not isinstance(parts, str):
        return parts
    try:
        return json.loads(zlib.decompress(base64.b64decode(parts)))
    except (ValueError, zlib.error):
        return None


def usable(fact: object, *, run: str, now: float, max_age: float, check: bool) -> Reading | None:
    """The reading in `fact` if it is still valid, else None.

    A valid reading is of this run of ansible-playbook (a fact cache can hold another run's) and at most `max_age`
    seconds old (0 = always read). A prediction is valid only in check mode.
    """
    if not isinstance(fact, Mapping) or fact.get("schema") != SCHEMA or fact.get("run") != run:
        return None
    taken_at = fact.get("taken_at")
    if not isinstance(taken_at, int | float) or not 0 <= now - taken_at < max_age:
        return None
    parts = _unpack(fact.get("parts"))
    if not isinstance(parts, Mapping) or bool(fact.get("predicted")) != check:
        return None
    return Reading(parts=parts, run=run, taken_at=float(taken_at), predicted=bool(fact.get("predicted")))
