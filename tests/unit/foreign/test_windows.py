"""Patterns see a window at a time, and find in a long text what they would find in the whole of it."""

from __future__ import annotations

import json
import re

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.foreign.windows import (
    MARGIN,
    WINDOW,
    Pattern,
    cut_line,
    list_windows,
)
from ansible_collections.winkube.node.plugins.plugin_utils.words.records import records


@pytest.mark.parametrize(
    "pattern",
    [r"\bfoo\b", r"(?<!x)foo(\d+)", r"^foo|bar$", r"o{2,}", r"x foo7 .{0,30}"],
    ids=["words", "behind", "ends", "run", "wide"],
)
@pytest.mark.parametrize("shift", [0, 1, 7, MARGIN - 3, MARGIN])
def test_a_long_text_has_the_same_matches_in_windows(pattern: str, shift: int) -> None:
    text = "y" * shift + "".join(f"x foo{number} xfoo oo foo bar," for number in range(WINDOW // 6)) + "bar"
    assert len(text) > 3 * WINDOW
    found = [match.group() for match in Pattern(pattern).finditer(text)]
    assert found == [match.group() for match in re.finditer(pattern, text)]


def test_a_pattern_never_sees_more_than_a_window() -> None:
    assert [len(window) for _start, window in list_windows("a" * 3 * WINDOW)][:-1] == [WINDOW] * 3
    long = "a" * 10 * WINDOW
    assert max(len(match.group()) for match in Pattern(r"a+").finditer(long)) == WINDOW
    assert Pattern(r"a+").match(long) is None and Pattern(r"a+").fullmatch(long) is None
    assert Pattern(r"a{3}").match(long) is not None and Pattern(r"b").search(long) is None
    assert Pattern(r"(a)b").findall("ab" + " " * WINDOW + "ab") == ["a", "a"]


def test_a_long_line_of_json_is_its_texts_and_another_its_windows() -> None:
    assert list(cut_line('{"a": "b"}')) == ['{"a": "b"}']
    line = '{"message": "it \\"failed\\"", "list": ["one", "two"]' + ', "n": 1' * WINDOW + "}"
    assert list(cut_line(line)) == ['message: it \\"failed\\"', "list: one", "list: two"]
    cut_off = json.dumps({"message": "it failed", "log": 'a "quoted" word ' * WINDOW})[: 2 * WINDOW]
    assert next(iter(cut_line(cut_off))) == "message: it failed"
    assert '\\"quoted\\" word' in list(cut_line(cut_off))[-1], "a string that is cut off is read, too"
    assert "".join(sorted(set(cut_line("ab" * WINDOW)))) and max(map(len, cut_line("ab" * WINDOW))) == WINDOW


def test_no_record_is_longer_than_a_window() -> None:
    said = "E0512 12:00:01.1 7 a.go:3] it failed"
    found = records("\n".join([said, *["    at a line of a stack"] * 1000, "x" * 3 * WINDOW, said]))
    assert max(len(each.text) for each in found) <= WINDOW
    assert found[0].text.startswith(said) and found[-1].text == said
