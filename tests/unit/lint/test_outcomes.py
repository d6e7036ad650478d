"""Severity is the outcome: error is refused, not started or killed; warning runs otherwise than written;"
" info is taste."""

from __future__ import annotations

import re

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.lint.model import Severity
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import NEWEST_MINOR, OLDEST_MINOR, Profile
from ansible_collections.winkube.node.plugins.plugin_utils.lint.rule import Rule
from ansible_collections.winkube.node.plugins.plugin_utils.lint.rulebook import HYGIENE, RULES, UNSEEN

OUTCOMES = {
    "refused": r"API server (?:rejects|refuses)(?! to)|refuses the pod|which refuses|\{consequence\}|\{outcome\}",
    "not scheduled": r"no (?:Windows )?node (?:has|matches|gets|runs|offers|can)|not scheduled|Pending|does not find",
    "not started": r"not start\b|never started|no Windows Server runs|cannot (?:mount|attach)|cannot be pulled"
    r"|refuses to start|command fails|no program starts|not implemented|does not reach|runs only on Linux|no such",
    "killed": r"is killed|counts as dead|ends with it|ends soon",
}


def outcome(rule: Rule) -> str:
    """The pod's fate in an error's sentence; empty if the pod runs."""
    return next((name for name, words in OUTCOMES.items() if re.search(words, rule.message)), "")


def severities(rule: Rule) -> set[Severity | None]:
    minors = range(OLDEST_MINOR, NEWEST_MINOR + 1)
    return {rule.level.of(Profile(minor=minor), told) for minor in minors for told in (True, False)}


NAMED = [pytest.param(rule, id=f"{rule.id}: {rule.title}") for rule in RULES]


@pytest.mark.parametrize("rule", NAMED)
def test_an_error_says_what_becomes_of_the_pod(rule: Rule) -> None:
    if Severity.ERROR in severities(rule):
        assert outcome(rule), f"{rule.message} says neither refused, nor not scheduled, not started, killed"


@pytest.mark.parametrize("rule", NAMED)
def test_what_is_no_error_does_not_say_so(rule: Rule) -> None:
    """Unless the sentence is about some cases only: `if`, `where`, `may`."""
    if rule.id in UNSEEN:
        return
    if Severity.ERROR not in severities(rule) and rule.level.docker is not Severity.ERROR:
        assert not outcome(rule) or re.search(r"\b(if|where|may|often)\b", rule.message), rule.message


def test_hygiene_is_taste() -> None:
    for rule in RULES:
        if rule.id in HYGIENE:
            assert severities(rule) <= {Severity.INFO, None}
