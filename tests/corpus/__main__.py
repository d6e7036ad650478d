"""How right the linter is, as a table and one line of JSON: `python -m tests.corpus`; --build builds helm and kubectl.

    {"manifests": n, "findings": n, "right": n, "errors": n, "false_errors": n, "planted": n, "found": n,
     "upstream": n, "agree": n, "unasked": n, "objects": {"asked": n, "agree": n, "unasked": n},
     "repositories": n, "with_charts_or_overlays": n, "repository_false_errors": n or null,
     "repository_findings": {"found": n, "judged": n, "right": n} or null,
     "charts": {"seen": n, "rendered": n, "unchecked": n, "errors": n} or null,
     "overlays": {"seen": n, "rendered": n, "unchecked": n} or null, "hook_equals_folder": true or null,
     "frozen": {"manifests": n, "false_errors": n, "planted": n, "found": n},
     "types": {"planted": n, "found": n, "controls": n, "false": n},
     "hygiene_share": 0.nn, "fields_without_verdict": n,
     "rules": {"ids": n, "met_in_public": n, "proved_by_upstream": n, "by_version": n, "info": n, "dropped": n}}

`errors` are findings of severity error in the public manifests, `false_errors` those that a person judged false;
`upstream` counts the pods that upstream's validation was asked about, `agree` those that the linter rejects for the
very fields, `unasked` those that are younger than its records; `objects` are those of every kind that a whole
kube-apiserver was asked about (objects.py). `repositories` are whole ones (repositories.py), read
from the registries, with helm and kubectl: without them nothing is known of their findings, charts and overlays (null).
`repository_false_errors` are errors that nobody judged right; `judged` and `right` are of any severity.
`hook_equals_folder`: hook.py; `frozen` is the set that no rule was mended on; `types` are values and places of fields
that were planted by the documentation alone, `found` those told as bad as a real kube-apiserver takes them (types/);
`hygiene_share` is the share of the lines of the default text that are hygiene. Of `rules` stands how many ids there
are, how many of them public manifests met, how many of the rest a recorded verdict or a public thread proves, how many
are by version, and how many are information until somebody shows their failure (standing.py). A finding that nobody
judged counts as not right and is printed; so is one that was judged right and is gone. Exit status 1 where there is
such a one, a false error, or a planted mistake that is missed.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_collections.winkube.node.plugins.plugin_utils.facts.fields import without_verdict
from ansible_collections.winkube.node.plugins.plugin_utils.lint.engine import Report, lint
from ansible_collections.winkube.node.plugins.plugin_utils.lint.manifest import live_documents
from ansible_collections.winkube.node.plugins.plugin_utils.lint.model import Finding, Severity
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import Profile, apply_settings
from ansible_collections.winkube.node.plugins.plugin_utils.lint.report import as_text
from ansible_collections.winkube.node.plugins.plugin_utils.lint.rulebook import UNSEEN

from . import frozen, objects, rendered_by, types, values
from .facts import object_of
from .hook import hook_equals_folder
from .planted import Planted, mistakes
from .repositories import Repository, repositories
from .standing import BY_VERSION, DROPPED, standings, unseen
from .upstream import Comparison, compare

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class Manifest:
    """One public manifest: where it is from, its objects, and what was judged of it: key of a finding -> verdict."""

    source: str
    objects: tuple[dict[str, Any], ...]
    judged: dict[str, str]


def manifests() -> Iterator[Manifest]:
    judged = {each["from"]: each for each in map(json.loads, lines("judged.jsonl"))}
    for each in map(json.loads, lines("manifests.jsonl")):
        verdicts = judged.get(each["from"], {})
        keys = {key: verdict for verdict in ("right", "false") for key in verdicts.get(verdict, ())}
        yield Manifest(each["from"], tuple(map(object_of, each["objects"])), keys)


def lines(name: str) -> list[str]:
    path = HERE / name
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def keys_of(findings: list[Finding]) -> list[tuple[str, Finding]]:
    """Findings by `rule severity object path`, counted where several are the same."""
    seen: Counter[str] = Counter()
    found = []
    for each in findings:
        key = f"{each.rule} {each.severity.name[0]} {each.object} {each.path}"
        seen[key] += 1
        found.append((f"{key} #{seen[key]}" if seen[key] > 1 else key, each))
    return found


# Facts leave out variables that take their values from elsewhere.
_NOT_TO_BE_SEEN = {"disable": ["undefined-variable"]}


def report_of(manifest: Manifest) -> Report:
    return lint(live_documents(list(manifest.objects)), apply_settings(Profile(), _NOT_TO_BE_SEEN))


def findings_of(manifest: Manifest) -> list[tuple[str, Finding]]:
    return keys_of(report_of(manifest).findings)


def found(planted: Planted) -> bool:
    report = lint(live_documents(list(planted.objects)), apply_settings(Profile(), planted.settings))
    return any(each.rule == planted.rule for each in report.findings)


def main(whole: Sequence[Repository] = ()) -> int:
    rules: dict[str, Counter[str]] = {}
    totals: Counter[str] = Counter()
    complaints: list[str] = []
    for manifest in manifests():
        totals["manifests"] += 1
        report = report_of(manifest)
        there = keys_of(report.findings)
        text = "".join(as_text(report))
        totals["lines"] += text.count("\n")
        totals["hygiene_lines"] += bool(report.hygiene_counts)
        for key, each in there:
            verdict = manifest.judged.get(key, "not judged")
            rules.setdefault(each.rule, Counter())[verdict] += 1
            totals["findings"] += 1
            totals["right"] += verdict == "right"
            totals["errors"] += each.severity is Severity.ERROR
            totals["false_errors"] += each.severity is Severity.ERROR and verdict != "right"
            if verdict == "not judged":
                complaints.append(f"not judged: {manifest.source}: {key}: {each.message}")
        gone = {key for key, verdict in manifest.judged.items() if verdict == "right"} - {key for key, _ in there}
        complaints += [f"gone, and it was right: {manifest.source}: {key}" for key in sorted(gone)]
    for planted in mistakes():
        hit = found(planted)
        totals["planted"] += 1
        totals["found"] += hit
        if not hit:
            complaints.append(f"not found: {planted.mistake} ({planted.rule})")
    for learnt in values.mistakes(*values.LEARNT):
        totals["planted"] += 1
        totals["found"] += learnt.found
        if not learnt.found:
            complaints.append(f"not found: {learnt.mistake} ({learnt.outcome})")
    for known in whole:
        totals.update(counted(known))
        complaints += [f"{known.name}: false: {each}" for each in known.false_errors]
        complaints += [f"{known.name}: gone, and it was right: {each}" for each in known.gone]
        if known.reason:
            complaints.append(f"{known.name}: it cannot be read: {known.reason}")
    judged = compare()
    complaints += judged.differences
    of_server = [objects.compare(each.stem) for each in sorted(objects.RECORDS.glob("*.json"))]
    complaints += [difference for each in of_server for difference in each.differences]
    for rule, verdicts in sorted(rules.items()):
        print(
            f"{rule:<34}" + "  ".join(f"{verdict} {count}" for verdict, count in sorted(verdicts.items(), reverse=True))
        )
    complaints += [f"{rule}: the linter's list UNSEEN and its standing differ" for rule in sorted(UNSEEN ^ unseen())]
    print("".join(f"{complaint}\n" for complaint in complaints), end="")
    hook = hook_equals_folder() if whole else None
    complaints_of_hook = [name for name, equal in (hook or {}).items() if not equal]
    complaints += complaints_of_hook
    print("".join(f"hook and folder differ: {name}\n" for name in complaints_of_hook), end="")
    print(json.dumps(line(totals, judged, hook, of_server)))
    return 1 if complaints or totals["false_errors"] else 0


_FINDINGS = ("found", "judged", "right")
_CHARTS = ("seen", "rendered", "unchecked", "errors")
_OVERLAYS = ("seen", "rendered", "unchecked")


def counted(known: Repository) -> Counter[str]:
    return Counter(
        {
            "repositories": 1,
            "with_charts_or_overlays": int(known.charts[0] + known.overlays[0] > 0),
            "repository_false_errors": len(known.false_errors),
            **{f"findings {name}": getattr(known, name) for name in _FINDINGS},
            **{f"charts {name}": number for name, number in zip(_CHARTS, known.charts, strict=True)},
            **{f"overlays {name}": number for name, number in zip(_OVERLAYS, known.overlays, strict=True)},
        }
    )


def line(
    totals: Counter[str],
    judged: Comparison,
    hook: dict[str, bool] | None = None,
    of_server: Sequence[objects.Comparison] = (),
) -> dict[str, Any]:
    known = totals["repositories"] and not rendered_by.missing()
    names = ("manifests", "findings", "right", "errors", "false_errors", "planted", "found")
    return {
        **{name: totals[name] for name in names},
        "upstream": judged.pods,
        "agree": judged.agree,
        "unasked": judged.unasked,
        "objects": {name: sum(getattr(each, name) for each in of_server) for name in ("asked", "agree", "unasked")},
        "repositories": totals["repositories"],
        "with_charts_or_overlays": totals["with_charts_or_overlays"],
        "repository_false_errors": totals["repository_false_errors"] if known else None,
        "repository_findings": {name: totals[f"findings {name}"] for name in _FINDINGS} if known else None,
        "charts": {name: totals[f"charts {name}"] for name in _CHARTS} if known else None,
        "overlays": {name: totals[f"overlays {name}"] for name in _OVERLAYS} if known else None,
        "hook_equals_folder": all(hook.values()) if hook is not None else None,
        "frozen": frozen_figures(),
        "types": types.figures(),
        "hygiene_share": round(totals["hygiene_lines"] / max(1, totals["lines"]), 3),
        "fields_without_verdict": len(without_verdict()),
        "rules": rule_figures(),
    }


def rule_figures() -> dict[str, int]:
    known = standings().values()
    return {
        "ids": len(known),
        "met_in_public": sum(each.right > 0 for each in known),
        "proved_by_upstream": sum(each.right == 0 and each.proved for each in known),
        "by_version": sum(not each.right and not each.proved and each.rule in BY_VERSION for each in known),
        "info": len(UNSEEN),
        "dropped": len(DROPPED),
    }


def frozen_figures() -> dict[str, int]:
    figures: Counter[str] = Counter()
    for _source, report, right in frozen.manifests():
        figures["manifests"] += 1
        errors = {f"{each.rule} {each.object} {each.path}" for each in report.at_least(Severity.ERROR)}
        figures["false_errors"] += len(errors - right)
    for each in frozen.mistakes():
        figures["planted"] += 1
        figures["found"] += each.found
    return {name: figures[name] for name in ("manifests", "false_errors", "planted", "found")}


if __name__ == "__main__":
    failed = rendered_by.build_missing() if sys.argv[1:] == ["--build"] else 0
    sys.exit(failed or main(repositories()))
