"""Each kubeconfig of the table sends what client-go sends (recorded by lane real), or is refused as there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.answer import Answer, refusal
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.client import Cluster
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError

from tests.unit.cluster.kubeconfigs import RECORD, Case, cases, written

CASES = cases()
THEIRS = {each["name"]: each for each in json.loads(RECORD.read_text(encoding="utf-8"))["answers"]}
SECRETS = ("t0ken", "s3cret", ":pw", "12345", "system:masters", "BEGIN", "ann:")


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """By name: what was sent, or the sentence that refuses the file."""
    with pytest.MonkeyPatch.context() as patch, written(tmp_path_factory.mktemp("files"), CASES) as (paths, _texts):
        for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            patch.delenv(name, raising=False)
        yield {case.name: ask(path) for case, path in zip(CASES, paths, strict=True)}


def ask(path: Path) -> Any:
    try:
        found = Cluster.open({"kubeconfig": str(path)})
        assert found is not None
        found.clock = Quick()  # type: ignore[assignment]
        return (found.get("/version") or {})["seen"]
    except ClusterError as error:
        return str(error)


class Quick:
    """A clock that has no patience."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        self.time += 100
        return self.time

    def sleep(self, _seconds: float) -> None:
        """Nothing."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_sent_is_what_client_go_sends(case: Case, answers: dict[str, Any]) -> None:
    theirs, found = THEIRS[case.name], answers[case.name]
    wanted = "refused" if "refused" in theirs else theirs["sent"]
    if case.ours is not None:
        assert case.why, "a difference has a reason"
        plain = {"path": "/version", "headers": [], "certificate": ""}
        ours = "refused" if case.ours == "refused" else plain | case.ours
        assert wanted != ours, "there is no difference"
        wanted = ours
    assert ("refused" if isinstance(found, str) else found) == wanted, (found, theirs)


def test_no_sentence_shows_a_credential(answers: dict[str, Any]) -> None:
    sentences = [each for each in answers.values() if isinstance(each, str)]
    assert len(sentences) > 20
    assert [each for each in sentences if any(secret in each for secret in SECRETS)] == []


def test_nobody_over_http_is_told_why() -> None:
    answer = Answer(403, b'{"kind": "Status", "message": "nodes is forbidden"}')
    assert "over that no credentials are sent" in str(refusal("GET", "http://10.0.0.10/api", "/api", answer))
    assert "over that" not in str(refusal("GET", "https://10.0.0.10/api", "/api", answer))


def test_a_field_of_another_type_is_told_by_file_entry_and_field(answers: dict[str, Any]) -> None:
    told = {
        "a token that is a list": "users[me].user.token is a list, and a text has to be there.",
        "a token that is a number": "users[me].user.token is a number, and a text has to be there; write it in quotes.",
        "not verified as a text": "clusters[lab].cluster.insecure-skip-tls-verify is a text, and true or false "
        "has to be there.",
        "groups that are a text": "users[me].user.as-groups is a text, and a list has to be there.",
        "groups with a number": "users[me].user.as-groups[0] is a number, and a text has to be there.",
    }
    assert {name: answers[name].rpartition("/config: ")[2] for name in told} == told
