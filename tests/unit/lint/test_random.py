"""Manifests that nobody would write, and many of them: no crash, a stable fix, and the time it takes."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.lint.engine import lint
from ansible_collections.winkube.node.plugins.plugin_utils.lint.fix import after_fix, fix
from ansible_collections.winkube.node.plugins.plugin_utils.lint.manifest import live_documents, read_documents
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import NEWEST_MINOR, OLDEST_MINOR, Profile

from .test_rules import BASE, CASES, merged

ODD: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    1.5,
    "",
    "windows",
    "a.b",
    [],
    [None],
    {},
    {"x": None},
    [{"name": 1}],
    "ü\n",
]


def valid_pod(chance: random.Random) -> dict[str, Any]:
    """A pod that mixes what several fixtures flag."""
    pod: dict[str, Any] = yaml.safe_load(BASE)
    for _, fixture in chance.sample(CASES, 6):
        if isinstance(fixture["flagged"], dict):
            pod = merged(pod, fixture["flagged"])
    if chance.random() < 0.5:
        pod["spec"].pop("os", None)
    if chance.random() < 0.3:
        pod["spec"].pop("tolerations", None)
    return pod


def damaged(value: Any, chance: random.Random) -> Any:
    """The same tree with odd values here and there."""
    if chance.random() < 0.06:
        return chance.choice(ODD)
    if isinstance(value, dict):
        return {key: damaged(item, chance) for key, item in value.items()}
    return [damaged(item, chance) for item in value] if isinstance(value, list) else value


def profile(chance: random.Random) -> Profile:
    minor = chance.randint(OLDEST_MINOR, NEWEST_MINOR)
    runtime = chance.choice(("containerd", "docker")) if minor < 24 else "containerd"
    return Profile(minor=minor, runtime=runtime, mode=chance.choice(("l2bridge", "overlay")), unknown_pods="windows")


@pytest.mark.parametrize("seed", range(15))
def test_odd_manifests_never_crash_it(seed: int) -> None:
    chance = random.Random(seed)
    everything = [fixture["flagged"] for _, fixture in CASES]
    objects = [
        document for text in everything if isinstance(text, str) for document in yaml.safe_load_all(text) if document
    ]
    tree = [damaged(each, chance) for each in [*objects, *(valid_pod(chance) for _ in range(20))]]
    tree = [each for each in tree if isinstance(each, dict)]
    lint(live_documents(tree), profile(chance))
    documents = read_documents("f.yml", yaml.safe_dump_all(tree))
    report = lint(documents, profile(chance))
    assert all(found.finding.line > 0 for found in report.found)


@pytest.mark.parametrize("seed", range(15))
def test_fix_is_stable_and_adds_no_finding(seed: int) -> None:
    chance = random.Random(seed)
    settings = profile(chance)
    style = chance.choice((None, True, False))
    text = yaml.safe_dump_all([valid_pod(chance) for _ in range(8)], sort_keys=False, default_flow_style=style)
    before = read_documents("f.yml", text)
    first = lint(before, settings)
    fixed = fix(before, first, settings, ())
    assert [each.refused for each in fixed if each.refused] == []
    after = after_fix(before, fixed)
    second = lint(after, settings)
    assert {(f.rule, f.object, f.path) for f in second.findings} <= {(f.rule, f.object, f.path) for f in first.findings}
    assert sum(f.severity for f in second.findings) <= sum(f.severity for f in first.findings)
    assert [each for each in fix(after, second, settings, ()) if each.after != each.before] == []


def test_ten_thousand_pods_in_ten_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    chance = random.Random(1)
    some = [yaml.safe_dump(valid_pod(chance), sort_keys=False) for _ in range(100)]
    text = "---\n".join(some * 100)
    started = time.process_time()
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loaded = sum(1 for _ in yaml.load_all(text, Loader=loader))
    loading = time.process_time() - started
    started = time.process_time()
    documents = read_documents("f.yml", text)
    reading = time.process_time() - started
    started = time.process_time()
    report = lint(documents, Profile())
    checking = time.process_time() - started
    with capsys.disabled():
        print(f"\n{loaded} pods, {len(report.findings)} findings: PyYAML alone loads them in {loading:.1f} s,", end=" ")
        print(f"the linter reads them in {reading:.1f} s and checks them in {checking:.1f} s")
    assert report.objects == 10_000
    # Processor time; on a machine slower than that of 2026 the measure is what PyYAML takes.
    assert reading + checking < max(10.0, 3 * loading)
