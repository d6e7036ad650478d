# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubernetes quantities (`2Gi`, `500m`) as exact numbers, and reservations in them.

Source: k8s.io/apimachinery pkg/api/resource, Quantity.
"""

from __future__ import annotations

import re
from fractions import Fraction

_QUANTITY = re.compile(r"(\d+\.?\d*|\.\d+)(m|[kMGTPE]|[KMGTPE]i)?")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)%")

SYSTEM_MEMORY_FLOOR = 2 * 1024**3
"""Bytes that Windows and its services need. Source: kubernetes.io, Windows containers in Kubernetes, v1.22, Resource
management: "system reserved memory of at least 2GiB"."""


def quantity(text: str) -> Fraction | None:
    """The number, in bytes or cores; None for a text that is no quantity without a sign."""
    found = _QUANTITY.fullmatch(text.strip())
    if found is None:
        return None
    suffix = found[2] or ""
    if suffix == "m":
        return Fraction(found[1]) / 1000
    base = 1024 if suffix.endswith("i") else 1000
    power = " KMGTPE".index(suffix[0].upper()) if suffix else 0
    return Fraction(found[1]) * Fraction(base**power)


def reserved_cpu(wanted: str, cores: int) -> str:
    """`10%` of a node's cores as millicores (`400m` of 4), rounded up; an absolute quantity stays as it is.

    ValueError with the sentence if it is neither, or 100 % and more.
    """
    percent = _PERCENT.fullmatch(wanted.strip())
    if percent is None:
        if quantity(wanted) is None:
            raise ValueError(f"{wanted!r} is no amount of CPU: write cores (0.5), millicores (500m) or a share (10%).")
        return wanted.strip()
    share = Fraction(percent[1]) / 100
    if share >= 1:
        raise ValueError(f"{wanted!r} of the CPU leaves nothing for pods; reserve less than 100%.")
    return f"{-(-share * cores * 1000 // 1)}m"
