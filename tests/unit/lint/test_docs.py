"""The page of the linter is up to date, and says what no rule can say."""

from __future__ import annotations

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import NEWEST_MINOR, OLDEST_MINOR, SETTINGS
from ansible_collections.winkube.node.plugins.plugin_utils.lint.rulebook import RULES
from ansible_collections.winkube.node.plugins.plugin_utils.lint.rulebook_text import rules_markdown

from .test_rules import FIXTURES

ROOT = FIXTURES.parents[2]
PAGE = (ROOT / "docs" / "workload_lint.md").read_text(encoding="utf-8")
BEGIN, END = "<!-- rules: begin; printed by --rules-markdown -->\n", "<!-- rules: end -->"


@pytest.mark.row("LM-74")
def test_the_rules_of_the_page_are_those_of_the_table() -> None:
    assert PAGE.partition(BEGIN)[2].partition(END)[0] == rules_markdown(), "put --rules-markdown between the marks"


def test_every_rule_has_a_heading_that_the_reports_link_to() -> None:
    headings = [line.removeprefix("### ") for line in PAGE.splitlines() if line.startswith("### ")]
    for rule in RULES:
        assert headings.count(rule.id) == 1


def test_the_page_names_every_setting_and_the_versions() -> None:
    for setting in SETTINGS:
        assert f"| `{setting}` |" in PAGE
    assert f'`"1.{OLDEST_MINOR}"` to `"1.{NEWEST_MINOR}"`' in PAGE


@pytest.mark.parametrize(
    ("words", "row"),
    [
        pytest.param("job object and a namespace filter", "RS-01", marks=pytest.mark.row("RS-01")),
        pytest.param("There is no OOM killer", "RS-02", marks=pytest.mark.row("RS-02")),
        pytest.param("page file mandatory", "RS-02", marks=pytest.mark.row("RS-02")),
        pytest.param(
            "CPU count of a running container cannot change", "LM-73", marks=pytest.mark.row("LM-73", "RS-12")
        ),
        pytest.param("kubernetes/kubernetes#70604", "LM-72", marks=pytest.mark.row("LM-72")),
        pytest.param("take on an identity of the host", "SE-11", marks=pytest.mark.row("SE-11")),
        pytest.param("many existing Linux deployments", "SC-07", marks=pytest.mark.row("SC-07")),
    ],
)
def test_what_no_rule_can_see_is_said(words: str, row: str) -> None:
    assert words in " ".join(PAGE.split()), row


def test_the_pre_commit_example_is_yaml_with_one_hook() -> None:
    example = yaml.safe_load((ROOT / "docs" / "pre-commit-workload-lint.yaml").read_text(encoding="utf-8"))
    (hook,) = example["repos"][0]["hooks"]
    assert "ansible_collections.winkube.node.plugins.plugin_utils.lint" in hook["entry"]
