"""docs/messages.md tells patterns in words."""

from __future__ import annotations

import re

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.facts.message import Message, Rule
from ansible_collections.winkube.node.plugins.plugin_utils.words.messages import MESSAGES

from tests.quality import message_page


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        ("certificate request was not signed", ["certificate request was not signed"]),
        (r"(?:wincat(?:\.exe)?|socat)\b.*not found", ["wincat.exe ... not found", "socat ... not found"]),
        (
            r"error (?:getting|updating) node\b.{0,120}gone",
            ["error getting node ... gone", "error updating node ... gone"],
        ),
        (r"[Nn]ode had\W{1,4}nothing", ["Node had nothing"]),
        (r"(?<![a-z])x\d+", []),
    ],
)
def test_what_a_pattern_looks_for(pattern: str, texts: list[str]) -> None:
    assert message_page.readings(pattern) == texts


def test_a_code_has_its_words_and_the_forms_that_programs_print() -> None:
    (text,) = message_page.told(Rule("image.mismatch", (0x80370101,), "x"))
    assert "does not match the host" in text and "0x80370101, 0xc0370101" in text
    assert message_page.told(Rule("hns.endpoint-exists", (5010,), "x")) == [
        "The object already exists (Windows 5010, 0x1392)"
    ]


def test_a_text_without_an_open_place_is_found_by_its_own_pattern() -> None:
    shown = [(each.pattern, text) for each in MESSAGES if isinstance(each, Message) for text in message_page.told(each)]
    plain = [(pattern, text) for pattern, text in shown if re.fullmatch(r"[\w ,'-]+", text)]
    found = [text for pattern, text in plain if re.search(pattern, text, re.IGNORECASE)]
    assert len(found) > 0.9 * len(plain) > 90


def test_every_cause_that_a_message_leads_to_stands_below_a_symptom() -> None:
    lines = message_page.sections()
    told = {each for line in lines for each in message_page.ENDS.findall(line)}
    assert {each.finding for each in MESSAGES} <= told
    assert [line for line in lines if "(?:" in line or "\\b" in line] == []
