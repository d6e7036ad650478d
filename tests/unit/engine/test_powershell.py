"""No value ends the string in which it reaches PowerShell."""

from __future__ import annotations

import base64
import re

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components import runner_task
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis import checks_traffic
from ansible_collections.winkube.node.plugins.plugin_utils.engine.powershell import TYPOGRAPHIC, literal
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.smoke import commands

QUOTES = "'\u2018\u2019\u201a\u201b"


def code(script: str) -> tuple[str, list[str]]:
    """A script without its strings, and these, as PowerShell's tokenizer takes them: each quote is one, two are the
    second of them. Source: PowerShell v7.4.6 engine/parser/tokenizer.cs, ScanStringLiteral."""
    outside, inside, at = "", False, 0
    strings: list[str] = []
    while at < len(script):
        char, after = script[at], script[at + 1 : at + 2]
        if inside and char in QUOTES and after and after in QUOTES:
            strings[-1] += after
            at += 1
        elif char in QUOTES:
            inside = not inside
            strings += [""] * inside
        elif inside:
            strings[-1] += char
        else:
            outside += char
        at += 1
    assert not inside
    return outside, strings


@pytest.mark.parametrize("quote", QUOTES)
def test_a_value_stays_in_its_string(quote: str) -> None:
    """Failed before for all but the apostrophe in the task's script, and for every quote in the tests' commands."""
    evil = f"C:\\a{quote}; calc; {quote}{quote}b"
    xml = runner_task.xml(evil, "about", since="2026-01-01T00:00:00Z", every="PT5M").decode("utf-16")
    encoded = re.search("-EncodedCommand ([^<]+)<", xml)
    assert encoded is not None
    for script in (
        base64.b64decode(encoded[1]).decode("utf-16-le"),
        commands.resolve(evil)[-1],
        commands.resolve("a", evil)[-1],
        commands.udp_from_windows(evil, 53)[-1],
        checks_traffic._resolve(evil)[-1],
        literal(evil),
    ):
        outside, strings = code(script)
        assert "calc" not in outside
        assert [each for each in strings if evil in each]


def test_the_quotes_are_powershells() -> None:
    assert set(QUOTES) == {"'", *TYPOGRAPHIC}
