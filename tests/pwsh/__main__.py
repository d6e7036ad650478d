"""Finds a PowerShell, runs what it can run of the contract under it, and prints what each did not and a line of JSON.

    python -m tests.pwsh                 PowerShell 7 on Linux
    python -m tests.pwsh --wine          PowerShell 7 for Windows on Wine 10
    python -m tests.pwsh --whole         with the cases that wait for half a minute

Further arguments go to pytest. The report by test is build/pwsh-PLATFORM.jsonl. Without a PowerShell it says so and
ends with 0; one that is there and cannot be used is a failure.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from typing import Any

import pytest

from tests import lane_reports
from tests.contract.case import all_cases
from tests.pwsh import program
from tests.pwsh.choice import provided
from tests.pwsh.report import Report, not_run, report_of, summary
from tests.wine import chroot

WORKERS = 2


def main(arguments: list[str]) -> int:
    platform: program.Platform = "windows" if "--wine" in arguments else "linux"
    rest = [word for word in arguments if word not in {"--wine", "--whole"}]
    if platform == "windows" and (why := chroot.missing()) is not None:
        print(f"lane pwsh: left out: {why}")
        return 0
    try:
        found = program.find(platform)
    except program.LaneError as error:
        print(f"lane pwsh: {error}")
        return 1
    if found is None:
        print(f"lane pwsh: left out: {program.lacking(platform)}")
        return 0
    print(f"lane pwsh: PowerShell {found.version} for {platform}, {found.path} (from {found.taken_from})", flush=True)
    choose(found)
    report = Report()
    began = time.monotonic()
    options = [] if "--whole" in arguments else ["-m", "not exhaustive"]
    options += ["-n", str(WORKERS), "--dist", "worksteal", "-p", "tests.pwsh.report", "-p", "no:cacheprovider", "-q"]
    code = pytest.main(["tests/contract", "tests/unit/powershell", *options, *rest], plugins=[report])
    there = provided()
    assert there is not None
    path = program.ROOT / report_of(platform)
    ran = {line["test"] for line in report.lines.values() if line["kind"] == "case"}
    left = list(not_run(all_cases(), there, ran))
    report.write(path, iter(left))
    figures = summary([*report.lines.values(), *left], found, time.monotonic() - began)
    for counted in report.figures:
        print(json.dumps(counted))
    print(json.dumps(figures))
    if lane_reports.wanted() and not rest:
        print(recorded(figures))
    print(f"lane pwsh: each test is in {path.relative_to(program.ROOT)}")
    return int(code)


def recorded(figures: Mapping[str, Any]) -> str:
    """What became of a whole run's report for README's table."""
    wine = figures["platform"] == "windows"
    ran_with = f"PowerShell {figures['powershell']} for {'Windows, on Wine' if wine else 'Linux'}"
    passed = figures["passed"] + sum(figures[kind] for kind in ("people", "host_process", "module", "other"))
    failed = figures["failed"] + figures["others_failed"]
    return lane_reports.record("pwsh-wine" if wine else "pwsh-linux", ran_with, passed, failed)


def choose(found: program.PowerShell) -> None:
    """This process, and so those of pytest, run the contract under that PowerShell."""
    for name in program.VARIABLES.values():
        os.environ.pop(name, None)
    os.environ[program.VARIABLES[found.platform]] = str(found.path)
    os.environ.update({"POWERSHELL_TELEMETRY_OPTOUT": "1", **found.environment})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
