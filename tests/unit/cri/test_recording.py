"""The files in which a run's readings are kept: a CSV that grows by lines, a plot that is drawn again and again."""

from __future__ import annotations

import csv
import time
from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cri import recording
from ansible_collections.winkube.node.plugins.plugin_utils.cri.recording import Recording
from ansible_collections.winkube.node.plugins.plugin_utils.cri.samples import (
    CONTAINER_STATS,
    Reading,
    Sample,
    SampleError,
    Subject,
)
from ansible_collections.winkube.node.plugins.plugin_utils.cri.watch import StatsOptions, rows

from tests.unit.told import told


def sample(at_s: int, nano_cores: int | None = 5) -> Sample:
    return Sample(CONTAINER_STATS, {Subject("load", "burner", "burn"): Reading(at_s * 1_000_000_000, at_s, nano_cores)})


def how(**files: Path) -> StatsOptions:
    names = {name: str(path) for name, path in files.items()}
    return told(StatsOptions, "k8s_windows_cri_info", "stats", title="CPU of burn", **names)


def lines(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_each_round_is_in_the_csv_at_once_and_below_one_head(tmp_path: Path) -> None:
    path = tmp_path / "not" / "yet" / "cpu.csv"
    files = Recording(how(csv=path), write=True)
    files.add(1, [sample(1), sample(2)])
    assert [row["core_ns"] for row in lines(path)] == ["1", "2"]
    files.add(2, [sample(3, None)])
    assert [row["core_ns"] for row in lines(path)] == ["1", "2", "3"]
    assert [row["nano_cores"] for row in lines(path)] == ["5", "5", ""], "a value that is missing is not 0"


def test_a_new_run_begins_a_new_csv(tmp_path: Path) -> None:
    path = tmp_path / "cpu.csv"
    Recording(how(csv=path), write=True).add(1, [sample(1)])
    Recording(how(csv=path), write=True).add(1, [sample(9)])
    assert [row["core_ns"] for row in lines(path)] == ["9"]


def test_the_end_writes_all_readings_also_those_of_others(tmp_path: Path) -> None:
    """What somebody else's crictl has printed is in no round."""
    path = tmp_path / "cpu.csv"
    files = Recording(how(csv=path), write=True)
    files.add(1, [sample(1)])
    files.finish("CPU", [*rows(sample(1)), *rows(sample(7))], [])
    assert [row["core_ns"] for row in lines(path)] == ["1", "7"]


def test_a_plot_grows_but_is_not_drawn_at_each_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, now = tmp_path / "cpu.svg", [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    files = Recording(how(plot=path), write=True)
    files.add(1, [sample(1)])
    assert not path.exists(), "nothing to see in it yet"
    now[0] += recording.DRAW_S
    files.add(2, [sample(2)])
    assert path.read_text().count('class="value"') == 2, "also what came before it was drawn"
    files.add(3, [sample(3)])
    assert path.read_text().count('class="value"') == 2
    now[0] += recording.DRAW_S
    files.add(4, [sample(4)])
    assert path.read_text().count('class="value"') == 4


def test_the_last_page_has_the_verdicts(tmp_path: Path) -> None:
    path = tmp_path / "cpu.html"
    verdict = {"namespace": "load", "pod": "burner", "container": "burn", "call": CONTAINER_STATS, "text": "It lies."}
    Recording(how(plot=path), write=True).finish(
        "CPU of burn", rows(sample(1)), [verdict | {"blame": "containerd", "defect": {}}]
    )
    page = path.read_text()
    assert "CPU of burn" in page and "It lies." in page


def test_check_mode_and_options_that_name_no_file_write_none(tmp_path: Path) -> None:
    files = Recording(how(csv=tmp_path / "a.csv", plot=tmp_path / "a.svg"), write=False)
    files.add(1, [sample(1)])
    files.finish("CPU", rows(sample(1)), [])
    nothing = Recording(how(), write=True)
    nothing.add(1, [sample(1)])
    nothing.finish("CPU", rows(sample(1)), [])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["csv", "plot"])
def test_a_file_that_cannot_be_written_is_named_with_its_option(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    where = tmp_path / "file" / "cpu.svg"
    files = Recording(how(**{name: where}), write=True)
    with pytest.raises(
        SampleError, match=rf"stats\.{name}: {where} cannot be written: (File exists|Not a directory)\."
    ):
        files.finish("CPU", rows(sample(1)), [])
