"""Severities rest on what somebody saw: a public manifest, a recorded verdict, a public thread."""

from __future__ import annotations

from ansible_collections.winkube.node.plugins.plugin_utils.lint.model import Severity
from ansible_collections.winkube.node.plugins.plugin_utils.lint.rulebook import IDS, RULES, UNSEEN

from tests.corpus.standing import BY_VERSION, standings, unseen
from tests.unit.lint.test_outcomes import severities


def test_what_nobody_has_shown_is_information_and_nothing_else_is_held_back() -> None:
    assert sorted(UNSEEN) == sorted(unseen())
    told = {rule.id: severities(rule) for rule in RULES if rule.id in UNSEEN}
    assert all(each <= {Severity.INFO, None} for each in told.values())
    assert set(IDS) >= UNSEEN | BY_VERSION and not UNSEEN & BY_VERSION


def test_no_rule_is_right_less_often_than_false() -> None:
    assert [each.rule for each in standings().values() if each.false > each.right] == []
