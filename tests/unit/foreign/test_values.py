"""YAML, JSON and TOML that would never end, or be much larger than their text, are refused with a sentence."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.foreign.files import ForeignError
from ansible_collections.winkube.node.plugins.plugin_utils.foreign.values import (
    check_toml,
    load_json,
    load_yaml,
    shorten,
)

BOMB = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{level}: &a{level} [{','.join([f'*a{level - 1}'] * 10)}]\n" for level in range(1, 8)
)


@pytest.mark.parametrize(
    ("text", "said", "line"),
    [
        ("spec: &s {containers: [*s]}", "an alias stands inside the very value that it names", 1),
        ("&a [*a]", "an alias stands inside", 1),
        (BOMB, "its aliases make more than 100000 characters", 5),
        (f"a: &a {'x' * 5000}\nb: [{', '.join(['*a'] * 100)}]", "its aliases make more than", 2),
        ("[" * 200 + "]" * 200, "its values are nested more than 128 deep", 1),
        ("[" * 5000, "it is not valid YAML", 1),
        ("- " * 3000 + "x", "", 1),
        ("a: [", "it is not valid YAML", 2),
        ("a: 2024-13-77", "a date that does not exist", 0),
        ("a: " + "1" * 5000, "a number that is too long", 0),
        ("a: !secret-tag x", "it is not valid YAML (line 1, column 4).", 1),
    ],
)
def test_yaml_is_refused_with_its_place_and_without_its_text(text: str, said: str, line: int) -> None:
    with pytest.raises(ForeignError) as caught:
        load_yaml(text)
    assert said in str(caught.value) and caught.value.line in {line, 0 if not said else line}
    assert "secret" not in str(caught.value)


def test_yaml_with_honest_aliases_is_a_value() -> None:
    assert load_yaml("a: &a {b: 1}\nc: *a\nd: {<<: *a, e: [x]}") == {
        "a": {"b": 1},
        "c": {"b": 1},
        "d": {"b": 1, "e": ["x"]},
    }
    assert load_yaml("[" * 100 + "]" * 100) is not None
    assert load_yaml("") is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 500, "nested more than 128 deep"),
        ('{"a": ' * 100_000, "nested more than 128 deep"),
        ("[" + "1" * 5000 + "]", "a number of thousands of digits"),
        ("{", "it is not JSON: Expecting property name"),
    ],
)
def test_json_is_refused(text: str, said: str) -> None:
    with pytest.raises(ForeignError, match=said):
        load_json(text)


def test_brackets_in_texts_are_no_levels() -> None:
    assert load_json('{"a": "' + "[" * 500 + '\\"{{{"}') == {"a": "[" * 500 + '"{{{'}


def test_toml_with_endless_keys_is_refused() -> None:
    with pytest.raises(ForeignError, match="nested more than 128 deep"):
        check_toml("a" + ".a" * 50_000 + " = 1")
    with pytest.raises(ForeignError, match="more than 1 MB"):
        check_toml("a" * ((1 << 20) + 1))
    check_toml(f"[a.b]\nc = '{'.' * 300}'")


def test_a_value_in_a_sentence_is_short_and_on_one_line() -> None:
    assert shorten("a\nb\x1b[31m") == "a\\nb\\x1b[31m"
    assert len(shorten(["x" * 50] * 50)) == 200
