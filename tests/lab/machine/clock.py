"""The node's own clock: minutes on the node pass in milliseconds here.

It moves only when somebody waits for the node (`advance`, `advance_until`), never by itself.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

START = datetime(2026, 11, 21, 8, 0, 0, tzinfo=UTC)


@dataclass(order=True)
class Timer:
    """One event to come; `cancel()` makes it never happen."""

    at: float
    order: int
    action: Callable[[], None] = field(compare=False)
    cancelled: bool = field(default=False, compare=False)

    def cancel(self) -> None:
        self.cancelled = True


class Clock:
    """Seconds since the machine was made, as a float, and the events that are due at some of them."""

    def __init__(self, start: datetime = START) -> None:
        self._start = start
        self._now = 0.0
        self._order = 0
        self._events: list[Timer] = []

    def now(self) -> float:
        return self._now

    def utc(self, at: float | None = None) -> datetime:
        return self._start + timedelta(seconds=self._now if at is None else at)

    def iso(self, at: float | None = None) -> str:
        """UTC, ISO 8601 with microseconds: `2026-11-21T08:00:00.000000Z`."""
        return self.utc(at).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def set_off(self, seconds: float) -> None:
        """The wall clock is put forward (or back) without time passing."""
        self._start += timedelta(seconds=seconds)

    def call_later(self, seconds: float, action: Callable[[], None]) -> Timer:
        self._order += 1
        timer = Timer(self._now + max(0.0, seconds), self._order, action)
        heapq.heappush(self._events, timer)
        return timer

    def clear(self) -> None:
        """Forgets every event: the power is gone."""
        self._events.clear()

    def advance(self, seconds: float) -> None:
        """Moves on by `seconds`, running what falls due on the way in its order."""
        end = self._now + seconds
        while self.step(end):
            pass
        self._now = max(self._now, end)

    def advance_until(self, done: Callable[[], bool], limit: float = 7200.0) -> bool:
        """Runs event after event until `done()`; at most `limit` seconds. Returns whether it is done."""
        end = self._now + limit
        while not done():
            if not self.step(end):
                return done()
        return True

    def step(self, end: float) -> bool:
        """Runs the next event if it is due until `end`; whether there was one."""
        while self._events and self._events[0].cancelled:
            heapq.heappop(self._events)
        if not self._events or self._events[0].at > end:
            return False
        timer = heapq.heappop(self._events)
        self._now = max(self._now, timer.at)
        timer.action()
        return True
