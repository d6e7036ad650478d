# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Says what is waited for and since when: a long wait looks like a run that hangs.

Who waits names what it waits for; to whom that is said, and how often, is the task's (`telling`), as with a log: a wait
may be deep in a function that a test or a program without a screen calls as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from .clock import Clock

WATCHED_S = 8.0
"""Seconds between two lines when a user watches."""
LOGGED_S = 60.0


@dataclass(frozen=True, slots=True)
class Voice:
    """`said` gets a line each `every_s` seconds of a wait."""

    said: Callable[[str], None] = lambda sentence: None
    every_s: float = LOGGED_S


_VOICE: ContextVar[Voice] = ContextVar("voice", default=Voice())  # noqa: B039 - it is frozen


@contextmanager
def telling(voice: Voice) -> Iterator[None]:
    """What waits in here says so to this voice."""
    token = _VOICE.set(voice)
    try:
        yield
    finally:
        _VOICE.reset(token)


@dataclass(slots=True)
class Wait:
    """One wait, from when it is made. `what` names it: "kubelet: waiting for the node to answer"; `clock` is the one by
    which it passes."""

    what: str
    clock: Clock
    voice: Voice = field(default_factory=_VOICE.get)
    began: float = field(init=False)
    told: float = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.told = self.clock.now()

    def say(self, last: object = "") -> None:
        """Says what is waited for if it is time; `last`: what was seen last."""
        now = self.clock.now()
        if now - self.told < self.voice.every_s:
            return
        self.told = now
        seen = f"; last seen: {last}" if last else ""
        self.voice.said(f"{self.what}, {now - self.began:.0f} s so far{seen}")

    def sleep(self, seconds: float, last: object = "") -> None:
        """Lets `seconds` pass, however long they are, without going silent."""
        left = seconds
        while left > 0:
            due = self.told + self.voice.every_s - self.clock.now()
            part = min(left, due) if due > 0 else left
            self.clock.sleep(part)
            left -= part
            self.say(last)
