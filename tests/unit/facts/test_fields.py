"""Every field of the API has a verdict, and the rules that it names are there."""

from __future__ import annotations

from ansible_collections.winkube.node.plugins.plugin_utils.facts.fields import (
    SOURCES,
    VERDICTS,
    types,
    verdicts,
    without_verdict,
)
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import NEWEST_MINOR, OLDEST_MINOR
from ansible_collections.winkube.node.plugins.plugin_utils.lint.rulebook import IDS, RULES


def test_every_field_has_a_verdict() -> None:
    assert without_verdict() == []


def test_every_verdict_is_about_a_field() -> None:
    assert [(owner, name) for owner, name in verdicts() if name not in types().get(owner, {})] == []


def test_verdicts_sources_and_rules_are_known() -> None:
    """What does not work leads to a finding, or the table says why there is none; `ignored` has a rule for all."""
    for field, found in verdicts().items():
        assert {name for name, _, _ in found.spans} <= set(VERDICTS), field
        assert found.source in SOURCES and set(found.rules) <= set(IDS), field
        told = bool(found.rules or found.why)
        assert told or {name for name, _, _ in found.spans} <= {"works", "ignored"}, f"{field}: which rule says so?"


def test_a_field_has_a_verdict_in_each_release_that_has_it_and_in_no_other() -> None:
    for (owner, name), found in verdicts().items():
        field = types()[owner][name]
        for minor in range(OLDEST_MINOR, NEWEST_MINOR + 1):
            there = field.first <= minor <= (field.last or NEWEST_MINOR)
            assert bool(found.judge(minor)) == there, f"{owner}.{name} in 1.{minor}"


def test_the_release_that_refuses_a_field_is_that_of_its_rule() -> None:
    """Which is compared with what the API server's own validation answers."""
    since = {rule.id: rule.level.admission for rule in RULES if rule.level.admission}
    checked = 0
    for (owner, name), found in verdicts().items():
        refused = [first for verdict, first, _ in found.spans if verdict == "refused"]
        for rule in found.rules if refused else ():
            if rule in since:
                assert refused == [max(since[rule], types()[owner][name].first)], f"{owner}.{name}: {rule}"
                checked += 1
    assert checked > 25


def test_what_the_table_reaches() -> None:
    assert {"PodSpec", "PersistentVolumeClaimSpec", "StorageClass", "CSIDriverSpec", "NetworkPolicySpec"} <= set(
        types()
    )
    assert types()["PodSpec"]["containers"].kind == "Container" and types()["PodSpec"]["os"].first == 23
    assert types()["Volume"]["hostPath"].kind == "HostPathVolumeSource", "inline structs are flat"
