# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What JSON from outside has to look like, field by field. A shape is called with a value and its path in the answer,
and returns the value as the program may use it, or raises Unexpected with path, what came and what was expected.

`Text`, `Number`, `Flag` and `Base64` are leaves, `Listing`, `Table` and `Fields` hold others, `Maybe` allows null.
`Free` is for what people read (messages, log lines, output): it is never refused, only made a text and cut. `Record`
makes a frozen dataclass of an object.

To check one more field, name it in the `Fields` of its object; to make a dataclass of an object, write a `Record`:

    NODE = Record(Node, name=At("metadata.name", NAME), pod_cidr=At("spec.podCIDR", Text(), ""))
    node = NODE(answer, "")

Nothing behind a gate asks for types again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from .printable import escape

T = TypeVar("T")
Shape = Callable[[object, str], Any]

SHOWN = 80
"""Characters of a wrong value in a sentence."""
SHORT = 1024
"""Characters of a name, an id or a state."""
MANY = 100_000
"""Entries of a list or an object."""
_KEYS_SHOWN = 4


class Unexpected(ValueError):  # noqa: N818 - reads as a sentence at the place where it is raised
    """A value is not of its shape. The text is a clause: `spec.taints[0].key is 5, expected a text`."""

    def __init__(self, path: str, came: str, expected: str) -> None:
        super().__init__(f"{path or 'the answer'} is {came}, expected {expected}")
        self.path = path
        self.expected = expected


def show(value: object) -> str:
    """A value for a sentence: escaped, and only its beginning."""
    if isinstance(value, str):
        said = f"'{escape(value[:SHOWN]).replace(chr(10), chr(92) + 'n')}'"
        return said if len(value) <= SHOWN else f"{said}... ({len(value):,} characters)"
    if isinstance(value, Mapping):
        keys = ", ".join(escape(str(key)[:SHOWN]) for key in list(value)[:_KEYS_SHOWN])
        return f"an object with {keys}{', ...' if len(value) > _KEYS_SHOWN else ''}" if value else "an empty object"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)[:SHOWN]


def _below(path: str, key: object) -> str:
    if isinstance(key, int):
        return f"{path}[{key}]"
    name = escape(str(key)[:SHOWN])
    return f"{path}.{name}" if path else name


@dataclass(frozen=True, slots=True)
class Text:
    """A text of at most `most` characters that matches `pattern`, if there is one; `what` says so to people."""

    most: int = SHORT
    pattern: re.Pattern[str] | None = None
    what: str = "a text"

    def __call__(self, value: object, path: str) -> str:
        if not isinstance(value, str):
            raise Unexpected(path, show(value), self.what)
        if len(value) > self.most:
            raise Unexpected(path, show(value), f"{self.what} of at most {self.most:,} characters")
        if self.pattern is not None and not self.pattern.fullmatch(value):
            raise Unexpected(path, show(value), self.what)
        return value


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number."""

    least: int = 0
    most: int = 2**63 - 1
    what: str = "a whole number"

    def __call__(self, value: object, path: str) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise Unexpected(path, show(value), self.what)
        if not self.least <= value <= self.most:
            raise Unexpected(path, show(value), f"{self.what} from {self.least} to {self.most}")
        return value


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""

    def __call__(self, value: object, path: str) -> bool:
        if not isinstance(value, bool):
            raise Unexpected(path, show(value), "true or false")
        return value


@dataclass(frozen=True, slots=True)
class Base64:
    """Bytes as base64, a text of at most `most` characters."""

    most: int

    def __call__(self, value: object, path: str) -> str:
        """The text, whose alphabet and length are right."""
        text = Text(self.most, _BASE64, "bytes as base64")(value, path)
        if len(text) % 4:
            raise Unexpected(path, show(text), "bytes as base64")
        return text


_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")


@dataclass(frozen=True, slots=True)
class Free:
    """What people read: never refused. Anything but a text becomes one, null an empty one, and its end is cut."""

    most: int = 64 * 1024

    def __call__(self, value: object, path: str) -> str:
        """At most `most` characters."""
        if value is None:
            return ""
        if isinstance(value, str):
            return value[: self.most]
        try:
            return json.dumps(value, default=str)[: self.most]
        except RecursionError:
            return "(nested too deeply)"


@dataclass(frozen=True, slots=True)
class Maybe:
    """The shape, or null."""

    shape: Shape

    def __call__(self, value: object, path: str) -> Any:
        """None for null."""
        return None if value is None else self.shape(value, path)


@dataclass(frozen=True, slots=True)
class Either:
    """The first of the shapes that fits."""

    shapes: tuple[Shape, ...]
    what: str

    def __call__(self, value: object, path: str) -> Any:
        """What the shape returns."""
        for shape in self.shapes:
            try:
                return shape(value, path)
            except Unexpected:
                continue
        raise Unexpected(path, show(value), self.what)


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of one shape."""

    shape: Shape
    most: int = MANY

    def __call__(self, value: object, path: str) -> list[Any]:
        if not isinstance(value, list | tuple):
            raise Unexpected(path, show(value), "a list")
        if len(value) > self.most:
            raise Unexpected(path, show(value), f"a list of at most {self.most:,}")
        shape = self.shape
        return [shape(each, f"{path}[{n}]") for n, each in enumerate(value)]


