"""Lanes, as a pytest plugin: which kinds of tests ran, which did not and why, and that nothing is skipped on the quiet.

tests/lanes.yml is the table, and says how a test gets into a lane.
"""

from __future__ import annotations

import functools
import importlib
import os
import platform
import re
import shutil
from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests import lane_reports, yaml_text

TABLE = Path(__file__).with_name("lanes.yml")
# The one lane that is a whole run in another environment: no test carries it.
OLDEST = "oldest"

_REASON = re.compile(r"lane (?P<lane>[a-z]+): (?P<why>\S.*)", re.DOTALL)


@dataclass(frozen=True)
class Lane:
    """One entry of tests/lanes.yml."""

    name: str
    why: str
    due: bool
    folders: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    any_variable: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()

    def missing(self) -> str | None:
        """What this machine lacks for the lane, as a phrase; None when all is there."""
        absent = [program for program in self.programs if shutil.which(program) is None]
        if absent:
            return f"{' and '.join(absent)} not on PATH"
        if self.any_variable and not any(os.environ.get(name) for name in self.any_variable):
            return f"none of {', '.join(self.any_variable)} is set"
        for module in self.asks:
            phrase: str | None = importlib.import_module(module).missing()
            if phrase is not None:
                return phrase
        return None


def load_lanes(path: Path = TABLE) -> dict[str, Lane]:
    """The table by lane name. Raises ValueError (a sentence) for an entry that is wrong."""
    lanes = {}
    for name, entry in yaml_text.load_file(path).items():
        if not (isinstance(entry, dict) and set(entry) == {"folders", "needs", "due", "why"}):
            raise ValueError(f"{path.name}: lane {name} needs exactly folders, needs, due and why")
        if not (isinstance(entry["due"], bool) and isinstance(entry["why"], str) and entry["why"]):
            raise ValueError(f"{path.name}: lane {name} needs due: true or false, and a why")
        unknown = set(entry["needs"]) - {"programs", "any_variable", "asks"}
        if unknown:
            raise ValueError(f"{path.name}: lane {name} needs {', '.join(sorted(unknown))}, which nothing looks for")
        needs = {key: tuple(value) for key, value in entry["needs"].items()}
        lanes[name] = Lane(name, entry["why"], entry["due"], tuple(entry["folders"]), **needs)
    return lanes


def objection(reason: str, lanes: Mapping[str, Lane], *, strict: bool) -> str | None:
    """Why a test may not be skipped for this reason, as a sentence; None if it may. `strict` is how CI looks at it."""
    match = _REASON.fullmatch(reason)
    if match is None or match["lane"] not in lanes:
        names = ", ".join(lanes)
        wanted = f'"lane <name>: <what is missing>", name one of {names}'
        return f'skipped because of "{reason}", but a skip names its lane: {wanted}'
    lane = lanes[match["lane"]]
    if strict and lane.due:
        return f"skipped ({match['why']}), but lane {lane.name} is due: CI has to run it ({lane.why})"
    return None


@dataclass
class _Tally:
    outcomes: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)


class LanesPlugin:
    """Puts tests into lanes, refuses skips without a lane, prints one line per lane."""

    def __init__(self, config: pytest.Config, lanes: Mapping[str, Lane], *, strict: bool) -> None:
        self._root = config.rootpath
        self._lanes = lanes
        self._strict = strict
        self._of_test: dict[str, str] = {}
        self._tallies = {name: _Tally() for name in lanes}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            lane = self._lane_of(item)
            if lane is None:
                continue
            self._of_test[item.nodeid] = lane.name
            missing = lane.missing()
            if missing is not None:
                item.add_marker(pytest.mark.skip(reason=f"lane {lane.name}: {missing}"))

    def _lane_of(self, item: pytest.Item) -> Lane | None:
        marker = item.get_closest_marker("lane")
        if marker is not None:
            name = str(marker.args[0]) if marker.args else ""
            if name not in self._lanes or name == OLDEST:
                raise pytest.UsageError(f"{item.nodeid}: lane({name!r}) is not one that tests/lanes.yml has for tests")
            return self._lanes[name]
        return self._of_file(item.path)

    @functools.cache  # noqa: B019 - one plugin for each process
    def _of_file(self, path: Path) -> Lane | None:
        for lane in self._lanes.values():
            if any(path.is_relative_to(self._root / folder) for folder in lane.folders):
                return lane
        return None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        # With pytest-xdist this is another process than the one that counts: what it needs goes with the report.
        report.user_properties.append(("lane", self._of_test.get(item.nodeid)))
        if not hasattr(report, "wasxfail"):
            self._judge(report)
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        report = yield
        self._judge(report)
        return report

    def _judge(self, report: Any) -> None:
        if report.outcome != "skipped":
            return
        longrepr = report.longrepr
        text = longrepr[2] if isinstance(longrepr, tuple) else str(longrepr)
        reason = text.removeprefix("Skipped: ")
        sentence = objection(reason, self._lanes, strict=self._strict)
        if sentence is not None:
            report.outcome = "failed"
            report.longrepr = f"{report.nodeid}: {sentence}"
            return
        match = _REASON.fullmatch(reason)
        report.skipped_for = (match["lane"], match["why"]) if match is not None else None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._count_skip(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._count_skip(report)
        lane = dict(report.user_properties).get("lane")
        if lane is None or report.skipped:
            return
        if report.when == "call" or report.failed:
            self._tallies[str(lane)].outcomes[report.outcome] += 1

    def _count_skip(self, report: Any) -> None:
        if report.skipped and getattr(report, "skipped_for", None):
            lane, why = report.skipped_for
            self._tallies[lane].outcomes["skipped"] += 1
            self._tallies[lane].reasons[why] += 1

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("lanes", sep="-")
        for line in self.summary():
            terminalreporter.write_line(line)
        # A part of a lane is no report of it.
        if lane_reports.wanted() and not terminalreporter.config.option.keyword:
            for line in self._record():
                terminalreporter.write_line(line)

    def _record(self) -> Iterator[str]:
        """README's table gets the lanes of this run; the one of PowerShell records itself (tests/pwsh)."""
        from ansible.release import __version__ as core

        ran_with = f"ansible-core {core}, CPython {platform.python_version()}"
        for name, tally in self._tallies.items():
            outcomes = tally.outcomes
            if name != "pwsh" and (outcomes["passed"] or outcomes["failed"]):
                lane = f"{OLDEST}-{name}" if core.startswith("2.19.") else name
                yield lane_reports.record(lane, ran_with, outcomes["passed"], outcomes["failed"])

    def summary(self) -> list[str]:
        """One line per lane: how many of its tests ran, how many were skipped and why."""
        lines = []
        for name, lane in self._lanes.items():
            tally = self._tallies[name]
            if name == OLDEST:
                lines.append(f"{name:8}{_of_oldest()}")
                continue
            said = [
                f"{tally.outcomes[outcome]} {outcome}" for outcome in ("passed", "failed") if tally.outcomes[outcome]
            ]
            if tally.outcomes["skipped"]:
                said.append(f"{tally.outcomes['skipped']} skipped: {'; '.join(tally.reasons)}")
            missing = lane.missing()
            nothing = f"not run here, {missing}" if missing else "no test of it in this run"
            lines.append(f"{name:8}{', '.join(said) or nothing}{'' if lane.due else ' (not due)'}")
        return lines


def _of_oldest() -> str:
    from ansible.release import __version__ as core

    return f"this run, ansible-core {core}" if core.startswith("2.19.") else "a run of its own: make test-oldest"
