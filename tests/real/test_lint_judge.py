"""What upstream's own validation of Pods says today is what the records hold, and what the linter says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.corpus import upstream as corpus
from tests.real import build
from tests.real.apiserver_judge import record
from tests.unit.lint.judged import judged_pods


def judged(version: str, pods: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if not record.is_built(version):
        command = f"python -m tests.real.apiserver_judge.record --build {version}"
        pytest.skip(f"lane real: the judge of Kubernetes {version} is not there; `{command}` builds it")
    return record.ask(version, pods)


@pytest.mark.parametrize("version", build.SERVER_VERSIONS)
def test_the_pods_of_the_fixtures(version: str) -> None:
    minor = version.rsplit(".", 1)[0]
    said = judged(version, judged_pods(int(minor.split(".")[1])))
    kept = json.loads((record.FIXTURES / "apiserver" / f"{minor}.json").read_text(encoding="utf-8"))
    assert kept["verdicts"] == said


@pytest.mark.parametrize("version", build.SERVER_VERSIONS)
def test_the_pods_of_the_corpus(version: str) -> None:
    """The linter says of none that it is rejected but of those that are, and names the same fields."""
    minor = int(version.split(".")[1])
    pods = list(corpus.pods())
    verdicts = {each["pod"]: each for each in judged(version, pods)}
    names = [pod["metadata"]["name"] for pod in pods]
    ours = {name: corpus.ours(pod, minor) for name, pod in zip(names, pods, strict=True)}
    theirs = {name: corpus.theirs(verdicts[name]) for name in names}
    assert ours == theirs
    assert sum(map(bool, theirs.values())) > 30
