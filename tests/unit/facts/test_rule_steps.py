"""What rules say by version stands in one table, and nowhere in a rule."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.facts import rule_steps
from ansible_collections.winkube.node.plugins.plugin_utils.facts.feature_gates import gate
from ansible_collections.winkube.node.plugins.plugin_utils.facts.rule_steps import (
    OF_QUESTIONS,
    OF_RULES,
    UNVERIFIED,
    read_steps,
    says_yes,
    step_of,
)
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Line
from ansible_collections.winkube.node.plugins.plugin_utils.lint import rulebook
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import NEWEST_MINOR, OLDEST_MINOR, RUNTIMES

LINT = Path(rulebook.__file__).parent
OF_LINTER = sorted(LINT.glob("*.py"))
MINORS = range(OLDEST_MINOR, NEWEST_MINOR + 1)
# What reads what the user wrote, and a product of the linter that is no rule.
READS = {"profile.py": {"_minor", "apply_settings"}, "policies.py": {"build_policies"}}


def versions_compared(text: str, but: frozenset[str] = frozenset()) -> Iterator[str]:
    """`line: source` of each comparison of a minor or a runtime, outside of these functions."""
    tree = ast.parse(text)
    skipped = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name in but]
    passed_over = {id(below) for node in skipped for below in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and id(node) not in passed_over:
            names = set(map(_name, (node.left, *node.comparators)))
            yield from [f"{node.lineno}: {ast.unparse(node)}"] if names & {"minor", "runtime"} else []


def _name(value: ast.expr) -> str:
    if isinstance(value, ast.BinOp):
        return _name(value.left) or _name(value.right)
    return value.attr if isinstance(value, ast.Attribute) else value.id if isinstance(value, ast.Name) else ""


def asked(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "says_yes" and node.args:
            argument = node.args[0]
            if isinstance(argument, ast.Constant):
                yield str(argument.value)


@pytest.mark.row("LM-21", "LM-27", "LM-34", "LM-38", "LM-48", "LM-66", "LM-74")
@pytest.mark.parametrize("path", [pytest.param(path, id=path.name) for path in OF_LINTER])
def test_no_rule_compares_a_version(path: Path) -> None:
    found = list(versions_compared(path.read_text(encoding="utf-8"), frozenset(READS.get(path.name, ()))))
    assert not found, f"{path.name}: {found}; write the step into {rule_steps.FILE.name}, and ask it"


@pytest.mark.parametrize(
    "text",
    ["case.profile.minor >= 24", "26 <= minor <= 32", "old = minor - 1 < 3", "case.profile.runtime == x"],
)
def test_a_comparison_of_a_version_is_seen(text: str) -> None:
    assert list(versions_compared(text))


def test_every_row_is_asked_and_every_question_has_rows() -> None:
    questions = {name for path in OF_LINTER for name in asked(path.read_text(encoding="utf-8"))}
    of_rules = {rule.level.steps for rule in rulebook.RULES if rule.level.steps}
    assert not questions & of_rules
    answers: dict[str, set[str]] = {}
    for step in read_steps():
        for name in step.names:
            answers.setdefault(name, set()).add(step.answer)
    assert sorted(answers) == sorted(questions | of_rules)
    assert all(answers[name] <= set(OF_QUESTIONS) for name in questions)
    assert all(answers[name] <= set(OF_RULES) for name in of_rules)


@pytest.mark.parametrize("step", [pytest.param(each, id=f"{each.names[0]}-{each.since}") for each in read_steps()])
def test_every_row_decides_somewhere_and_says_where_it_is_from(step: rule_steps.Step) -> None:
    assert step.minor in MINORS or step.runtime in RUNTIMES
    told = r"[\w.-]+/[\w.-]+@[\w.-]+|[\w.-]+/[\w.-]+#\d+"
    assert re.match(told, step.source) or step.source.startswith(f"{UNVERIFIED}: "), step.source
    for name in step.names:
        deciding = (
            step_of(name, minor, runtime, declared) is step
            for minor in MINORS
            for runtime in RUNTIMES
            for declared in (True, False)
        )
        assert any(deciding), f"{name}: a later row takes its place everywhere"


def test_the_last_row_that_holds_counts() -> None:
    found = [step_of("host-users", 33, "containerd", declared) for declared in (True, False)]
    assert [step and step.answer for step in found] == ["refused", "warning"]
    assert step_of("host-users", 24, "containerd", True) is None
    assert says_yes("sub-path-of-folders", 22) and not says_yes("sub-path-of-folders", 22, "docker")


def test_gates_are_those_of_the_table_of_gates() -> None:
    for minor in MINORS:
        line = Line(1, minor)
        allowed = gate("kubelet", "WindowsHostNetwork", line)
        assert says_yes("host-network-by-gate", minor) == (allowed is not None and allowed.stage == "alpha")
        on = gate("kubelet", "IdentifyPodOS", line)
        known = step_of("missing-os-name", minor, "containerd", False) is not None
        # It is gone where nobody can switch it off any more.
        assert known == (minor > 26 or (on is not None and on.default))
