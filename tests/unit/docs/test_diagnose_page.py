"""docs/diagnose.md has every finding: what a command mends, and what you fix by hand."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.table import KNOWN
from ansible_collections.winkube.node.plugins.plugin_utils.words.cause import Cause

from tests.conftest import ROOT
from tests.quality.page_text import as_cell

PAGE = (ROOT / "docs" / "diagnose.md").read_text(encoding="utf-8")
MENDED, ADVICE = PAGE.split("\n## What you fix by hand\n")


@pytest.mark.parametrize("cause", KNOWN.values(), ids=lambda cause: str(cause.id))
def test_each_finding_is_told_with_its_remedy(cause: Cause) -> None:
    part = MENDED if cause.remedy.automatic else ADVICE
    assert f"| `{cause.id}` | {as_cell(cause.title)} | {as_cell(cause.remedy.plain)} |" in part


def test_no_finding_is_told_that_there_is_not() -> None:
    told = [line.split("`")[1] for line in PAGE.splitlines() if line.startswith("| `")]
    assert sorted(told) == sorted(KNOWN)
