"""The commands of the pages that one reads first are those that `make walk` executes, or leaves out with a reason."""

from __future__ import annotations

import re

import pytest

from tests import walk
from tests.integration.lab import ROOT
from tests.walk.pages import PAGES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path)
def test_no_command_of_a_page_is_forgotten(page: walk.Page) -> None:
    assert walk.forgotten(page) == []
    assert [step for step in page.steps if not step.left_out], "a page of which nothing is executed is not a walk"


def test_a_command_that_is_left_out_because_a_test_runs_it_names_a_test_that_is_there() -> None:
    named = {name for page in PAGES for step in page.steps for name in re.findall(r"tests/\S+\.py", step.left_out)}
    assert named
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_a_command_that_is_not_in_the_walk_is_found() -> None:
    page = PAGES[0]
    shorter = walk.Page(page.path, page.steps[1:], page.before)
    assert "the walk" in walk.forgotten(shorter)[0]
