"""The chapters hold in the lab, too: what Wine's answers are compared with. The same on Wine is `make wine-node`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.wine_node import compare, story
from tests.wine_node.compare import BATCH, Exchange
from tests.wine_node.lab_side import in_lab


def told(folder: Path, *chapters: str) -> tuple[story.Told, list[Exchange]]:
    with in_lab(folder) as lab:
        found = story.Told(lab)
        story.tell(found, chapters)
        return found, lab.exchanges


def test_a_session_that_is_cut_is_cut_in_a_batch(tmp_path: Path) -> None:
    found, exchanges = told(tmp_path, "cut")
    assert (found.failed, found.second) == ([], (0, 1))
    assert {one.chapter for one in exchanges} == {"first", "containerd", "cut"}
    assert compare.differences(exchanges, exchanges) == []
    asked = [one.answer.get("outcome") for one in exchanges if (one.chapter, one.module) == ("cut", BATCH)]
    assert asked[-1] == "done", "whoever asks for the id of the batch that went on is told what became of it"


@pytest.mark.exhaustive
def test_every_chapter_holds(tmp_path: Path) -> None:
    found, _ = told(tmp_path)
    assert found.failed == []
