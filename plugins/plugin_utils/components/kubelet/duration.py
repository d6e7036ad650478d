# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Durations as Go reads and writes them: `1m30s`. Source: Go time.ParseDuration, Duration.String."""

from __future__ import annotations

import re
from fractions import Fraction

_DURATION = re.compile(r"[+-]?(?:0|(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|\u00b5s|ms|s|m|h))+)")
_UNITS = {
    "ns": 1,
    "us": 10**3,
    "\u00b5s": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}


def nanoseconds(text: str) -> int | None:
    """`1m30s` in nanoseconds; None if Go does not parse it."""
    if not _DURATION.fullmatch(text):
        return None
    parts = re.findall(r"([0-9.]+)(ns|us|\u00b5s|ms|s|m|h)", text)
    total = sum((Fraction(number) * _UNITS[unit] for number, unit in parts), Fraction())
    return (-1 if text.startswith("-") else 1) * int(total)


def duration(text: str) -> float | None:
    """`1m30s` in seconds; None if Go does not parse it."""
    found = nanoseconds(text)
    return None if found is None else found / 10**9


def go_duration(value: int) -> str:
    """Nanoseconds as Go prints them: `1m0s`, `4h0m0s`, `100ms`, `0s`."""
    if value < 0:
        return f"-{go_duration(-value)}"
    if value < 10**9:
        unit = next((unit for unit in ("ms", "\u00b5s", "ns") if value >= _UNITS[unit]), "")
        return f"{_decimal(value, _UNITS[unit])}{unit}" if unit else "0s"
    minutes, rest = divmod(value, 60 * 10**9)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{_decimal(rest, 10**9)}s"
    if hours:
        return f"{hours}h{minutes}m{seconds}"
    return f"{minutes}m{seconds}" if minutes else seconds


def _decimal(value: int, unit: int) -> str:
    whole, rest = divmod(value, unit)
    if not rest:
        return str(whole)
    return f"{whole}.{str(rest).rjust(len(str(unit)) - 1, '0').rstrip('0')}"
