"""Our errors against what the real validation of kube-apiserver said, field by field.

Recorded by tests/real/apiserver_judge/record.py; each record names version, command and date.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.corpus.upstream import ours, place
from tests.real.apiserver_judge.record import digest

from .judged import judged_pods
from .test_rules import FIXTURES

pytestmark = pytest.mark.slow

RECORDS = sorted((FIXTURES / "apiserver").glob("*.json"))
ADMISSION_ROWS = tuple(f"LM-{number:02}" for number in range(1, 21))


def verdicts(path: Any) -> tuple[int, dict[str, dict[str, Any]]]:
    record = json.loads(path.read_text(encoding="utf-8"))
    for verdict in record["verdicts"]:
        # Ephemeral containers come to a running pod, by a subresource; what stands in them is validated all the same.
        verdict["errors"] = [error for error in verdict["errors"] if error["field"] != "spec.ephemeralContainers"]
    return int(record["kubernetes"].split(".")[1]), {each["pod"]: each for each in record["verdicts"]}


def asked_pods(minor: int, said: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Pods that the API server was asked about as they are; the fixtures of younger rules it has not seen yet."""
    pods = judged_pods(minor)
    asked = [pod for pod in pods if said.get(pod["metadata"]["name"], {}).get("digest") == digest(pod)]
    assert len(asked) >= 0.8 * len(pods), (
        f"{len(pods) - len(asked)} of {len(pods)} pods are new or changed since: record again,"
        " python -m tests.real.apiserver_judge.record"
    )
    return asked


@pytest.mark.row(*ADMISSION_ROWS, "SE-05")
@pytest.mark.parametrize("path", RECORDS, ids=[path.stem for path in RECORDS])
def test_our_errors_are_exactly_what_the_api_server_rejects(path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    minor, said = verdicts(path)
    fields: dict[str, set[str]] = {"ours": set(), "theirs": set()}
    pods = asked_pods(minor, said)
    for pod in pods:
        name = pod["metadata"]["name"]
        theirs = {place(error["field"]) for error in said[name]["errors"]}
        assert ours(pod, minor) == theirs, name
        fields["theirs"] |= theirs
        fields["ours"] |= ours(pod, minor)
    with capsys.disabled():
        print(f"\nKubernetes 1.{minor}: {len(pods)} pods; fields rejected by us: {len(fields['ours'])},", end=" ")
        print(f"by the API server: {len(fields['theirs'])}, the same ones")
    assert len(fields["theirs"]) >= 20


@pytest.mark.row("SC-02")
@pytest.mark.parametrize("path", RECORDS, ids=[path.stem for path in RECORDS])
def test_fields_that_we_call_unknown_are_unknown(path: Any) -> None:
    _, said = verdicts(path)
    assert said["misplaced-os-field-0"]["unknown"] == ['unknown field "spec.pod"']
    ours = ("misplaced-os-field", "other-security-context", "unknown-field", "field-without-effect")
    assert [name for name, each in said.items() if each["unknown"] and not name.startswith(ours)] == []


@pytest.mark.parametrize("path", RECORDS, ids=[path.stem for path in RECORDS])
def test_a_fixed_pod_is_accepted_unless_a_person_has_to_decide(path: Any) -> None:
    minor, said = verdicts(path)
    accepted = 0
    for pod in asked_pods(minor, said):
        name = pod["metadata"]["name"]
        if name.endswith("-fixed") and not ours(pod, minor):
            assert said[name]["errors"] == [], name
            accepted += 1
    assert accepted > 100
