# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A TOML text with the line of each key, compared by value with another: the one reader of config.toml."""

from __future__ import annotations

import datetime
import itertools
import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...facts.cri_tcp import CLOSED

Place = tuple[str, ...]

NotTomlError = tomllib.TOMLDecodeError
"""The text is not TOML."""
_MISSING = object()
_MULTILINE = re.compile(r'"""|\'\'\'')


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed text. `lines` maps each table and key to its line, from 1."""

    data: Mapping[str, Any]
    lines: Mapping[Place, int]

    @classmethod
    def parse(cls, text: str) -> Document:
        """NotTomlError if the text is not TOML."""
        lines: dict[Place, int] = {}
        for number, place in _keys(text):
            for length in range(1, len(place) + 1):
                lines.setdefault(place[:length], number)
        return cls(tomllib.loads(text), lines)

    def get(self, place: Place, default: Any = None) -> Any:
        """The value at `place`, or the default."""
        value: Any = self.data
        for part in place:
            value = value.get(part, _MISSING) if isinstance(value, Mapping) else _MISSING
        return default if value is _MISSING else value

    def has(self, place: Place) -> bool:
        """Whether the text has a value at `place`."""
        return self.get(place, _MISSING) is not _MISSING

    def strings(self, place: Place) -> tuple[str, ...]:
        """The strings at `place`, whether one or a list; other values are left out."""
        value = self.get(place, ())
        values = value if isinstance(value, list) else [value]
        return tuple(item for item in values if isinstance(item, str))

    def by_place(self) -> dict[Place, Any]:
        """The values by their places; empty tables are left out."""
        return dict(_by_place(self.data, ()))

    def at(self, place: Place) -> str:
        """`line 7: ` for the nearest table or key above `place` that the text has, or nothing."""
        for length in range(len(place), 0, -1):
            if place[:length] in self.lines:
                return f"line {self.lines[place[:length]]}: "
        return ""


def _by_place(data: Mapping[str, Any], under: Place) -> Iterator[tuple[Place, Any]]:
    for name, value in data.items():
        if isinstance(value, Mapping):
            yield from _by_place(value, (*under, name))
        else:
            yield (*under, name), value


def is_equal(left: str, right: str) -> bool:
    """Whether two texts are the same TOML. Comments, key order, quotes and blank lines are ignored, and keys that
    repeat a default.

    A text that is not TOML equals only itself.
    """
    if left == right:
        return True
    try:
        return is_same_value(_drop_defaults(tomllib.loads(left)), _drop_defaults(tomllib.loads(right)))
    except tomllib.TOMLDecodeError:
        return False


def with_keys(text: str, extra: Mapping[str, Any]) -> str:
    """The text with the keys of `extra` merged in: tables are merged, other values replaced, None removes a key.

    Comments are lost, except those at the top. NotTomlError if the text is not TOML, ValueError for a value that
    TOML cannot hold.
    """
    if not extra:
        return text
    head = itertools.takewhile(lambda line: not line or line.startswith("#"), text.splitlines())
    return "\n".join([*head, *_table((), _merge(tomllib.loads(text), extra))]) + "\n"


def _merge(own: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(own)
    for key, value in extra.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping):
            present = merged.get(key)
            merged[key] = _merge(present if isinstance(present, Mapping) else {}, value)
        else:
            merged[key] = value
    return merged


def _table(place: Place, table: Mapping[str, Any]) -> Iterator[str]:
    """The lines of a table: its values, then its nested tables."""
    values = {key: value for key, value in table.items() if not isinstance(value, Mapping)}
    if place and (values or not table):
        yield ""
        yield f"[{'.'.join(map(_write_key, place))}]"
    for key, value in values.items():
        yield f"{_write_key(key)} = {_write_value(value)}"
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _table((*place, key), value)


def _write_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)


def _write_value(value: Any) -> str:
    """The value as TOML; single quotes if possible, which keep Windows paths readable."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return f"'{value}'" if value.isprintable() and "'" not in value else json.dumps(value, ensure_ascii=False)
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, list):
        return f"[{', '.join(map(_write_value, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_write_key(key)} = {_write_value(each)}' for key, each in value.items())}}}"
    raise ValueError(f"{value!r} is nothing that TOML can say")


def _drop_defaults(data: dict[str, Any]) -> dict[str, Any]:
    """The data without default values, which a closed port leaves behind, and without tables that this empties."""
    for place, default in CLOSED.items():
        tables: list[dict[str, Any]] = [data]
        for name in place[:-1]:
            found = tables[-1].get(name)
            if not isinstance(found, dict):
                break
            tables.append(found)
        if len(tables) < len(place) or not is_same_value(tables[-1].get(place[-1]), default):
            continue
        del tables[-1][place[-1]]
        for depth in range(len(tables) - 1, 0, -1):
            if not tables[depth]:
                del tables[depth - 1][place[depth - 1]]
    return data


def is_same_value(left: Any, right: Any) -> bool:
    """Whether two values are equal in TOML. Python's 1 == 1.0 == True is not TOML's, and nan equals nan here."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(is_same_value(value, right[key]) for key, value in left.items())
    if isinstance(left, list):
        return len(left) == len(right) and all(map(is_same_value, left, right))
    # TOML has nan, which equals nothing.
    both_nan = isinstance(left, float) and isinstance(right, float) and math.isnan(left) and math.isnan(right)
    return both_nan or bool(left == right)


def _keys(text: str) -> Iterator[tuple[int, Place]]:
    """Each table header and key with its line. Lines inside multi-line strings are skipped, and lines that do not
    parse."""
    table: Place = ()
    inside = False
    for number, line in enumerate(text.splitlines(), start=1):
        marks = len(_MULTILINE.findall(line))
        stripped = line.strip()
        if not inside and stripped and not stripped.startswith("#"):
            if stripped.startswith("["):
                header = _path(stripped)
                if header is not None:
                    table = header
                    yield number, table
            elif (key := _key(stripped)) is not None:
                yield number, (*table, *key)
        inside ^= marks % 2 == 1


def _key(line: str) -> Place | None:
    """The key of `a."b.c" = ...`: the shortest text before an equals sign that parses as a key."""
    for equals in (index for index, char in enumerate(line) if char == "="):
        found = _path(f"{line[:equals]}= 0")
        if found is not None:
            return found
    return None


def _path(line: str) -> Place | None:
    """The keys of a line that is valid TOML and holds one header or one key."""
    try:
        value: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return None
    place: list[str] = []
    while isinstance(value, (dict, list)) and value:
        if isinstance(value, list):
            value = value[0]
            continue
        key, value = next(iter(value.items()))
        place.append(key)
    return tuple(place)
