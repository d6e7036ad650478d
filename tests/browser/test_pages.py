"""Each page in Chromium: silent, alone, no wider than a phone, whole on paper; nothing of a node is markup in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.chromium import Tab, chromium
from tests.browser.pages import HOSTILE, PAGES, WIDTHS

WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
CHARTS = "[...document.querySelectorAll('.chart svg')].map(e => e.getBoundingClientRect().right - window.innerWidth)"
TEXT = "Math.min(...[...document.querySelectorAll('.chart text')].map(e => e.getBoundingClientRect().height))"
FOLDED = "[...document.querySelectorAll('details > pre')].filter(e => e.checkVisibility()).length"
PHONE, TABLET, DESK = WIDTHS.values()


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with chromium(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(params=sorted(PAGES))
def page(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"{request.param}.html"
    path.write_text(PAGES[request.param](HOSTILE), encoding="utf-8")
    return path


def test_a_page_is_silent_and_asks_for_nothing(tab: Tab, page: Path) -> None:
    tab.said.clear()
    tab.asked.clear()
    tab.show(page, DESK)
    assert tab.evaluate("document.title") not in {"", "in"}
    assert tab.said == []
    assert [each for each in tab.asked if not each.startswith(("file:", "data:"))] == []


@pytest.mark.parametrize("width", [PHONE, TABLET, DESK])
def test_nothing_is_wider_than_the_window(tab: Tab, page: Path, width: int) -> None:
    tab.show(page, width, phone=width == PHONE)
    assert tab.evaluate("window.innerWidth") == width
    assert tab.evaluate(WIDER) == 0


@pytest.mark.parametrize("width", [PHONE, TABLET, DESK])
def test_a_chart_is_seen_whole_and_can_be_read(tab: Tab, tmp_path: Path, width: int) -> None:
    path = tmp_path / "cpu.html"
    path.write_text(PAGES["cpu"](), encoding="utf-8")
    tab.show(path, width, phone=width == PHONE)
    beyond = tab.evaluate(CHARTS)
    assert beyond and max(beyond) <= 0
    assert tab.evaluate(TEXT) >= 10, "CSS pixels"


def test_what_is_folded_is_printed(tab: Tab, page: Path) -> None:
    tab.show(page, DESK)
    assert tab.evaluate(FOLDED) == 0
    tab.emulate("print")
    assert tab.evaluate(FOLDED) == tab.evaluate("document.querySelectorAll('details > pre').length")
    tab.emulate("")
    paper = tab.print()
    assert paper.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type /Page\b", paper)) >= 1


def test_the_cause_is_marked_among_the_components(tab: Tab, tmp_path: Path) -> None:
    path = tmp_path / "diagnosis.html"
    path.write_text(PAGES["diagnosis"](), encoding="utf-8")
    tab.show(path, DESK)
    marked = tab.evaluate(
        "[...document.querySelectorAll('#win1 ~ ol.components li.error b')].map(e => e.textContent)[0]"
    )
    assert marked == "kube-proxy"
    command = tab.evaluate("getComputedStyle(document.querySelector('pre.command')).userSelect")
    assert command == "all", "one click takes the whole command"
