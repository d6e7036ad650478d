"""How words are counted."""

from __future__ import annotations

import pytest

from tests.quality import prose

pytestmark = pytest.mark.quick


def test_words_that_a_program_writes_do_not_count() -> None:
    table = "<!-- generated: keys -->\n| a | b |\n<!-- end of keys -->\n"
    assert prose.by_hand(f"# A page\n\nTwo words\n\n{table}") == 5
    assert prose.by_hand("<!-- Written by `make generate`. -->\n# A page\n") == 0
    assert prose.words({"README.md": "# one two three\n", "a.py": "x"}) == {"README": 4}
