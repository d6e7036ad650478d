"""Each promise of the documentation has a row with the test that breaks it (promises.yml)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.quality import promises
from tests.quality.sanity import ROOT

ROWS = promises.read_table(promises.TABLE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", [*promises.pages(ROOT)], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_each_promise_has_one_row_and_each_row_its_sentence(page: Path) -> None:
    rows = [row.says for row in ROWS if row.page == page.relative_to(ROOT).as_posix()]
    said = [*promises.find_promises(page.read_text(encoding="utf-8"))]
    assert [each for each in said if sum(row in each for row in rows) != 1] == [], "give it a row of promises.yml"
    assert [row for row in rows if not any(row in each for each in said)] == [], "the sentence is gone: remove its row"


def test_each_row_names_a_test_that_is_there_or_what_it_is_about() -> None:
    assert {row.page for row in ROWS} <= {page.relative_to(ROOT).as_posix() for page in promises.pages(ROOT)}
    assert [row for row in ROWS if bool(row.tests) == bool(row.about)] == []
    assert [row for row in ROWS if row.about and row.about not in promises.ABOUT] == []
    assert [test for row in ROWS for test in row.tests if not promises.is_test(ROOT, test)] == []


def test_what_a_promise_is() -> None:
    page = """# A page

It is quick. It never
fails: until you look. What is known stays.

| a | it refuses that |
|---|---|

```console
always
```
<!-- generated: x -->
whatever
<!-- end of x -->
"""
    assert [*promises.find_promises(page)] == ["It never fails: until you look.", "it refuses that |"]


def test_a_test_that_is_not_there_is_noticed() -> None:
    assert promises.is_test(ROOT, "tests/quality/test_promises.py::test_what_a_promise_is")
    assert not promises.is_test(ROOT, "tests/quality/test_promises.py::test_gone")
    assert not promises.is_test(ROOT, "tests/quality/gone.py::test_gone")
    assert not promises.is_test(ROOT, "tests/quality/promises.py::is_test")
