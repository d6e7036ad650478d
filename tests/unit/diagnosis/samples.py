"""Texts that a pattern fits, one for each of its alternatives: the shortest, with `w`, `7` and `x` for what is open."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from functools import cache
from typing import Any

_PARSER: Any = importlib.import_module("re._parser")
"""The standard library's own reader of regular expressions."""
_MOST = 60
_ANY = "xw7 -:/"


@cache
def samples(pattern: str) -> tuple[str, ...]:
    """At most sixty of them."""
    found = [each for each in _sequence(_PARSER.parse(pattern)) if re.search(pattern, each, re.IGNORECASE)]
    return tuple(dict.fromkeys(found))[:_MOST]


def _sequence(items: Iterable[tuple[Any, Any]]) -> list[str]:
    made = [""]
    for kind, value in items:
        made = [before + after for before in made for after in _one(str(kind), value)][:_MOST]
    return made


def _one(kind: str, value: Any) -> list[str]:
    if kind == "LITERAL":
        return [chr(value)]
    if kind == "BRANCH":
        return [each for branch in value[1] for each in _sequence(branch)]
    if kind == "SUBPATTERN":
        return _sequence(value[3])
    if kind in {"MAX_REPEAT", "MIN_REPEAT"}:
        least, _most, inside = value
        return [each * least for each in _sequence(inside)] if least else [""]
    if kind in {"ANY", "NOT_LITERAL", "IN"}:
        return [_fitting(kind, value)]
    return [""]


def _fitting(kind: str, value: Any) -> str:
    """A character that a set has."""
    if kind == "IN":
        given = [chr(each) for name, each in value if str(name) == "LITERAL"]
        ranges = [chr(each[0]) for name, each in value if str(name) == "RANGE"]
        if str(value[0][0]) != "NEGATE":
            return next(
                iter((*given, *ranges)), "7" if "DIGIT" in str(value) else " " if "_SPACE" in str(value) else "w"
            )
        return next(each for each in _ANY if each not in given)
    return "x" if kind == "ANY" or chr(value) != "x" else "w"
