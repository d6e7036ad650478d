"""Compiled code that is kept: used for the same text at the same place alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible.utils.collection_loader import _collection_finder

from tests.compiled_once import keep_code


@pytest.fixture
def compiled(tmp_path: Path) -> Iterator[Callable[[str], Any]]:
    before = vars(_collection_finder).get("compile")
    keep_code(tmp_path)
    made = vars(_collection_finder)["compile"]
    yield lambda text: made(source=text, filename="/a/b.py", mode="exec", flags=0, dont_inherit=True)
    vars(_collection_finder)["compile"] = before


def value(code: Any) -> Any:
    names: dict[str, Any] = {}
    exec(code, names)
    return names["x"]


def test_the_second_time_it_is_read(compiled: Callable[[str], Any], tmp_path: Path) -> None:
    assert value(compiled("x = 1\n")) == 1
    (kept,) = tmp_path.iterdir()
    written = kept.stat().st_mtime_ns
    again = compiled("x = 1\n")
    assert (value(again), again.co_filename, kept.stat().st_mtime_ns) == (1, "/a/b.py", written)


def test_changed_text_is_compiled_and_takes_its_place(compiled: Callable[[str], Any], tmp_path: Path) -> None:
    assert [value(compiled(text)) for text in ("x = 1\n", "x = 2\n", "x = 1\n")] == [1, 2, 1]
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("cut", [0, 20, 40])
def test_a_file_that_was_cut_is_not_believed(compiled: Callable[[str], Any], tmp_path: Path, cut: int) -> None:
    compiled("x = 1\n")
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(kept.read_bytes()[:cut])
    assert value(compiled("x = 1\n")) == 1
