# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The number of free blocks of 64 ports: HNS takes one for each endpoint whose traffic it translates.

From the output of `netsh.exe interface ipv4 show dynamicport tcp` and `show excludedportrange tcp`. Only the numbers
are read, since the words are localised. Source: microsoft/SDN Kubernetes/windows/debug/collectlogs.ps1, which counts
the same blocks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

BLOCK = 64
PROTOCOLS = ("tcp", "udp")

_NUMBER = re.compile(r":\s*(\d+)\s*$", re.MULTILINE)
_RANGE = re.compile(r"^\s*(\d+)\s+(\d+)\s*\*?\s*$", re.MULTILINE)


class PortsError(Exception):
    """netsh's output cannot be read; the text is a sentence."""


@dataclass(frozen=True, slots=True)
class Ports:
    """A protocol's dynamic range, both ends included, and its free blocks."""

    protocol: str
    start: int
    end: int
    free: int


def parse(texts: Mapping[str, str]) -> tuple[Ports, ...]:
    """`{"tcp_dynamic": text, "tcp_excluded": text, ..}`; a protocol without its dynamic range is left out. PortsError
    for a dynamic range without numbers."""
    found = []
    for protocol in PROTOCOLS:
        dynamic = texts.get(f"{protocol}_dynamic") or ""
        if not dynamic.strip():
            continue
        numbers = [int(each) for each in _NUMBER.findall(dynamic)]
        if len(numbers) != 2:
            raise PortsError(
                f"port_ranges.{protocol}_dynamic: it has no first port and number of ports: '{dynamic.strip()[:60]}'."
            )
        start, end = numbers[0], numbers[0] + numbers[1] - 1
        excluded = [(int(low), int(high)) for low, high in _RANGE.findall(texts.get(f"{protocol}_excluded") or "")]
        found.append(Ports(protocol, start, end, count_free_blocks(start, end, excluded)))
    return tuple(found)


def count_free_blocks(start: int, end: int, excluded: list[tuple[int, int]]) -> int:
    """How many runs of 64 ports fit between the excluded ranges."""
    blocks, at = 0, start
    for low, high in sorted(excluded):
        if high < at or low > end:
            continue
        blocks += max(0, low - at) // BLOCK
        at = high + 1
    return blocks + max(0, end + 1 - at) // BLOCK
