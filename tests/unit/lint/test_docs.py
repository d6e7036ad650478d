"""The page of the linter is up to date, and says what no rule can say."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import NEWEST_MINOR, OLDEST_MINOR, SETTINGS
from ansible_collections.winkube.node.plugins.plugin_utils.lint.rulebook import RULES

from . import rule_pages
from .command import COLLECTIONS
from .test_rules import CASES, FIXTURES, marked

pytestmark = pytest.mark.slow

ROOT = FIXTURES.parents[2]
PAGE = (ROOT / "docs" / "workload_lint.md").read_text(encoding="utf-8")
YAML = Path(yaml.__file__).parents[1]
HOW = "run python -m tests.unit.lint.rule_pages"


@pytest.mark.row("LM-74")
def test_the_pages_of_the_rules_are_what_the_table_and_the_fixtures_say() -> None:
    there = {path.name: path.read_text(encoding="utf-8") for path in rule_pages.PAGES.iterdir()}
    wanted = rule_pages.pages()
    assert sorted(there) == sorted(wanted), HOW
    assert [name for name in wanted if wanted[name] != there[name]] == [], HOW


@pytest.mark.parametrize(("rule", "fixture"), [marked(rule, fixture) for rule, fixture in CASES])
def test_the_page_of_a_rule_says_what_the_rule_says(rule: str, fixture: dict[str, Any]) -> None:
    """Its severity for every version, its place, message, remedy and source, and the text about the example."""
    assert rule_pages.page_of(rule) == (rule_pages.PAGES / f"{rule}.md").read_text(encoding="utf-8"), HOW


def test_the_index_of_the_rules_is_up_to_date() -> None:
    assert rule_pages.with_index(PAGE) == PAGE, HOW


def test_a_page_says_what_why_how_bad_what_to_do_and_how_to_accept_it() -> None:
    pages = rule_pages.pages()
    for rule in RULES:
        page = pages[f"{rule.id}.md"]
        assert f"## {rule.title}\n" in page and rule.source in page
        for words in ("- What: ", "- Remedy: ", "| Kubernetes | ", "An example", f"lint.winkube.node/{rule.id}: "):
            assert words in page, (rule.id, words)
        assert f"](rules/{rule.id}.md)" in PAGE


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
    offered = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert hook["id"] in [each["id"] for each in offered]


def test_the_command_needs_nothing_but_pyyaml() -> None:
    """pre-commit's own environment has no ansible-core."""
    program = (
        "import sys, ansible_collections.winkube.node.plugins.plugin_utils.lint.cli; "
        "print(sorted({name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {[str(COLLECTIONS), str(YAML)]!r}; {program}"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = {name for name in ast.literal_eval(done.stdout) if "cython" not in name}
    assert loaded - {"__main__", "_yaml"} == {"yaml", "ansible_collections"}
