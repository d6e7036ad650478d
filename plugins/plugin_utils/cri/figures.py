# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a series of CPU readings shows, and the usage that its own counter proves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from .samples import Reading

SECOND = 1_000_000_000
MILLICORE = 1_000_000
"""In the unit of usageNanoCores."""

ABSURD = 10_000 * SECOND
"""usageNanoCores from here on is no usage but a negative difference read as unsigned: 10,000 cores.

(2^64 - d) ns over an interval of up to three weeks is above this, and no node has as many cores.
Source: containerd v1.7.20 pkg/cri/server/container_stats_list.go, getUsageNanoCores.
"""


@dataclass(frozen=True, slots=True)
class Figures:
    """Counts over one series. `minimum` and `maximum` (nanocores) are over the values that are neither missing nor
    absurd, None if there is none."""

    samples: int
    minimum: int | None
    maximum: int | None
    zeros: int
    nulls: int
    underflows: int
    equal_timestamps: int
    older_timestamps: int
    still: int
    """How often the counter of CPU time stood still from one reading to a later one."""
    alternating: bool
    """Zeros between values: at least two changes from one to the other."""
    own_nano_cores: int | None
    """Usage over the whole series by its counter of CPU time; None without two readings that can be compared."""

    @property
    def values(self) -> int:
        """How many readings have a value above zero that can be true."""
        return self.samples - self.zeros - self.nulls - self.underflows


def figures(readings: Sequence[Reading]) -> Figures:
    """The figures of one series, in the order in which it was read."""
    reported = [reading.nano_cores for reading in readings if reading.nano_cores is not None]
    sane = [value for value in reported if value < ABSURD]
    changes = sum((one == 0) != (other == 0) for one, other in pairwise(sane))
    times = [(one, other) for one, other in pairwise(readings) if one.at_ns is not None and other.at_ns is not None]
    return Figures(
        samples=len(readings),
        minimum=min(sane, default=None),
        maximum=max(sane, default=None),
        zeros=reported.count(0),
        nulls=len(readings) - len(reported),
        underflows=len(reported) - len(sane),
        equal_timestamps=sum(one.at_ns == other.at_ns for one, other in times),
        older_timestamps=sum((other.at_ns or 0) < (one.at_ns or 0) for one, other in times),
        still=sum(
            (other.at_ns or 0) > (one.at_ns or 0) and one.core_ns is not None and one.core_ns == other.core_ns
            for one, other in times
        ),
        alternating=changes >= 2,
        own_nano_cores=own_nano_cores(readings),
    )


def own_nano_cores(readings: Sequence[Reading]) -> int | None:
    """CPU time over time from one usable reading to the next, in nanocores, over the whole series.

    A reading with an equal or older timestamp than the last usable one is passed over; where the counter went back the
    container was started again, and counting begins anew. Not per pair: on Windows the counter moves in steps, so
    that over a short time it may not move at all.
    """
    last: tuple[int, int] | None = None
    used = passed = 0
    for reading in readings:
        if reading.at_ns is None or reading.core_ns is None or (last is not None and reading.at_ns <= last[0]):
            continue
        if last is not None and reading.core_ns >= last[1]:
            used += reading.core_ns - last[1]
            passed += reading.at_ns - last[0]
        last = (reading.at_ns, reading.core_ns)
    return used * SECOND // passed if passed else None


def millicores(nano_cores: int | None) -> str:
    """For people: `503 millicores`."""
    return "no value" if nano_cores is None else f"{nano_cores // MILLICORE} millicores"
