"""How long ten thousand pods take, beside the time that PyYAML takes to load them."""

from __future__ import annotations

import random
import time

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.lint.engine import lint
from ansible_collections.winkube.node.plugins.plugin_utils.lint.manifest import read_documents
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import Profile

from tests.yaml_text import DUMPER, dump, load

from .test_rules import BASE, CASES, merged

pytestmark = pytest.mark.slow


def pod(chance: random.Random) -> str:
    """A pod that mixes what several fixtures flag."""
    value = load(BASE)
    for _, fixture in chance.sample(CASES, 6):
        if isinstance(fixture["flagged"], dict):
            value = merged(value, fixture["flagged"])
    return dump(value, sort_keys=False)


def _load(text: str) -> tuple[int, float]:
    """How many documents PyYAML finds, and in how many seconds of processor time."""
    started = time.process_time()
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return sum(1 for _ in yaml.load_all(text, Loader=loader)), time.process_time() - started


@pytest.mark.parametrize("count", [1_000, pytest.param(10_000, marks=pytest.mark.exhaustive)])
def test_a_thousand_pods_a_second(count: int, capsys: pytest.CaptureFixture[str]) -> None:
    chance = random.Random(1)
    text = "---\n".join([pod(chance) for _ in range(100)] * (count // 100))
    loaded, before = _load(text)
    started = time.process_time()
    documents = read_documents("f.yml", text)
    reading = time.process_time() - started
    started = time.process_time()
    report = lint(documents, Profile())
    checking = time.process_time() - started
    # The machine may have become busier meanwhile: then PyYAML, too, takes longer than before.
    loading = max(before, _load(text)[1])
    with capsys.disabled():
        print(f"\n{loaded} pods, {len(report.findings)} findings: PyYAML alone loads them in {loading:.1f} s,", end=" ")
        print(f"the linter reads them in {reading:.1f} s and checks them in {checking:.1f} s")
    assert report.objects == count
    # Processor time; on a machine slower than that of 2026 the measure is what PyYAML takes.
    assert reading + checking < max(count / 1000, 4 * loading)


def test_five_thousand_objects_in_one_and_a_half_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    """Of a repository: a fifth of them pods for Windows, a fifth for Linux, the rest Services, ConfigMaps and Roles."""
    base = yaml.safe_load(BASE)
    values = []
    for number in range(1000):
        name = f"a{number}"
        linux = merged(base, {"metadata": {"name": f"l{number}"}, "spec": {"os": None, "tolerations": None}})
        linux["spec"]["nodeSelector"] = {"kubernetes.io/os": "linux"}
        values += [merged(base, {"metadata": {"name": name}}), linux]
        values.append(
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"selector": {"a": name}}}
        )
        values.append(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "http://b.c:80"}}
        )
        values.append(
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": name}, "rules": []}
        )
    text = yaml.dump_all(values, Dumper=DUMPER)
    started = time.process_time()
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    assert sum(1 for _ in yaml.load_all(text, Loader=loader)) == 5000
    loading = time.process_time() - started
    started = time.process_time()
    report = lint(read_documents("f.yml", text), Profile())
    taken = time.process_time() - started
    with capsys.disabled():
        print(f"\n5,000 objects: {taken:.2f} s, PyYAML alone loads them in {loading:.2f} s")
    assert report.objects == 5000
    assert taken < max(1.5, 2 * loading)
