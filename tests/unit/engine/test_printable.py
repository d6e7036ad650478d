"""Other people's texts on a terminal."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\nc \u00e4\u4f60\U0001f600", "a\tb\nc \u00e4\u4f60\U0001f600"),
        ("a\r\nb\r\r\n", "a\nb\n"),
        ("10 %\r20 %", r"10 %\x0d20 %"),
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        ("\x00\x7f\x9b", r"\x00\x7f\x9b"),
        ("\u2028\u2029\u202e\u2066\u200f", r"\u2028\u2029\u202e\u2066\u200f"),
        ("\ud800\ufeff", r"\ud800\ufeff"),
    ],
)
def test_control_characters_are_escaped(text: str, shown: str) -> None:
    assert printable.escape(text) == shown


def test_a_long_text_ends() -> None:
    assert printable.make_sentence("x" * 5_000_000, 10) == "xxxxxxxxxx... (4,999,990 more characters)"


def test_a_result_keeps_what_can_be_printed() -> None:
    result = {"a": ["b", {"c\x1b": "d\x1b"}], "n": 1, "none": None, "t": ("x",)}
    assert printable.make_printable(result) == {"a": ["b", {r"c\x1b": r"d\x1b"}], "n": 1, "none": None, "t": ["x"]}
    deep: object = "x"
    for _ in range(1000):
        deep = [deep]
    assert "nested too deeply" in str(printable.make_printable(deep))
