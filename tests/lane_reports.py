"""What each lane last said of a committed state: tests/reports/NAME.json, of which README's table is made.

With WINKUBE_RECORD=true a whole run (`make test`, `make test-oldest`, `make pwsh`, ..) writes the reports of the lanes
that were in it, if nothing is uncommitted; `make generate` then writes the table.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "tests" / "reports"
VARIABLE = "WINKUBE_RECORD"
HEADER = "| lane | with | passed | failed | date | commit |"


@dataclass(frozen=True)
class LaneReport:
    """`ran_with`: program and version. `date`: YYYY-MM-DD, in UTC. `commit`: abbreviated."""

    lane: str
    ran_with: str
    passed: int
    failed: int
    date: str
    commit: str


def record(lane: str, ran_with: str, passed: int, failed: int, *, folder: Path = FOLDER, root: Path = ROOT) -> str:
    """Writes the report of a lane that has just run; what became of it, as a sentence."""
    if changed := _git(root, "status", "--porcelain", "--untracked-files=no"):
        return f"lane {lane} is not recorded: {changed.splitlines()[0].split()[-1]} is not committed"
    today = datetime.now(UTC).date().isoformat()
    report = LaneReport(lane, ran_with, passed, failed, today, _git(root, "rev-parse", "--short=8", "HEAD"))
    write(report, folder)
    return f"lane {lane} is recorded; make generate writes README's table"


def wanted() -> bool:
    return os.environ.get(VARIABLE) == "true"


def write(report: LaneReport, folder: Path = FOLDER) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{report.lane}.json").write_text(json.dumps(asdict(report), indent=1) + "\n", encoding="utf-8")


def read(folder: Path = FOLDER) -> list[LaneReport]:
    """By name of the lane."""
    return [LaneReport(**json.loads(path.read_text(encoding="utf-8"))) for path in sorted(folder.glob("*.json"))]


def rows(folder: Path = FOLDER) -> Iterator[str]:
    """The table's, under HEADER."""
    for one in read(folder):
        yield f"| {one.lane} | {one.ran_with} | {one.passed} | {one.failed} | {one.date} | {one.commit} |"


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()
