"""No turn of phrase that a native engineer would not write comes back; how words are counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.quality import prose
from tests.quality.sanity import ROOT, project_files

pytestmark = pytest.mark.quick


def test_no_turn_of_phrase_comes_back() -> None:
    found = prose.turns(ROOT, project_files())
    assert found == []


@pytest.mark.parametrize(
    ("text", "better"),
    [
        ("'web' is no IP address.", ["is not a"]),
        ("There is no config.toml, and it is no longer needed.", []),
        ("The pods are made anew.", ["again, or a verb with re-"]),
        ("'x' is none of a, b.", ["is not one of"]),
        ("No fix: that is for a person to do.", ["has no automatic fix"]),
        ("a tag that there is not", ["unknown, or does not exist"]),
        ("Whoever has the port can do this; nobody asks.", ["anyone who, the caller", "active voice: who does not"]),
        ("It waits so many seconds for a file of yours.", ["the number of, within its seconds", "your own"]),
        ("'web' is not an IP address. The pods are recreated.", []),
    ],
)
def test_what_counts_as_such_a_turn(text: str, better: list[str], tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text(f"# A\n\n{text}\n", encoding="utf-8")
    assert [each.partition(": write ")[2] for each in prose.turns(tmp_path, ["docs/a.md"])] == better


def test_words_that_a_program_writes_do_not_count() -> None:
    table = "<!-- generated: keys -->\n| a | b |\n<!-- end of keys -->\n"
    assert prose.by_hand(f"# A page\n\nTwo words\n\n{table}") == 5
    assert prose.by_hand("<!-- Written by `make generate`. -->\n# A page\n") == 0
    assert prose.words({"README.md": "# one two three\n", "a.py": "x"}) == {"README": 4}
