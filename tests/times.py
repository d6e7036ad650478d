"""What each test costs, as a pytest plugin: at the end the slowest ten and the total; what one may take at most.

A test's figure is **processor time**: of the process that runs it (the simulated nodes live in there) and of all
processes that it started and waited for (Ansible and its workers). Time of day is kept beside it and judges nothing:
it says how busy the machine was. What a test waits for by `time.sleep` in its own process is told, too.
Setting up and taking down count; what a fixture of a module or a session makes counts for the first test that asks
for it. The limit leaves out what other threads of the process spent meanwhile (a node that an earlier test has left
to end) and Python's garbage collector, which cleans up after all tests before. Not seen: a process that outlives its
test or that nobody waited for (an SSH master connection).
"""

from __future__ import annotations

import gc
import json
import resource
import threading
import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.integration.warm import Warm
from tests.rows.record import ALL_OF_MAKE_TEST

OPTION = "--times"
PROPERTY = "times"
BUDGET_S = 800.0
"""What all of `make test` may take: 757 s were measured, eight minutes on two cores. `make cover` says which scenarios
that is spent on."""
# The same test on the same machine was charged between once and twice its time: who shares a core is charged for it.
# So CI fails only at this many limits; the list of the slowest shows who is between.
FAILS_AT = 3
SLOWEST = 10


@dataclass(frozen=True)
class Times:
    """Of one test, all in seconds: time of day, processor time, what of the time it slept itself; what of the processor
    time others spent: the other threads of its process, the garbage collector."""

    wall: float
    cpu: float
    slept: float
    beside: float = 0.0


def cpu_s() -> float:
    """Processor seconds, user and system, of this process, of its ended children and of Ansible's runs."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both) + Warm.cpu_s


def threads_s() -> float:
    """Processor seconds of this process's other threads."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    return own.ru_utime + own.ru_stime - time.thread_time()


class _Collector:
    """What the garbage collector costs the thread that runs the tests."""

    def __init__(self) -> None:
        self.total = 0.0
        self._began = 0.0
        self._thread = threading.get_ident()

    def install(self) -> None:
        gc.callbacks.append(self._note)

    def remove(self) -> None:
        gc.callbacks.remove(self._note)

    def _note(self, phase: str, _info: dict[str, int]) -> None:
        if threading.get_ident() != self._thread:
            return
        if phase == "start":
            self._began = time.thread_time()
        else:
            self.total += time.thread_time() - self._began


class _Sleeps:
    """`time.sleep`, counted: by the thread that runs the tests, which is who the rest waits for."""

    def __init__(self) -> None:
        self.total = 0.0
        self._before = time.sleep
        self._thread = threading.get_ident()

    def install(self) -> None:
        time.sleep = self._sleep  # type: ignore[assignment]

    def remove(self) -> None:
        time.sleep = self._before

    def _sleep(self, seconds: float, /) -> None:
        if threading.get_ident() == self._thread:
            self.total += seconds
        self._before(seconds)


class TimesPlugin:
    """See the module. `strict`: a test above its limit fails (CI)."""

    def __init__(self, *, strict: bool, file: Path | None = None) -> None:
        self._strict = strict
        self._file = file
        self._sleeps = _Sleeps()
        self._collector = _Collector()
        self._began = (0.0, 0.0, 0.0, 0.0)
        self._of_test: dict[str, Times] = {}
        self._started = time.monotonic()

    def pytest_sessionstart(self) -> None:
        self._sleeps.install()
        self._collector.install()
        if self._file is not None:
            self._file.write_text("")

    def pytest_sessionfinish(self) -> None:
        self._sleeps.remove()
        self._collector.remove()

    def _now(self) -> tuple[float, float, float, float]:
        return time.monotonic(), cpu_s(), self._sleeps.total, threads_s() + self._collector.total

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        self._began = self._now()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when == "teardown":
            spent = [now - began for now, began in zip(self._now(), self._began, strict=True)]
            # With pytest-xdist this is another process than the one that counts: the figures go with the report.
            report.user_properties.append((PROPERTY, [round(figure, 4) for figure in spent]))
            sentence = objection(Times(*spent), limit_of(item))
            if sentence is not None and self._strict and report.passed:
                report.outcome = "failed"
                report.longrepr = f"{report.nodeid}: {sentence}"
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        figures: Any = dict(report.user_properties).get(PROPERTY)
        if report.when != "teardown" or figures is None:
            return
        self._of_test[report.nodeid] = times = Times(*figures)
        if self._file is not None:
            with self._file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps({"test": report.nodeid, **times.__dict__}) + "\n")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._of_test:
            terminalreporter.section("times", sep="-")
            for line in summary(self._of_test, time.monotonic() - self._started):
                terminalreporter.write_line(line)
            config = terminalreporter.config
            spent = sum(times.cpu for times in self._of_test.values())
            whole = config.option.markexpr == ALL_OF_MAKE_TEST and config.args_source is not config.ArgsSource.ARGS
            if whole and spent > BUDGET_S:
                terminalreporter.write_line(f"that is more than the {BUDGET_S:g} s of `make test`: see `make cover`")


@dataclass(frozen=True)
class Limit:
    """What `who` may take, in seconds of processor time; one that has to take more gets the marker."""

    seconds: float
    who: str
    marker: str


QUICK = Limit(2.0, "a test of `make quick`", "slow")
SCENARIO = Limit(20.0, "a scenario of `make test`", "exhaustive")


def limit_of(item: pytest.Item) -> Limit | None:
    if item.get_closest_marker("quick") is not None:
        return QUICK
    return SCENARIO if "integration" in item.path.parts and item.get_closest_marker("exhaustive") is None else None


def objection(times: Times, limit: Limit | None) -> str | None:
    """Why a test may not take this long, as a sentence; None if it may. Judged by processor time: see the module."""
    spent = times.cpu - times.beside
    if limit is None or spent <= limit.seconds * FAILS_AT:
        return None
    return (
        f"took {spent:.1f} s of processor time, and {limit.who} may take {limit.seconds:g} s "
        f"(CI fails at {limit.seconds * FAILS_AT:g} s): make it smaller, or mark it {limit.marker}"
    )


def summary(of_test: dict[str, Times], wall_s: float) -> list[str]:
    """One line for each of the slowest tests and one with the total."""
    ordered = sorted(of_test.items(), key=lambda item: -item[1].cpu)
    lines = [f"{times.cpu:7.2f} s of processor time ({times.wall:.1f} s)  {test}" for test, times in ordered[:SLOWEST]]
    cpu, slept = (sum(getattr(times, name) for times in of_test.values()) for name in ("cpu", "slept"))
    lines.append(
        f"{len(of_test)} tests: {cpu:.0f} s of processor time, {slept:.0f} s slept, {wall_s:.0f} s by the clock; "
        f"the slowest {min(SLOWEST, len(ordered))} are above"
    )
    return lines
