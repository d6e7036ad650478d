"""What the lane's run says: a line by test in a file, and one line of JSON. A pytest plugin for `make pwsh`, which also
leaves out every test of another lane.

A line of the file: `{"test", "kind": case|module|people|host_process|other, "outcome": passed|failed|not provided|
not run, "lacks": [marks], "starts": [seconds], "seconds", "error"}`.
"""

from __future__ import annotations

import hashlib
import json
import os
import statistics
from collections import Counter
from collections.abc import Container, Generator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from tests.contract.case import Case
from tests.pwsh.choice import in_lane
from tests.pwsh.program import Platform, PowerShell
from tests.pwsh.statements import TRACE

KINDS = {
    "test_real_powershell": "case",
    "test_real_module": "module",
    "test_a_script_for_people_run_twice": "people",
}
"""By test; what is in HOST_PROCESS is host_process, the rest other."""
HOST_PROCESS = "test_host_process.py"
TRACES = "WINKUBE_TRACES"
"""Names a folder: each test has the processes that it starts write to a file of its own in there (trace.py)."""
STARTS = "starts"
"""The property in which a test says how long each process of a module or a runner took."""
FIGURES = "figures"
"""The property in which a test says what it counted; the run prints it as a line of JSON."""


def report_of(platform: Platform) -> Path:
    """The file of lines, below the root of a tree."""
    return Path("build") / f"pwsh-{platform}.jsonl"


class OnlyThisLane:
    """In each process that collects."""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        others = [item for item in items if not in_lane(item)]
        if others:
            config.hook.pytest_deselected(items=others)
            gone = set(others)
            items[:] = [item for item in items if item not in gone]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None]:
        folder = os.environ.get(TRACES)
        if folder is None:
            return (yield)
        path = Path(folder) / hashlib.sha256(item.nodeid.encode()).hexdigest()
        path.write_text(f"{item.nodeid}\n", encoding="utf-8")
        path.chmod(0o666)
        os.environ[TRACE] = str(path)
        try:
            return (yield)
        finally:
            del os.environ[TRACE]


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(OnlyThisLane(), "winkube-only-pwsh")


class Report:
    """What the tests did, by id; in the process that prints."""

    def __init__(self) -> None:
        self.lines: dict[str, dict[str, Any]] = {}
        self.figures: list[dict[str, int]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown" and report.nodeid in self.lines:
            starts = cast(list[float], dict(report.user_properties).get(STARTS, []))
            self.lines[report.nodeid]["starts"] = [round(each, 2) for each in starts]
            self.figures += cast(list[dict[str, int]], [one for name, one in report.user_properties if name == FIGURES])
        if report.when != "call" and report.outcome == "passed":
            return
        name, _, rest = report.nodeid.rpartition("::")[2].partition("[")
        entry = {
            "test": rest.removesuffix("]") or name,
            "kind": KINDS.get(name, "host_process" if HOST_PROCESS in report.nodeid else "other"),
            "outcome": report.outcome,
            "seconds": round(report.duration, 2),
        }
        if report.outcome != "passed":
            entry["error"] = report.longreprtext[-4000:]
        self.lines[report.nodeid] = entry

    def write(self, path: Path, more: Iterator[Mapping[str, Any]]) -> None:
        """`more`: the lines of what was not run."""
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [*self.lines.values(), *more]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def not_run(cases: Iterable[Case], provided: frozenset[str], ran: Container[str]) -> Iterator[dict[str, Any]]:
    """Lines of the cases that this PowerShell does not provide for, and of the others that this run left out."""
    for case in cases:
        if lacks := case.needs - provided:
            yield {"test": case.id, "kind": "case", "outcome": "not provided", "lacks": sorted(lacks)}
        elif case.id not in ran:
            yield {"test": case.id, "kind": "case", "outcome": "not run"}


def summary(lines: list[Mapping[str, Any]], powershell: PowerShell, seconds: float) -> dict[str, Any]:
    """The figures. `not_provided` counts a case for each mark that it lacks; `passed` and `failed` are contract cases,
    `also` the other tests."""
    cases = [line for line in lines if line["kind"] == "case"]
    of = Counter(line["outcome"] for line in cases)
    others = [line for line in lines if line["kind"] != "case"]
    starts = [each for line in lines for each in line.get("starts", [])]
    return {
        "powershell": powershell.version,
        "platform": powershell.platform,
        "cases": len(cases),
        "provided": len(cases) - of["not provided"],
        "passed": of["passed"],
        "failed": of["failed"],
        "not_run": of["not run"],
        "not_provided": dict(sorted(Counter(mark for line in cases for mark in line.get("lacks", [])).items())),
        **{
            kind: sum(line["kind"] == kind and line["outcome"] == "passed" for line in others)
            for kind in ("people", "host_process", "module", "other")
        },
        "others_failed": sum(line["outcome"] == "failed" for line in others),
        "starts": len(starts),
        "median_start": round(statistics.median(starts), 2) if starts else None,
        "seconds": round(seconds),
    }
