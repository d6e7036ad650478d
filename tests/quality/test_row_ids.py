"""Requirement rows have ids, and those ids stay in tests: a user or an engineer reads what is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.quality.sanity import ROOT, project_files
from tests.quality.text_checks import requirement_names
from tests.rows import table

pytestmark = pytest.mark.quick
# WL: what the linter called rules without a row.
KINDS = {row.partition("-")[0] for row in table.load_rows()} | {"WL"}


def test_ids_of_rows_are_in_tests_alone() -> None:
    assert requirement_names(ROOT, project_files(), KINDS) == []


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
    assert len(requirement_names(tmp_path, [name], KINDS)) == problems
