"""A rule's severity and what it rests on stand together."""

from __future__ import annotations

import re

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.facts.evidence import (
    OF_ERRORS,
    OF_WARNINGS,
    OUTCOMES,
    PAGE,
    Evidence,
    list_evidence,
    read_evidence,
)
from ansible_collections.winkube.node.plugins.plugin_utils.lint.model import Severity
from ansible_collections.winkube.node.plugins.plugin_utils.lint.rulebook import IDS, RULES, UNSEEN

from tests.evidence.__main__ import VERSIONS
from tests.unit.lint.test_outcomes import severities


@pytest.mark.parametrize("rule", IDS)
def test_a_rule_rests_on_evidence_of_what_becomes_of_the_pod(rule: str) -> None:
    """Error: the pod is refused, not scheduled, not started or killed; warning: it runs otherwise, or that depends."""
    outcomes = {each.outcome for each in list_evidence(rule)}
    told = {severity for each in RULES if each.id == rule for severity in severities(each)}
    told |= {each.level.docker for each in RULES if each.id == rule}
    if rule in UNSEEN:
        assert told <= {Severity.INFO, None}
        return
    assert bool(outcomes & OF_ERRORS) == (Severity.ERROR in told), outcomes
    assert bool(outcomes & OF_WARNINGS) == (Severity.WARNING in told), outcomes
    assert ("taste" in outcomes) == (Severity.INFO in told), outcomes


@pytest.mark.parametrize("row", [pytest.param(each, id=str(each)) for each in read_evidence()])
def test_evidence_is_a_function_of_a_module_at_a_version(row: Evidence) -> None:
    """Versions and lines are filled in from the modules' sources: python -m tests.evidence."""
    assert row.outcome in OUTCOMES and row.rules and set(row.rules) <= set(IDS)
    if row.module != PAGE:
        module, _, version = row.module.partition("@")
        assert VERSIONS[module] == version
        assert row.function == "-" or re.fullmatch(r"[\w./-]+\.go:\d+", row.file)


def test_most_evidence_of_errors_is_code() -> None:
    """Pages and threads count as unverified."""
    errors = {rule for each in read_evidence() if each.outcome in OF_ERRORS for rule in each.rules}
    unverified = {
        rule for rule in errors if all(e.module == PAGE for e in list_evidence(rule) if e.outcome in OF_ERRORS)
    }
    assert unverified == {"ends-at-once", "sub-path", "unknown-gmsa-spec"}
