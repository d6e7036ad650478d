# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether texts are more than one sign of a cause: what ends pods or connections is not asked for on one.

    speak_twice([sign_of(line) for line in lines])

The same innermost reason is one sign, whoever says it and however often: the kubelet quotes containerd, and tries
again. Two are another innermost reason, or another object: another pod, another Service, another volume.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations, permutations

from .line import parse

_MOST = 40
"""So many different signs are compared."""
_CHANGING = re.compile(
    r"\b(?:\d+(?:\.\d+)?(?:h|ms?|s|[u\u03bcn]s))+\b|[0-9a-f]{8}-[0-9a-f-]{27}|0x[0-9a-f]+|\b[0-9a-f]{12,}\b|\d+",
    re.IGNORECASE,
)
"""What differs from one attempt to the next: how long it took (1m0s), ids, times, ports."""
_ATTEMPT = ("container", "socket")
"""Kinds of objects that are new at each attempt."""
_PART = re.compile(r"[/_(]")


@dataclass(frozen=True, slots=True)
class Sign:
    """`reason` is the innermost one, by its code or its words; `object` what it was said of, empty where that is not
    told or new at each attempt; `said` the record, without what changes."""

    reason: str
    object: str
    said: str


def sign_of(record: str) -> Sign:
    """Of one record of a text."""
    line = parse(record)
    innermost = line.innermost
    kind, code = ("", "") if innermost.weak else (innermost.kind, innermost.code)
    reason = f"{kind} {code}" if kind and code else _unchanging(innermost.text)
    thing = "" if line.object.startswith(_ATTEMPT) else line.object
    return Sign(reason, thing.casefold(), _unchanging(line.raw))


def speak_twice(signs: Iterable[Sign]) -> bool:
    """Whether there are two among them that say more than one."""
    different = tuple(dict.fromkeys(signs))[:_MOST]
    return any(_differ(pair) for pair in combinations(different, 2))


def _differ(pair: tuple[Sign, Sign]) -> bool:
    one, other = pair
    if any(_quotes(*each) for each in permutations(pair)):
        return _is_another(one.object, other.object)
    return True


def _quotes(one: Sign, other: Sign) -> bool:
    """Whether one has the other's reason, in its own words or as a quotation."""
    return one.reason == other.reason or not other.reason or other.reason in one.said


def _is_another(one: str, other: str) -> bool:
    """Whether two objects are of one kind, and not the same in another spelling."""
    (kind, _blank, name), (other_kind, _blank, other_name) = one.rpartition(" "), other.rpartition(" ")
    if not name or not other_name or kind != other_kind:
        return False
    parts, other_parts = set(_PART.split(name)), set(_PART.split(other_name))
    return not (parts <= other_parts or other_parts <= parts)


def _unchanging(text: str) -> str:
    return " ".join(_CHANGING.sub("#", text.casefold()).split())
