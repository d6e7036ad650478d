"""Requirement rows have ids, and those ids stay in tests: a user or an engineer reads what is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.quality.sanity import ROOT, project_files
from tests.quality.text_checks import requirement_names
from tests.rows import table

pytestmark = pytest.mark.quick
KINDS = {row.partition("-")[0] for row in table.load_rows()}
NOT_YET = (
    # Rules of the linter are still called by rows.
    *("plugins/plugin_utils/lint/", "plugins/modules/workload_lint.py", "docs/workload_lint.md", "docs/rules/"),
)
"""What has no speaking ids yet: a beginning goes from here when its files have them."""


def test_ids_of_rows_are_in_tests_alone() -> None:
    assert requirement_names(ROOT, project_files(), KINDS, NOT_YET) == []


@pytest.mark.parametrize(
    ("name", "text", "problems"),
    [
        ("docs/a.md", "as the linter says (LM-39)", 1),
        ("docs/TS-10.md", "nothing", 1),
        ("plugins/a.py", '"""Source: the documents, S2 L496."""', 2),
        ("tests/a.py", '@pytest.mark.row("LM-39")', 0),
        ("docs/a.md", "MAC 00-15-5D-EB-40-00, KB-39, utf-16, LM-3", 0),
        ("docs/a.md", "the document has documents in it, says Kubernetes' documentation", 0),
    ],
)
def test_the_check_finds_them(tmp_path: Path, name: str, text: str, problems: int) -> None:
    (tmp_path / name).parent.mkdir()
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert len(requirement_names(tmp_path, [name], KINDS, ())) == problems
