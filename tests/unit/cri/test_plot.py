"""The table, the CSV and the plot of CPU readings."""

from __future__ import annotations

import csv
import io
from typing import Any
from xml.etree import ElementTree

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cri import plot
from ansible_collections.winkube.node.plugins.plugin_utils.cri.samples import (
    CONTAINER_STATS,
    SUMMARY,
    Reading,
    Sample,
    Subject,
)

from tests.unit.cri.series_of_ct36 import WITH_DEFECT, A

SVG = "{http://www.w3.org/2000/svg}"
UNDERFLOW = 2**64 - 5


def reading(at_s: int, nano_cores: int | None, source: str = SUMMARY, container: str = "burn") -> dict[str, Any]:
    return {
        "namespace": "load",
        "pod": "burner",
        "container": container,
        "source": source,
        "at_ns": at_s * 1_000_000_000,
        "core_ns": None,
        "nano_cores": nano_cores,
    }


DEFECT = [reading(10 * n, value) for n, value in enumerate(value for pod, value in WITH_DEFECT if pod == A)]


def marks(text: str, kind: str) -> list[ElementTree.Element]:
    return [one for one in ElementTree.fromstring(text).iter() if one.get("class") == kind]


@pytest.mark.row("CT-35", "CT-36")
def test_the_plot_shows_zeros_apart() -> None:
    text = plot.svg(DEFECT, "CPU usage, <win1>")
    zeros = marks(text, "zero")
    assert [one.get("cx") for one in zeros] == ["273.3", "620.0"]  # the second and the fourth of four, 100 to 620
    values = marks(text, "value")
    assert len(values) == 2
    # 439 m of 1506.8 m, on a height of 200 above 280
    assert [one.get("cy") for one in values] == [f"{280 - 200 * 439449510 / 1506845973:.1f}", "80.0"]
    found = [one.text for one in ElementTree.fromstring(text).iter(f"{SVG}text")]
    assert found[0] == "CPU usage, <win1>"
    assert {"load/burner/burn", "1507 m", "0 m", "0 s", "30 s", "/stats/summary"} <= set(found)


def test_underflows_do_not_set_the_scale_and_missing_values_make_no_mark() -> None:
    text = plot.svg([reading(0, 5 * 10**8), reading(5, UNDERFLOW), reading(10, None), reading(15, 10**9)], "t")
    assert len(marks(text, "underflow")) == 1 and len(marks(text, "value")) == 2 and not marks(text, "zero")
    assert "1000 m" in text


def test_a_panel_for_each_and_a_colour_for_each_source() -> None:
    several = [*DEFECT, *(reading(n, 5 * 10**8, CONTAINER_STATS) for n in range(3)), reading(1, 7, container="x")]
    root = ElementTree.fromstring(plot.svg(several, "t"))
    assert root.get("height") == str(30 + 2 * 320)
    colours = {one.get("fill") for one in marks(plot.svg(several, "t"), "value")}
    assert len(colours) == 2
    assert "no readings" in plot.svg([], "t")


def test_the_csv_has_every_reading() -> None:
    rows = list(csv.DictReader(io.StringIO(plot.csv_text([*DEFECT, reading(99, None)]))))
    assert [row["nano_cores"] for row in rows] == ["439449510", "0", "1506845973", "0", ""]
    assert list(rows[0]) == list(plot.COLUMNS)
    assert rows[0]["pod"] == "burner" and rows[-1]["at_ns"] == "99000000000"


@pytest.mark.row("CT-35", "CT-41")
@pytest.mark.parametrize(
    ("value", "text"), [(None, "-"), (0, "0 !"), (439449510, "439 m"), (UNDERFLOW, "huge !"), (400_000, "0 m")]
)
def test_a_value_in_the_terminal(value: int | None, text: str) -> None:
    assert plot.show(value) == text


@pytest.mark.row("CT-35")
def test_the_lines_of_a_round() -> None:
    burn, other = Subject("load", "burner", "burn"), Subject("load", "idle")
    found = plot.live(
        7,
        [
            Sample(SUMMARY, {burn: Reading(1, 1, 0), other: Reading(1, 1, 10**7)}),
            Sample(CONTAINER_STATS, {burn: Reading(1, 1, 439449510)}),
        ],
    )
    assert [line.split() for line in found] == [
        ["7", "/stats/summary", "ListContainerStats"],
        ["container", "burn", "of", "pod", "load/burner", "0", "!", "439", "m"],
        ["pod", "load/idle", "10", "m"],
    ]
    assert len({len(line) for line in found}) == 1


def burning(*seconds: int) -> list[dict[str, Any]]:
    """Readings at these seconds of something that uses half a core, and says double."""
    who = {"namespace": "load", "pod": "burner", "container": "burn", "source": "ListContainerStats"}
    half = 500_000_000
    return [who | {"at_ns": at * 10**9, "core_ns": at * half, "nano_cores": 2 * half} for at in seconds]


def test_a_gap_is_a_gap_and_the_counter_has_its_own_line() -> None:
    """A line went on over minutes in which nobody had answered, and of the counter nothing was drawn."""
    whole, torn = plot.svg(burning(0, 10, 20, 30, 40), "x"), plot.svg(burning(0, 10, 20, 60, 70, 80), "x")
    assert (whole.count("<polyline"), torn.count("<polyline")) == (1, 2)
    assert whole.count('class="proven"') == 4
    heights = {line.split(",")[1].split("H")[0] for line in whole.splitlines() if 'class="proven"' in line}
    assert heights == {"180.0"}, "half as high as what was said"


def test_a_page_has_the_verdicts_and_nothing_of_others_in_its_markup() -> None:
    verdicts = [{"blame": "containerd", "call": "c", "text": "<b>no</b>", "defect": {"text": "known", "issue": "#1"}}]
    page = plot.draw("a/stats.html", burning(0, 10), "CPU <1>", verdicts)
    assert page.startswith("<!DOCTYPE html>") and "<svg " in page
    assert "&lt;b&gt;no&lt;/b&gt; known #1" in page and "<b>no" not in page and "CPU &lt;1&gt;" in page
    assert plot.draw("stats.svg", burning(0, 10), "x", verdicts).startswith("<svg")
