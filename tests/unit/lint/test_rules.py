"""Every rule by a fixture: the flagged places with severity, and a twin that must have no finding."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.lint import engine, manifest, rulebook
from ansible_collections.winkube.node.plugins.plugin_utils.lint.catalog import build_catalog
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import Profile, apply_settings
from ansible_collections.winkube.node.plugins.plugin_utils.lint.rule import keys_of

from tests.yaml_text import dump, load, load_file

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "lint"
BASE = (FIXTURES / "base.yml").read_text(encoding="utf-8")
RULES = sorted((FIXTURES / "rules").glob("*.yml"))
CASES = [(path.stem, load_file(path)) for path in RULES]
# Findings that other rules' fixtures cannot avoid: they apply to every pod or Service of that shape.
ALWAYS_THERE = {
    "os-name-too-early",
    "node-port",
    "local-policy-side-effects",
    "missing-os-name",
    "missing-os-selector",
    "unequal-memory-request",
    "missing-memory-limit",
    "missing-cpu-request",
    "run-as-non-root",
    "ends-at-once",
}


def merged(base: Any, patch: Any) -> Any:
    """The patch laid over the base: mappings by key (null takes away), `containers` by position, the rest replaced."""
    result = copy.deepcopy(base)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merged(result[key], value)
        elif key == "containers":
            old = result[key]
            result[key] = [merged(old[n] if n < len(old) else {}, item) for n, item in enumerate(value)]
        else:
            result[key] = copy.deepcopy(value)
    return result


def text_of(manifests: Any) -> str:
    if isinstance(manifests, str):
        return manifests
    return dump(merged(load(BASE), manifests), sort_keys=False)


def findings(manifests: Any, settings: dict[str, Any]) -> list[Any]:
    documents = manifest.read_documents("fixture.yml", text_of(manifests))
    return engine.lint(documents, apply_settings(Profile(), settings)).findings


def places(rule: str, manifests: Any, **settings: Any) -> list[str]:
    """`E spec.hostPID` for each finding of the rule, sorted."""
    found = findings(manifests, settings)
    return sorted(f"{each.severity.name[0]} {each.path}" for each in found if each.rule == rule)


def marked(rule: str, fixture: dict[str, Any]) -> Any:
    """The rule and its fixture, with the marks of the rows that it proves."""
    return pytest.param(rule, fixture, marks=[pytest.mark.row(*fixture["rows"])] if fixture["rows"] else [], id=rule)


def cases() -> list[Any]:
    found = []
    for rule, fixture in CASES:
        marks = [pytest.mark.row(*fixture["rows"])] if fixture["rows"] else []
        for number, case in enumerate([fixture, *fixture.get("more", [])]):
            settings = case.get("settings", {})
            found.append(pytest.param(rule, case["flagged"], settings, case, marks=marks, id=f"{rule}-{number}"))
    return found


@pytest.mark.parametrize(("rule", "manifests", "settings", "case"), cases())
def test_flagged(rule: str, manifests: Any, settings: dict[str, Any], case: dict[str, Any]) -> None:
    found = findings(manifests, settings)
    assert sorted(f"{each.severity.name[0]} {each.path}" for each in found if each.rule == rule) == sorted(
        case["expect"]
    )
    for each in found:
        assert each.line > 0
        assert not re.search(r"\{[a-z]+\}", each.message + each.remedy), f"unfilled: {each.message} {each.remedy}"


@pytest.mark.parametrize(("rule", "fixture"), [marked(rule, fixture) for rule, fixture in CASES])
def test_clean_twin(rule: str, fixture: dict[str, Any]) -> None:
    found = findings(fixture["clean"], fixture.get("settings", {}))
    assert [each for each in found if each.rule == rule] == []
    assert [each for each in found if each.severity.name[0] == "E" and each.rule not in ALWAYS_THERE] == []


def test_the_base_has_no_finding() -> None:
    assert findings({}, {}) == []


def test_every_rule_has_a_fixture_and_every_fixture_a_rule() -> None:
    assert {rule.id for rule in rulebook.RULES} == {rule for rule, _ in CASES}


def test_every_part_of_a_rule_is_flagged_by_some_fixture() -> None:
    """Rules with one id and several parts (apparmor-profile, hyperv-isolation ...) need a fixture for each part."""
    hit: set[str] = set()
    for _, fixture in CASES:
        for case in [fixture, *fixture.get("more", [])]:
            documents = manifest.read_documents("fixture.yml", text_of(case["flagged"]))
            report = engine.lint(documents, apply_settings(Profile(), case.get("settings", {})))
            hit |= {f"{found.rule.id} {found.rule.title}" for found in report.found}
    assert {f"{rule.id} {rule.title}" for rule in rulebook.RULES} == hit


def test_a_rule_is_asked_wherever_it_finds_something() -> None:
    """Pods without the keys that a rule needs are not shown to it."""
    for _, fixture in CASES:
        for case in [fixture, *fixture.get("more", [])]:
            documents = manifest.read_documents("fixture.yml", text_of(case["flagged"]))
            objects = [thing for document in documents for thing in manifest.objects_of(document)]
            for pod in build_catalog(objects, apply_settings(Profile(), case.get("settings", {}))).pods:
                for each in rulebook.POD_RULES:
                    if each.keys and each.keys.isdisjoint(keys_of(pod)):
                        assert list(each.find(pod)) == [], f"{each.id} needs more than {sorted(each.keys)}"


def test_rows_that_a_fixture_proves_are_rows_of_the_linter() -> None:
    rows = yaml.safe_load((FIXTURES.parents[1] / "rows.yml").read_text(encoding="utf-8"))
    for rule, fixture in CASES:
        for row in fixture["rows"]:
            assert rows[row]["piece"] == "linter" or row in {"ST-08"}, (rule, row)
