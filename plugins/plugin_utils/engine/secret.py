# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A value that cannot be printed by mistake. Pure.

repr shows `***`, so do a traceback, a log record with %r, and the repr of a dataclass around it. What would write the
value, or `***` in its place, into a text or a file raises: str, format, +, JSON, pickle. `reveal` alone gives it;
`make lint` prints who calls it.
"""

from __future__ import annotations

import hmac
from typing import Generic, NoReturn, TypeVar

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
        """The value."""
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
