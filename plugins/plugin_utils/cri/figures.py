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
"""usageNanoCores from here on is not usage but a negative difference read as unsigned: 10,000 cores.

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
    zero_usage: tuple[int | None, ...] = ()
    """For each zero the usage that the counter proves around it, in nanocores; None where nothing does. A counter that
    stood still proves 0: then the zero is right."""
    spikes: int = 0
    """Values that nothing in the counter comes near: more than ten times its highest usage, and a core more."""
    mean: int | None = None
    """Of the values that are neither missing, absurd, a spike, nor a zero that the counter disproves."""
    steady: bool = False
    """Whether the counter proves about the same usage all the time: only then can a mean be held against it."""
    jumps: int = 0
    """How often the clock of the readings jumped, forward or back, while the counter went on."""

    @property
    def values(self) -> int:
        """How many readings have a value above zero that can be true."""
        return self.samples - self.zeros - self.nulls - self.underflows


ENOUGH = 5
"""So many values, and so many windows of the counter, make a mean."""


def figures(readings: Sequence[Reading]) -> Figures:
    """The figures of one series, in the order in which it was read."""
    reported = [reading.nano_cores for reading in readings if reading.nano_cores is not None]
    sane = [value for value in reported if value < ABSURD]
    changes = sum((one == 0) != (other == 0) for one, other in pairwise(sane))
    times = [(one, other) for one, other in pairwise(readings) if one.at_ns is not None and other.at_ns is not None]
    found, jumps = windows(readings)
    around = [_around(found, number) for number in range(len(readings))]
    slopes = [window.nano_cores for window in found]
    highest = max(slopes, default=None)
    spikes = [value for value in sane if highest is not None and value > 10 * highest + SECOND]
    zeros = tuple(near for reading, near in zip(readings, around, strict=True) if reading.nano_cores == 0)
    fair = [value for value in sane if value and value not in spikes] + [0] * sum(1 for near in zeros if near == 0)
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
        zero_usage=zeros,
        spikes=len(spikes),
        mean=sum(fair) // len(fair) if len(fair) >= ENOUGH else None,
        steady=len(slopes) >= ENOUGH and max(slopes) <= 2 * min(slopes),
        jumps=jumps,
    )


@dataclass(frozen=True, slots=True)
class Window:
    """From the reading number `first` to the reading number `last` (both count): CPU time `used` in `passed` ns."""

    first: int
    last: int
    used: int
    passed: int

    @property
    def nano_cores(self) -> int:
        """The usage that the counter proves."""
        return self.used * SECOND // self.passed


def windows(readings: Sequence[Reading]) -> tuple[list[Window], int]:
    """What can be compared, and how often the clock jumped.

    An equal timestamp is the same reading again. An older one with a counter that went on is a clock that was set back,
    one with an older counter a late answer. A window that is far longer than the others and proves far less is a clock
    that was set forward. Where the counter went back the container was started again.
    """
    found: list[Window] = []
    last: tuple[int, int, int] | None = None
    jumps = 0
    for number, reading in enumerate(readings):
        if reading.at_ns is None or reading.core_ns is None or (last is not None and reading.at_ns == last[1]):
            continue
        if last is not None and reading.at_ns < last[1]:
            if reading.core_ns <= last[2]:
                continue
            jumps += 1
        elif last is not None and reading.core_ns >= last[2]:
            found.append(Window(last[0], number, reading.core_ns - last[2], reading.at_ns - last[1]))
        last = (number, reading.at_ns, reading.core_ns)
    if len(found) < 3:
        return found, jumps
    usual = sorted(window.passed for window in found)[len(found) // 2]
    usage = sorted(window.nano_cores for window in found)[len(found) // 2]
    kept = [window for window in found if window.passed <= 5 * usual or 3 * window.nano_cores >= usage]
    return kept, jumps + len(found) - len(kept)


def _around(found: Sequence[Window], number: int) -> int | None:
    """What the counter proves up to a reading: a runtime computes its value over the time before it. For the first one,
    the time behind it. The least of what lies near, since the runtime's own window is not known: a counter that moved
    only before, or only behind, proves nothing about a short one."""
    before = [window for window in found if window.first < number <= window.last]
    behind = [window for window in found if window.first <= number < window.last]
    near = before or behind
    return min((window.nano_cores for window in near), default=None)


def own_nano_cores(readings: Sequence[Reading]) -> int | None:
    """CPU time over time, in nanocores, over the whole series, as far as its readings can be compared (`windows`).

    Not per pair: on Windows the counter moves in steps, so that over a short time it may not move at all.
    """
    found, _jumps = windows(readings)
    passed = sum(window.passed for window in found)
    return sum(window.used for window in found) * SECOND // passed if passed else None


def millicores(nano_cores: int | None) -> str:
    """For people: `503 millicores`."""
    return "no value" if nano_cores is None else f"{nano_cores // MILLICORE} millicores"
