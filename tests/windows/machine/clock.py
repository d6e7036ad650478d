"""A clock that is the world's: real programs do not wait faster."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from tests.lab.machine.clock import START, Clock

STEP_S = 0.05


class WallClock(Clock):
    """The lab's clock until `go_live()`, so that a machine is made and booted in no time; then seconds are seconds."""

    def __init__(self, start: datetime = START) -> None:
        super().__init__(start)
        self._live: float | None = None

    def go_live(self) -> None:
        self._live = time.monotonic() - self._now
        self.set_off(datetime.now(UTC).timestamp() - self.utc().timestamp())

    def now(self) -> float:
        if self._live is not None:
            self._now = max(self._now, time.monotonic() - self._live)
        return self._now

    def step(self, end: float) -> bool:
        """Waits until the next event is due, and runs it."""
        while self._live is not None:
            due = self._next_at()
            if due is None or due > end or due <= self.now():
                break
            time.sleep(min(STEP_S, due - self.now()))
        return super().step(end)

    def advance(self, seconds: float) -> None:
        end = self.now() + seconds
        while self.step(end):
            pass
        if self._live is not None:
            time.sleep(max(0.0, end - self.now()))
        self._now = max(self._now, end)

    def _next_at(self) -> float | None:
        return min((timer.at for timer in self._events if not timer.cancelled), default=None)
