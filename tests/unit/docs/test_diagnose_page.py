"""docs/diagnose.md has every finding: what a command mends, and what you fix by hand."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.check import Check
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.finding import Action
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.table import CHECKS

from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "diagnose.md").read_text(encoding="utf-8")
MENDED, ADVICE = PAGE.split("\n## What you fix by hand\n")


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<host>", "HOST").replace("<", "&lt;")


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: str(check.id))
def test_each_finding_is_told_with_its_remedy(check: Check) -> None:
    part = ADVICE if check.remedy.action == Action.ADVICE else MENDED
    assert f"| `{check.id}` | {cell(check.title)} | {cell(check.remedy.text)} |" in part


def test_no_finding_is_told_that_there_is_not() -> None:
    told = [line.split("`")[1] for line in PAGE.splitlines() if line.startswith("| `")]
    assert sorted(told) == sorted(check.id for check in CHECKS)
