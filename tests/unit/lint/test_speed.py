"""How long ten thousand pods take, beside the time that PyYAML takes to load them."""

from __future__ import annotations

import random
import time

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.lint.engine import lint
from ansible_collections.winkube.node.plugins.plugin_utils.lint.manifest import read_documents
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import Profile

from .test_rules import BASE, CASES, merged

pytestmark = pytest.mark.slow


def pod(chance: random.Random) -> str:
    """A pod that mixes what several fixtures flag."""
    value = yaml.safe_load(BASE)
    for _, fixture in chance.sample(CASES, 6):
        if isinstance(fixture["flagged"], dict):
            value = merged(value, fixture["flagged"])
    return yaml.safe_dump(value, sort_keys=False)


def test_ten_thousand_pods_in_ten_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    chance = random.Random(1)
    text = "---\n".join([pod(chance) for _ in range(100)] * 100)
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
    assert reading + checking < max(10.0, 4 * loading)
