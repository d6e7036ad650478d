# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubernetes quantities, as exact numbers. Source: k8s.io/apimachinery pkg/api/resource."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

_SUFFIXES = {
    "": Fraction(1),
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    **{letter: Fraction(1000**power) for power, letter in enumerate("kMGTPE", start=1)},
    **{letter + "i": Fraction(1024**power) for power, letter in enumerate("KMGTPE", start=1)},
}
_QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d{1,3})|([numkKMGTPE]i?)|)")


def parse_quantity(value: Any) -> Fraction | None:
    """`800Mi`, `0.5`, `1e3`, 2 as a number; None for what is no quantity."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    match = _QUANTITY.fullmatch(str(value).strip())
    if match is None or (match[3] or "") not in _SUFFIXES:
        return None
    return Fraction(match[1]) * (Fraction(10) ** int(match[2][1:]) if match[2] else _SUFFIXES[match[3] or ""])
