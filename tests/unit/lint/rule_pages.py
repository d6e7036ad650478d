"""Writes docs/rules, one page for each rule, and the index of them in docs/workload_lint.md.

    python -m tests.unit.lint.rule_pages

The words come from the table of rules, the examples from the fixtures, and what is said of them from the linter itself.
test_docs.py fails while the pages are not what this writes.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from ansible_collections.winkube.node.plugins.plugin_utils.lint.engine import Found
    from ansible_collections.winkube.node.plugins.plugin_utils.lint.rule import Rule

ROOT = Path(__file__).resolve().parents[3]
PAGES = ROOT / "docs" / "rules"
INDEX = ROOT / "docs" / "workload_lint.md"
BEGIN, END = "<!-- rules: begin; written by tests/unit/lint/rule_pages.py -->\n", "<!-- rules: end -->"
STEPS, STEPS_END = "<!-- steps: begin; written by tests/unit/lint/rule_pages.py -->\n", "<!-- steps: end -->"
_MARK = (
    "<!-- Written by tests/unit/lint/rule_pages.py from the table of rules and tests/fixtures/lint: change these. -->\n"
)


_GAP = r"*\1*"


class _Plain(yaml.SafeDumper):
    """Without anchors: what fixtures share is written out."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(manifests: Any) -> str:
    from tests.unit.lint.test_rules import BASE, merged
    from tests.yaml_text import load

    if isinstance(manifests, str):
        return manifests.strip().removesuffix("---")
    value = _without_null(merged(load(BASE), manifests))
    return yaml.dump(value, Dumper=_Plain, sort_keys=False, width=100, allow_unicode=True, default_flow_style=None)


def _without_null(value: Any) -> Any:
    """null means absence to the API server, and would confuse readers."""
    if isinstance(value, dict):
        kept = {key: _without_null(item) for key, item in value.items() if item is not None}
        return {key: item for key, item in kept.items() if item != {} or value[key] == {}}
    return [_without_null(item) for item in value] if isinstance(value, list) else value


def _lint(text: str, settings: Mapping[str, Any]) -> tuple[Found, ...]:
    from ansible_collections.winkube.node.plugins.plugin_utils.lint.engine import lint
    from ansible_collections.winkube.node.plugins.plugin_utils.lint.manifest import read_documents
    from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import Profile, apply_settings

    return lint(read_documents("example.yml", text), apply_settings(Profile(), settings)).found


def pages() -> dict[str, str]:
    """File name -> text."""
    from ansible_collections.winkube.node.plugins.plugin_utils.lint.rulebook import RULES

    return {f"{rule_id}.md": page_of(rule_id) for rule_id in dict.fromkeys(rule.id for rule in RULES)}


@cache
def page_of(rule_id: str) -> str:
    """The text of one rule's page."""
    from ansible_collections.winkube.node.plugins.plugin_utils.lint.rulebook import RULES

    from tests.unit.lint.test_rules import CASES

    parts = [rule for rule in RULES if rule.id == rule_id]
    return "\n".join((_MARK + f"# {rule_id}", *_page(rule_id, parts, dict(CASES)[rule_id]), ""))


def _page(rule_id: str, rules: list[Rule], fixture: Mapping[str, Any]) -> Iterator[str]:
    from ansible_collections.winkube.node.plugins.plugin_utils.facts.evidence import list_evidence

    for number, rule in enumerate(rules):
        yield from _part(rule, number, fixture)
    yield "\n## Evidence\n"
    yield from (f"- {each.outcome}: {each}" for each in list_evidence(rule_id))
    yield from _standing(rule_id)
    yield "\n## Accepting it\n\nAt the object or its pod template, with the reason as value:\n"
    yield f'```yaml\nmetadata:\n  annotations:\n    lint.winkube.node/{rule_id}: "why it is all right here"\n```'
    yield "\nOr for several files or objects, in `.workload-lint.yml`:\n"
    yield f'```yaml\nignore:\n  - rule: {rule_id}\n    reason: why it is all right there\n    files: ["charts/*"]\n```'
    yield "\nAll rules and settings: [workload_lint](../workload_lint.md#rules)."


def _standing(rule_id: str) -> Iterator[str]:
    from ansible_collections.winkube.node.plugins.plugin_utils.lint.rulebook import UNSEEN

    from tests.corpus.standing import standings

    known = standings()[rule_id]
    yield f"- public manifests: {known.right} findings that were judged right, {known.false} false"
    if known.refused:
        yield "- kube-apiserver's recorded verdict: the same field"
    if rule_id in UNSEEN:
        yield (
            "\nNobody has shown this failure in public yet, no manifest and no thread: it is information, whatever may"
            " become of the pod. `severity` in the configuration makes it more."
        )


def _part(rule: Rule, number: int, fixture: Mapping[str, Any]) -> Iterator[str]:
    from ansible_collections.winkube.node.plugins.plugin_utils.lint.cli import describe_kinds, fix_of
    from ansible_collections.winkube.node.plugins.plugin_utils.lint.rule import fill_gaps

    case = next(
        each
        for each in (fixture, *fixture.get("more", ()))
        if any(found.rule is rule for found in _lint(_text(each["flagged"]), each.get("settings", {})))
    )
    yield f"\n## {rule.title}\n"
    yield f"- What: {_sentence(fill_gaps(rule.message, _GAP))}"
    yield f"- Where: {', '.join(f'`{path}`' for path in rule.paths)}{describe_kinds(rule)}"
    yield f"- Remedy: {fill_gaps(rule.remedy, _GAP)}"
    if rule.fix is not None:
        yield f"- `--fix` {fix_of(rule)}."
    yield f"- Source: {rule.source}"
    yield from _severity(rule)
    yield from _example(rule, case, fixture if case is fixture else {})


