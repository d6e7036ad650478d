# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A value that cannot be printed by mistake. Pure.

repr shows `***`, so do a traceback, a log record with %r, and the repr of a dataclass around it. What would write the
value, or `***` in its place, into a text or a file raises: str, format, +, JSON, pickle. `reveal` alone gives it;
`make lint` prints who calls it.
"""

from __future__ import annotations

import base64
import hmac
import html
import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, NoReturn, TypeVar
from urllib.parse import quote, quote_plus

HIDDEN = "***"

T = TypeVar("T", str, bytes)


class SecretError(TypeError):
    """Something tried to write a secret."""

    def __init__(self) -> None:
        super().__init__("a secret cannot be written; Secret.reveal gives its value to what sends it")


class Secret(Generic[T]):
    """Of a text or of bytes. Two are equal if their values are; one is false if its value is empty."""

    __slots__ = ("__value",)
    __value: T

    def __init__(self, value: T) -> None:
        self.__value = value

    def reveal(self) -> T:
        return self.__value

    def __bool__(self) -> bool:
        return bool(self.__value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return type(self.__value) is type(other.__value) and hmac.compare_digest(_bytes(self), _bytes(other))

    def __hash__(self) -> int:
        return hash(self.__value)

    def __repr__(self) -> str:
        return HIDDEN

    def __copy__(self) -> Secret[T]:
        return self

    def __deepcopy__(self, _memory: object) -> Secret[T]:
        """Itself: a copy of what holds one writes nothing, as dataclasses.asdict makes."""
        return self

    def _refuse(self, *_arguments: object) -> NoReturn:
        raise SecretError

    __str__ = __format__ = __add__ = __radd__ = __mod__ = __rmod__ = __bytes__ = _refuse
    __iter__ = __len__ = __getitem__ = __contains__ = __reduce_ex__ = _refuse


def encode(text: Secret[str]) -> Secret[bytes]:
    """The same as UTF-8."""
    return Secret(text.reveal().encode())


NO_TEXT: Secret[str] = Secret("")
NO_BYTES: Secret[bytes] = Secret(b"")


def _bytes(secret: Secret[T]) -> bytes:
    value = secret.reveal()
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value


# What others have written.

SHORTEST = 4
"""Characters of a value that is removed wherever it stands: shorter ones are in ordinary words."""


_SHORTEST_LINE = 8
"""Characters of a line of a value of several lines, which goes also where it stands alone."""


def hide(text: str, known: Iterable[Secret[str]], instead: str = HIDDEN) -> tuple[str, int]:
    """A text of somebody else's, such as an error or a log, without these secrets in any written form, and how many
    were in it."""
    values = {value for secret in known if len(value := secret.reveal().strip()) >= SHORTEST}
    values |= {
        line.strip()
        for value in values
        if "\n" in value
        for line in value.splitlines()
        if len(line.strip()) >= _SHORTEST_LINE
    }
    count = 0
    # The longest first: a value may contain another.
    for form in sorted({form for value in values for form in list_forms(value)}, key=len, reverse=True):
        if form in text:
            count += text.count(form)
            text = text.replace(form, instead)
    return text, count


def list_forms(value: str) -> frozenset[str]:
    """A value in the forms of which texts are made: written once or twice (JSON in JSON, an address in JSON, ..), and
    in base64 wherever it begins there."""
    once = {write(value) for write in _WRITTEN}
    twice = {write(form) for form in once for write in _WRITTEN}
    return frozenset(once | twice | {part for form in once for part in _in_base64(form)})


def _of_json(text: str) -> str:
    return json.dumps(text)[1:-1]


def _of_go(text: str) -> str:
    """JSON by Go, which writes these three signs as numbers."""
    said = json.dumps(text, ensure_ascii=False)[1:-1]
    return said.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _of_xml(text: str) -> str:
    """As PowerShell and most programs write XML; Go and Python have numbers for quotes."""
    return html.escape(text, quote=False).replace('"', "&quot;").replace("'", "&apos;")


_ANY = "surrogatepass"
_ESCAPED = re.compile("%[0-9A-F]{2}")
_WRITTEN: tuple[Callable[[str], str], ...] = (
    lambda text: text,
    lambda text: text.replace("\n", "\r\n"),
    _of_json,
    lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    _of_go,
    lambda text: _of_go(text).replace("'", "\\u0027"),  # ConvertTo-Json of Windows PowerShell
    html.escape,
    lambda text: html.escape(text, quote=False),
    lambda text: html.escape(text, quote=False).replace('"', "&quot;"),
    lambda text: html.escape(text, quote=False).replace('"', "&#34;").replace("'", "&#39;"),
    _of_xml,
    lambda text: text.replace("'", "''"),
    lambda text: text.replace("`", "``").replace('"', '`"').replace("$", "`$"),
    lambda text: text.replace('"', '""'),
    lambda text: text.replace('"', '\\"'),
    lambda text: quote(text, errors=_ANY),
    lambda text: quote(text, safe="", errors=_ANY),
    lambda text: quote_plus(text, errors=_ANY),
    lambda text: _ESCAPED.sub(lambda match: match[0].lower(), quote(text, safe="", errors=_ANY)),
)
"""How programs write a text within a text."""


def _in_base64(text: str) -> Iterator[str]:
    for data in (text.encode("utf-8", _ANY), text.encode("utf-16-le", _ANY)):
        for before in range(3):
            # Of the first and the last group of four characters a part is of what stands beside.
            whole = base64.b64encode(b"\0" * before + data).decode().rstrip("=")
            part = whole[(0, 2, 3)[before] : len(whole) - (1 if (before + len(data)) % 3 else 0)]
            if len(part) >= 2 * SHORTEST:
                yield from (part, part.translate(_OF_ADDRESSES))


_OF_ADDRESSES = str.maketrans("+/", "-_")