@dataclass(frozen=True, slots=True)
class Table:
    """An object with any names for keys and values of one shape."""

    shape: Shape
    key: Shape = Text()
    most: int = MANY

    def __call__(self, value: object, path: str) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise Unexpected(path, show(value), "an object")
        if len(value) > self.most:
            raise Unexpected(path, show(value), f"an object of at most {self.most:,} entries")
        return {self.key(key, f"{path}, a key"): self.shape(each, _below(path, key)) for key, each in value.items()}


class Fields:
    """An object with these fields; others stay as they are. Those of `needed` must be there. A null is a field that is
    not there, unless its shape is a Maybe."""

    def __init__(self, needed: Mapping[str, Shape] | None = None, **optional: Shape) -> None:
        self.needed = dict(needed or {})
        self.shapes = {**self.needed, **optional}
        self._items = tuple((name, shape, isinstance(shape, Maybe)) for name, shape in self.shapes.items())

    def __call__(self, value: object, path: str) -> dict[str, Any]:
        """The object with its checked fields."""
        if not isinstance(value, Mapping):
            raise Unexpected(path, show(value), "an object")
        found = self._take(value)
        for name, shape, takes_null in self._items:
            if name not in found:
                if name in self.needed:
                    raise Unexpected(_below(path, name), "missing", _describe(shape))
                continue
            if found[name] is None and not takes_null:
                if name in self.needed:
                    raise Unexpected(_below(path, name), "null", _describe(shape))
                del found[name]
                continue
            found[name] = shape(found[name], _below(path, name))
        return found

    def _take(self, value: Mapping[str, Any]) -> dict[str, Any]:
        return dict(value)


class Only(Fields):
    """An object with these fields; others are left out."""

    def _take(self, value: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value[name] for name in self.shapes if name in value}


def _describe(shape: Shape) -> str:
    if isinstance(shape, Fields | Table | Record):
        return "an object"
    return "a list" if isinstance(shape, Listing) else str(getattr(shape, "what", "a value"))


_NEEDED: Any = object()


@dataclass(frozen=True, slots=True)
class At:
    """A field of a Record: where it is in the object, with dots (`metadata.name`; empty: the object itself), its shape,
    and what it is if it is missing or null; without a default it must be there."""

    place: str
    shape: Shape
    default: Any = _NEEDED

    def __call__(self, value: object, path: str) -> Any:
        """The field's value."""
        for name in self.place.split(".") if self.place else ():
            if value is None:
                break
            if not isinstance(value, Mapping):
                raise Unexpected(path, show(value), "an object")
            value, path = value.get(name), _below(path, name)
        if value is not None:
            return self.shape(value, path)
        if self.default is _NEEDED:
            raise Unexpected(path, "missing", _describe(self.shape))
        return self.default


class Record(Generic[T]):
    """A dataclass made of an object: `Record(Node, name=At("metadata.name", NAME))`. Lists become tuples."""

    def __init__(self, made: Callable[..., T], **fields: At) -> None:
        self._made = made
        self._fields = fields

    def __call__(self, value: object, path: str) -> T:
        if not isinstance(value, Mapping):
            raise Unexpected(path, show(value), "an object")
        found = {name: at(value, path) for name, at in self._fields.items()}
        return self._made(**{name: tuple(each) if isinstance(each, list) else each for name, each in found.items()})
