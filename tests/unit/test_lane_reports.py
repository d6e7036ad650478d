"""README's table of lanes is what their last reports say, each of a committed state."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests import lane_reports
from tests.pwsh import __main__ as pwsh


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    root.mkdir()
    (root / "file").write_text("a")
    for line in ("init -q", "add file", "-c user.name=a -c user.email=a@b commit -qm a"):
        subprocess.run(["git", *line.split()], cwd=root, check=True)
    return root


def test_the_table_has_a_row_for_each_lane_that_was_recorded(repository: Path, tmp_path: Path) -> None:
    folder = tmp_path / "lanes"
    for passed in (1, 2):
        said = lane_reports.record("wine", "Wine 10", passed, 0, folder=folder, root=repository)
        assert said == "lane wine is recorded; make generate writes README's table"
    lane_reports.record("lab", "ansible-core 2.21.5", 3, 1, folder=folder, root=repository)
    lab, wine = lane_reports.rows(folder)
    assert lab.startswith("| lab | ansible-core 2.21.5 | 3 | 1 | ") and wine.startswith("| wine | Wine 10 | 2 | 0 | ")
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=repository, capture_output=True, text=True, check=True)
    assert lane_reports.read(folder)[0].commit == head.stdout[:8]


def test_what_is_not_committed_is_not_recorded(repository: Path, tmp_path: Path) -> None:
    (repository / "file").write_text("b")
    said = lane_reports.record("wine", "Wine 10", 1, 0, folder=tmp_path / "lanes", root=repository)
    assert said == "lane wine is not recorded: file is not committed"
    assert lane_reports.read(tmp_path / "lanes") == []


def test_the_report_of_powershell_counts_all_its_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[tuple[Any, ...]] = []

    def record(*report: Any) -> str:
        kept.append(report)
        return ""

    monkeypatch.setattr(lane_reports, "record", record)
    kinds = {"people": 10, "host_process": 5, "module": 2, "other": 3}
    figures = {"powershell": "7.6.9", "passed": 100, "failed": 1, "others_failed": 2, **kinds}
    pwsh.recorded({**figures, "platform": "windows"})
    pwsh.recorded({**figures, "platform": "linux"})
    assert kept == [
        ("pwsh-wine", "PowerShell 7.6.9 for Windows, on Wine", 120, 3),
        ("pwsh-linux", "PowerShell 7.6.9 for Linux", 120, 3),
    ]
