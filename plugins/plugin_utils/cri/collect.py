# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples from a runtime and from the kubelet, one after the other, at an interval."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from .samples import Sample


@dataclass(frozen=True, slots=True)
class Clock:
    """Time in seconds, so that tests need not wait."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


def collect(
    ask: Sequence[Callable[[], Sample | None]],
    count: int,
    interval_s: float,
    clock: Clock | None = None,
    each: Callable[[int, Sequence[Sample]], None] | None = None,
    gap: Callable[[int, Exception], None] | None = None,
) -> list[Sample]:
    """`count` rounds, `interval_s` from the begin of one to the begin of the next, each asking everybody once.

    None from one of them is no sample. A round that takes longer than the interval is followed at once by the next.
    `each` is told the number of a round, from 1, and its samples. Somebody who does not answer in the first round ends
    it all (`ask` raises); later that is a gap, told to `gap` with the number of the round.
    """
    clock = clock or Clock()
    found: list[Sample] = []
    begin = clock.now()
    for number in range(count):
        wait = begin + number * interval_s - clock.now()
        if wait > 0:
            clock.sleep(wait)
        samples: list[Sample] = []
        for one in ask:
            try:
                sample = one()
            except Exception as error:
                if number == 0 or gap is None:
                    raise
                gap(number + 1, error)
                continue
            if sample is not None:
                samples.append(sample)
        found += samples
        if each is not None:
            each(number + 1, samples)
    return found


@dataclass(slots=True)
class SecondCaller:
    """What the second caller did."""

    calls: int = 0
    errors: list[str] = field(default_factory=list)


@contextmanager
def second_caller(call: Callable[[], object], interval_s: float) -> Iterator[SecondCaller]:
    """`call` again and again, from a thread of its own, while the block runs. An error ends it and is kept.

    containerd compares each call with the last one of anybody; a second caller makes short intervals, in which the
    defects show. Source: https://github.com/kubernetes/kubernetes/issues/122092.
    """
    done = SecondCaller()
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            try:
                call()
            except Exception as error:  # whatever it is belongs into the report, not onto the terminal of a thread
                done.errors.append(str(error))
                return
            done.calls += 1
            stop.wait(interval_s)

    thread = threading.Thread(target=work, name="second caller", daemon=True)
    thread.start()
    try:
        yield done
    finally:
        stop.set()
        thread.join(timeout=30)