def _severity(rule: Rule) -> Iterator[str]:
    from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import NEWEST_MINOR, OLDEST_MINOR, Profile

    def name(minor: int, declared: bool, runtime: str = "containerd") -> str:
        severity = rule.level.of(Profile(minor=minor, runtime=runtime), declared)
        return severity.name.lower() if severity else "nothing"

    minors = range(OLDEST_MINOR, NEWEST_MINOR + 1)
    spans = [
        (both, [minor for minor, _ in group])
        for both, group in groupby(
            ((minor, (name(minor, True), name(minor, False))) for minor in minors), key=lambda pair: pair[1]
        )
    ]
    same = all(told == untold for (told, untold), _ in spans)
    yield (
        "\n| Kubernetes | severity |\n|---|---|"
        if same
        else ("\n| Kubernetes | severity with `os.name: windows` | without |\n|---|---|---|")
    )
    for (told, untold), span in spans:
        last = "on" if span[-1] == NEWEST_MINOR else f"1.{span[-1]}"
        versions = f"1.{span[0]}" if len(span) == 1 else f"1.{span[0]} {last if last == 'on' else f'to {last}'}"
        yield f"| {versions} | {told} |" if same else f"| {versions} | {told} | {untold} |"
    if rule.level.docker is not None:
        yield f"\nWith the runtime docker: {name(OLDEST_MINOR, False, 'docker')}."


def _example(rule: Rule, case: Mapping[str, Any], twin: Mapping[str, Any]) -> Iterator[str]:
    from ansible_collections.winkube.node.plugins.plugin_utils.lint.report import headline

    text, settings = _text(case["flagged"]), case.get("settings", {})
    given = f", with {', '.join(f'`{key}: {_shown(value)}`' for key, value in settings.items())}" if settings else ""
    yield f"\nAn example{given}:\n\n```yaml\n{text.strip()}\n```\n\n```text"
    for found in (each for each in _lint(text, settings) if each.rule is rule):
        finding = found.finding
        yield headline(finding)
        yield f"    | {finding.excerpt}"
        yield f"    do {finding.remedy}"
    yield "```"
    clean = _text(twin["clean"]) if twin else ""
    if clean and not isinstance(twin["flagged"], str):
        difference = list(difflib.unified_diff(text.splitlines(), clean.splitlines(), lineterm="", n=2))[2:]
        yield "\nAnd what makes it right:\n\n```diff"
        yield from (line for line in difference if not line.startswith("@@"))
        yield "```"
    elif clean:
        yield f"\nAnd without the finding:\n\n```yaml\n{clean.strip()}\n```"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _shown(value: Any) -> str:
    return yaml.safe_dump(value, default_flow_style=True).removesuffix("\n...\n").strip()


def index() -> str:
    """The text between the marks of docs/workload_lint.md."""
    from ansible_collections.winkube.node.plugins.plugin_utils.lint.rulebook import RULES, UNSEEN

    from tests.corpus.standing import standings

    lines = ["| rule | about | severity | public hits: right, false | `--fix` |", "|---|---|---|---|---|"]
    for rule in RULES:
        fixed = "yes" if rule.fix is not None else ""
        known = standings()[rule.id]
        hits = f"{known.right}, {known.false}" if known.right or known.false else ""
        lines.append(f"| [{rule.id}](rules/{rule.id}.md) | {rule.title} | {rule.level.describe()} | {hits} | {fixed} |")
    held_back = ", ".join(f"[{rule}](rules/{rule}.md)" for rule in sorted(UNSEEN))
    lines += ["", f"Information for want of anybody who has shown their failure: {held_back}."]
    return "\n".join(lines) + "\n"


def steps() -> str:
    """The table of what changes by version, between its marks on the same page."""
    from ansible_collections.winkube.node.plugins.plugin_utils.facts.rule_steps import read_steps
    from ansible_collections.winkube.node.plugins.plugin_utils.lint.rulebook import IDS

    lines = ["| rules, questions | pods | from | then | source |", "|---|---|---|---|---|"]
    for step in read_steps():
        words = (f"[{name}](rules/{name}.md)" if name in IDS else name.replace("-", " ") for name in step.names)
        then = f"{step.answer}: {step.sentence}" if step.sentence else step.answer
        pods = "with `os.name: windows`" if step.declared else "all"
        lines.append(f"| {', '.join(words)} | {pods} | {step.since} | {then} | {step.source} |")
    return "\n".join(lines) + "\n"


def with_index(page: str) -> str:
    """docs/workload_lint.md with the tables of today."""
    for begin, end, text in ((BEGIN, END, index()), (STEPS, STEPS_END, steps())):
        before, _, rest = page.partition(begin)
        page = f"{before}{begin}{text}{end}{rest.partition(end)[2]}"
    return page


def write() -> None:
    PAGES.mkdir(exist_ok=True)
    written = pages()
    for name, text in written.items():
        (PAGES / name).write_text(text, encoding="utf-8")
    for path in PAGES.glob("*.md"):
        if path.name not in written:
            path.unlink()
    INDEX.write_text(with_index(INDEX.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"{len(written)} pages written to {PAGES}, their index to {INDEX}", file=sys.stderr)


if __name__ == "__main__":
    from ansible.utils.collection_loader._collection_finder import _AnsibleCollectionFinder

    from tests.unit.lint.command import COLLECTIONS

    _AnsibleCollectionFinder(paths=[str(COLLECTIONS)])._install()
    write()
