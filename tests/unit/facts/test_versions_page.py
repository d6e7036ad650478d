"""docs/versions.md says what the tables say."""

from __future__ import annotations

import pytest

from tests.unit.facts import versions_page


def test_the_page_is_up_to_date() -> None:
    written = versions_page.PAGE.read_text(encoding="utf-8")
    assert written == versions_page.page(), "run python tests/unit/facts/versions_page.py"


@pytest.mark.row("VC-20")
def test_the_page_names_the_newest_and_the_documents_versions() -> None:
    lines = versions_page.page().splitlines()
    assert "| 1.37 | v1 | 2.3.0+, 2.4.0+ | `3.10.2` | 2022 ?, 2025 ? |" in lines
    assert "| 1.29 | v1 | 1.6.27+, 1.7.11+ | `3.9` | 2019, 2022 |" in lines
    assert "| 2.3 | 2 or 3 or **4** | v1 | 2028-04-30 (long-term) | 2.3.0 |" in lines
