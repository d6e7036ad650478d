# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubernetes quantities (`2Gi`, `500m`) as exact numbers, and reservations in them.

Source: k8s.io/apimachinery pkg/api/resource, Quantity.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Any

_SUFFIXES = {
    "": Fraction(1),
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    **{letter: Fraction(1000**power) for power, letter in enumerate("kMGTPE", start=1)},
    **{letter + "i": Fraction(1024**power) for power, letter in enumerate("KMGTPE", start=1)},
}
_QUANTITY = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:([eE][+-]?[0-9]{1,3})|([numkKMGTPE]i?)|)")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)%")

SYSTEM_MEMORY_FLOOR = 2 * 1024**3
"""Bytes that Windows and its services need. Source: kubernetes.io, Windows containers in Kubernetes, v1.22, Resource
management: "system reserved memory of at least 2GiB"."""


def quantity(value: Any) -> Fraction | None:
    """`800Mi`, `0.5`, `1e3` or 2 in bytes or cores; None for what is not a quantity."""
    return None if isinstance(value, bool) or not isinstance(value, int | float | str) else _quantity(str(value))


@lru_cache(maxsize=1024)
def _quantity(text: str) -> Fraction | None:
    match = _QUANTITY.fullmatch(text)
    if match is None or (match[3] or "") not in _SUFFIXES:
        return None
    return Fraction(match[1]) * (Fraction(10) ** int(match[2][1:]) if match[2] else _SUFFIXES[match[3] or ""])


def resolve_cpu(wanted: str, cores: int) -> str:
    """`10%` of a node's cores as millicores (`400m` of 4), rounded up; an absolute quantity stays as it is.

    ValueError with the sentence if it is neither, or 100 % and more.
    """
    wanted = wanted.strip()
    percent = _PERCENT.fullmatch(wanted)
    if percent is None:
        amount = quantity(wanted)
        if amount is None or amount < 0:
            raise ValueError(
                f"{wanted!r} is not a valid CPU quantity: write cores (0.5), millicores (500m) or a share (10%)."
            )
        return wanted
    share = Fraction(percent[1]) / 100
    if share >= 1:
        raise ValueError(f"{wanted!r} of the CPU leaves nothing for pods; reserve less than 100%.")
    return f"{-(-share * cores * 1000 // 1)}m"
