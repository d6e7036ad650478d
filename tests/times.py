"""What each test costs, as a pytest plugin: at the end the slowest ten and the total. It judges nothing.

A test's figure is **processor time**: of the process that runs it (the simulated nodes live in there) and of all
processes that it started and waited for (Ansible and its workers). Time of day beside
it says how busy the machine was. What a test waits for by `time.sleep` in its own process is told, too.
Setting up and taking down count; what a fixture of a module or a session makes counts for the first test that asks
for it. Not seen: a process that outlives its test or that nobody waited for (an SSH master connection).
"""

from __future__ import annotations

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

OPTION = "--times"
PROPERTY = "times"
SLOWEST = 10


@dataclass(frozen=True)
class Times:
    """Of one test, all in seconds: time of day, processor time, what of the time it slept itself."""

    wall: float
    cpu: float
    slept: float


def cpu_s() -> float:
    """Processor seconds, user and system, of this process, of its ended children and of Ansible's runs."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both) + Warm.cpu_s


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
    """See the module. `file` gets one JSON object a line for each test."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._sleeps = _Sleeps()
        self._began = (0.0, 0.0, 0.0)
        self._of_test: dict[str, Times] = {}
        self._started = time.monotonic()

    def pytest_sessionstart(self) -> None:
        self._sleeps.install()
        if self._file is not None:
            self._file.write_text("")

    def pytest_sessionfinish(self) -> None:
        self._sleeps.remove()

    def _now(self) -> tuple[float, float, float]:
        return time.monotonic(), cpu_s(), self._sleeps.total

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
