"""Our errors against what the real validation of kube-apiserver said, field by field.

Recorded by tests/real/apiserver_judge/record.py; each record names version, command and date.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.corpus.upstream import ours, place
from tests.real.apiserver_judge.record import digest

from .judged import judged_pods
from .test_rules import FIXTURES

pytestmark = pytest.mark.slow

RECORDS = sorted((FIXTURES / "apiserver").glob("*.json"))
ADMISSION_ROWS = tuple(f"LM-{number:02}" for number in range(1, 21))


@dataclass(frozen=True)
class Asked:
    """A pod that the API server was asked about as it is: the fields that each of us rejects, as one names them."""

    name: str
    ours: frozenset[str]
    theirs: frozenset[str]


def verdicts(path: Path) -> tuple[int, dict[str, dict[str, Any]]]:
    record = json.loads(path.read_text(encoding="utf-8"))
    for verdict in record["verdicts"]:
        # Ephemeral containers come to a running pod, by a subresource; what stands in them is validated all the same.
        verdict["errors"] = [error for error in verdict["errors"] if error["field"] != "spec.ephemeralContainers"]
    return int(record["kubernetes"].split(".")[1]), {each["pod"]: each for each in record["verdicts"]}


@cache
def asked_pods(path: Path) -> tuple[int, list[Asked]]:
    """The record's minor, and all pods but the fixtures of younger rules, which the API server has not seen yet."""
    minor, said = verdicts(path)
    pods = judged_pods(minor)
    asked = [pod for pod in pods if said.get(pod["metadata"]["name"], {}).get("digest") == digest(pod)]
    assert len(asked) >= 0.8 * len(pods), (
        f"{len(pods) - len(asked)} of {len(pods)} pods are new or changed since: record again,"
        " python -m tests.real.apiserver_judge.record"
    )
    names = [pod["metadata"]["name"] for pod in asked]
    theirs = [frozenset(place(error["field"]) for error in said[name]["errors"]) for name in names]
    return minor, [
        Asked(*each) for each in zip(names, (frozenset(ours(pod, minor)) for pod in asked), theirs, strict=True)
    ]


@pytest.mark.row(*ADMISSION_ROWS, "SE-05")
@pytest.mark.parametrize("path", RECORDS, ids=[path.stem for path in RECORDS])
def test_our_errors_are_exactly_what_the_api_server_rejects(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    minor, pods = asked_pods(path)
    for pod in pods:
        assert pod.ours == pod.theirs, pod.name
    fields = frozenset().union(*(pod.theirs for pod in pods))
    with capsys.disabled():
        print(f"\nKubernetes 1.{minor}: {len(pods)} pods; fields rejected by both: {len(fields)}")
    assert len(fields) >= 20


@pytest.mark.row("SC-02")
@pytest.mark.parametrize("path", RECORDS, ids=[path.stem for path in RECORDS])
def test_fields_that_we_call_unknown_are_unknown(path: Path) -> None:
    _, said = verdicts(path)
    assert said["misplaced-os-field-0"]["unknown"] == ['unknown field "spec.pod"']
    ours = ("misplaced-os-field", "other-security-context", "unknown-field", "field-without-effect")
    assert [name for name, each in said.items() if each["unknown"] and not name.startswith(ours)] == []


@pytest.mark.parametrize("path", RECORDS, ids=[path.stem for path in RECORDS])
def test_a_fixed_pod_is_accepted_unless_a_person_has_to_decide(path: Path) -> None:
    _, pods = asked_pods(path)
    fixed = [pod for pod in pods if pod.name.endswith("-fixed") and not pod.ours]
    assert [pod.name for pod in fixed if pod.theirs] == []
    assert len(fixed) > 100
