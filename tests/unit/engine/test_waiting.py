"""A long wait is told: every few seconds at a terminal, once a minute in a log."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.client import wait_for
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.engine.clock import Clock
from ansible_collections.winkube.node.plugins.plugin_utils.engine.waiting import Voice, Wait, telling


class Passing:
    """A clock whose sleeping is the only time that passes; when lines were said, and what."""

    def __init__(self) -> None:
        self.now = 0.0
        self.said: list[tuple[float, str]] = []

    def clock(self) -> Clock:
        return Clock(lambda: self.now, self._sleep)

    def _sleep(self, seconds: float) -> None:
        self.now += seconds

    def hear(self, sentence: str) -> None:
        self.said.append((self.now, sentence))

    @property
    def longest_silence(self) -> float:
        times = [0.0, *(at for at, _sentence in self.said), self.now]
        return max(after - before for before, after in itertools.pairwise(times))


@pytest.mark.parametrize(("every_s", "limit_s"), [(8.0, 15), (60.0, 60)])
@pytest.mark.parametrize("interval_s", [1.0, 10.0, 200.0])
def test_no_wait_is_silent_for_longer(every_s: float, limit_s: float, interval_s: float) -> None:
    passing = Passing()
    with telling(Voice(passing.hear, every_s)), pytest.raises(ClusterError):
        wait_for(Wait("join: waiting for the Node win1", passing.clock()), 300, lambda: None, "", interval_s)
    assert passing.now == 300
    assert passing.longest_silence <= limit_s
    assert passing.said[0] == (every_s, f"join: waiting for the Node win1, {every_s:.0f} s so far")


def test_a_short_wait_says_nothing() -> None:
    passing = Passing()
    with telling(Voice(passing.hear, 8.0)):
        wait = Wait("waiting", passing.clock())
        for _ in range(7):
            wait.sleep(1.0)
    assert passing.said == []


def test_what_was_seen_last_is_said() -> None:
    passing = Passing()
    with telling(Voice(passing.hear, 8.0)):
        Wait("drain: waiting for the pods of win1 to go", passing.clock()).sleep(8, "default/web")
    assert passing.said == [(8.0, "drain: waiting for the pods of win1 to go, 8 s so far; last seen: default/web")]


def test_nobody_hears_where_no_task_tells() -> None:
    passing = Passing()
    Wait("waiting", passing.clock()).sleep(600)
    assert passing.now == 600


def test_a_clock_that_stands_still_ends_the_sleep() -> None:
    slept: list[float] = []
    stands: Callable[[float], None] = slept.append
    Wait("waiting", Clock(lambda: 0.0, stands), Voice(lambda sentence: None, 8.0)).sleep(20)
    assert sum(slept) == 20
