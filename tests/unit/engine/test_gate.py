"""Shapes of JSON from outside: what fits, and the sentence for what does not."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine.gate import (
    At,
    Base64,
    Either,
    Fields,
    Flag,
    Free,
    Listing,
    Maybe,
    Number,
    Record,
    Table,
    Text,
    Unexpected,
)

NAME = Text(5, re.compile("[a-z]+"), "a name")


@pytest.mark.parametrize(
    ("shape", "value", "said"),
    [
        (NAME, 5, "x is 5, expected a name"),
        (NAME, None, "x is null, expected a name"),
        (NAME, "a\x1b[31m\n", r"x is 'a\x1b[31m\n', expected a name of at most 5 characters"),
        (NAME, "a/b", "x is 'a/b', expected a name"),
        (Text(9), "a" * 10, "expected a text of at most 9 characters"),
        (Text(), "a" * 10_000_000, "... (10,000,000 characters), expected a text of at most 1,024 characters"),
        (Number(0, 9), 10, "x is 10, expected a whole number from 0 to 9"),
        (Number(), True, "x is true, expected a whole number"),
        (Number(), 1.5, "x is 1.5, expected a whole number"),
        (Number(), "1", "x is '1', expected a whole number"),
        (Flag(), 1, "x is 1, expected true or false"),
        (Flag(), "false", "x is 'false', expected true or false"),
        (Base64(99), "YQ=", "expected bytes as base64"),
        (Base64(99), "!!!!", "expected bytes as base64"),
        (Listing(NAME), {"a": 1}, "x is an object with a, expected a list"),
        (Listing(NAME), ["a", 2], "x[1] is 2, expected a name"),
        (Listing(NAME, 1), ["a", "b"], "x is a list of 2, expected a list of at most 1"),
        (Table(NAME), [], "x is a list of 0, expected an object"),
        (Table(NAME), {"a": 2}, "x.a is 2, expected a name"),
        (Table(NAME), {"a" * 2000: "b"}, "x, a key is 'aaa"),
        (Fields({"a": NAME}), {}, "x.a is missing, expected a name"),
        (Fields({"a": NAME}), {"a": None}, "x.a is null, expected a name"),
        (Fields({"a": Fields()}), {"a": None}, "x.a is null, expected an object"),
        (Fields(a=Fields(b=Listing(Flag()))), {"a": {"b": [True, 0]}}, "x.a.b[1] is 0, expected true or false"),
        (Fields(), "", "x is '', expected an object"),
        (Either((Flag(), NAME), "a name or a flag"), 7, "x is 7, expected a name or a flag"),
        (Maybe(NAME), 7, "x is 7, expected a name"),
    ],
)
def test_what_does_not_fit_is_told_by_path_value_and_wish(shape: Any, value: Any, said: str) -> None:
    with pytest.raises(Unexpected) as raised:
        shape(value, "x")
    assert said in str(raised.value)
    assert len(str(raised.value)) < 300 and str(raised.value).isprintable()


@pytest.mark.parametrize(
    ("shape", "value", "result"),
    [
        (NAME, "abc", "abc"),
        (Base64(9), "YWI=", "YWI="),
        (Maybe(NAME), None, None),
        (Fields(a=NAME, b=Maybe(NAME)), {"a": None, "b": None, "c": 1}, {"b": None, "c": 1}),
        (Either((Flag(), NAME), "x"), "a", "a"),
        (Free(3), "abcdef", "abc"),
        (Free(), None, ""),
        (Free(), {"a": 1}, '{"a": 1}'),
        (Free(), "\x1b", "\x1b"),
    ],
)
def test_what_fits_comes_back(shape: Any, value: Any, result: Any) -> None:
    assert shape(value, "x") == result


@dataclass(frozen=True)
class Thing:
    name: str
    parts: tuple[str, ...] = ()
    size: int = 0


THING = Record(Thing, name=At("metadata.name", NAME), parts=At("parts", Listing(NAME), ()), size=At("s.t", Number(), 7))


def test_a_record_makes_a_dataclass() -> None:
    assert THING({"metadata": {"name": "a"}, "parts": ["b"], "s": None}, "") == Thing("a", ("b",), 7)
    for value, said in (
        ({}, "metadata is missing"),
        ({"metadata": {}}, "metadata.name is missing"),
        ({"metadata": []}, "metadata is a list of 0"),
        ({"metadata": {"name": "a"}, "s": {"t": "1"}}, "s.t is '1'"),
        ([], "the answer is a list of 0"),
    ):
        with pytest.raises(Unexpected, match=re.escape(said)):
            THING(value, "")
