"""Half an answer, or another's, never means "there is none": the request is repeated a few times, then the error
shows what came."""

from __future__ import annotations

import json
from itertools import cycle
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.answer import (
    DEEPEST,
    Answer,
    StrangeAnswerError,
    plural_of,
)
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.client import STRANGE_TIMES, Cluster
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.connection import Connection
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.exec import exit_status
from ansible_collections.winkube.node.plugins.plugin_utils.engine.clock import Clock

from tests.lab.cluster.kinds import ALL
from tests.unit.cluster.fake import as_api

LIST, ONE = "/api/v1/pods", "/api/v1/nodes/win1"
PAGE = b"<html><title>Sign in</title></html>"
FAILED = b'{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 500, "message": "leader changed"}'
WELL = b'{"kind": "PodList", "items": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
SHALLOW = b'{"kind": "PodList", "items": [], "a": ' + b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1) + b"}"
STRANGE: dict[str, Answer] = {
    "a page": Answer(200, PAGE, 0, "text/html"),
    "half": Answer(200, b'{"kind": "PodList", "items": [{"meta', 0, "application/json"),
    "nothing": Answer(200, b""),
    "null": Answer(200, b"null", 0, "application/json"),
    "an array": Answer(200, b"[]", 0, "application/json"),
    "no object": Answer(200, b"{}", 0, "application/json"),
    "a failure": Answer(200, FAILED, 0, "application/json"),
    "another kind": Answer(200, b'{"kind": "ServiceList", "items": []}', 0, "application/json"),
    "no items": Answer(200, b'{"kind": "PodList"}', 0, "application/json"),
    "items of no kind": Answer(200, b'{"kind": "PodList", "items": ["a"]}', 0, "application/json"),
    "an odd part": Answer(200, b'{"kind": "PodList", "metadata": {"continue": 7}, "items": []}', 0, "application/json"),
    "a well": Answer(200, WELL, 0, "application/json"),
    "too deep": Answer(200, SHALLOW, 0, "application/json"),
    "no UTF-8": Answer(200, b"\xff\xfe{", 0, "application/json"),
    "a redirect": Answer(302, b"", 0, "text/html", "https://login.example.com/?token=secret"),
    "a proxy's 404": Answer(404, PAGE, 0, "text/html"),
}


def told(*answers: Answer) -> tuple[Cluster, list[str], list[float]]:
    """A cluster that gives these answers in turn; what it was asked, and the pauses."""
    asked: list[str] = []
    slept: list[float] = []
    turn = cycle(answers)

    def send(method: str, path: str, body: Any, content_type: str) -> Answer:
        asked.append(f"{method} {path}")
        return next(turn)

    cluster = Cluster(lambda: Connection("https://api", b"", send))
    cluster.clock = Clock(lambda: sum(slept), slept.append)
    return cluster, asked, slept


@pytest.mark.parametrize("what", STRANGE)
def test_a_strange_answer_is_asked_again_and_then_told(what: str) -> None:
    cluster, asked, slept = told(STRANGE[what])
    with pytest.raises(ClusterError) as gave_up:
        cluster.items(LIST)
    said = str(gave_up.value)
    assert gave_up.value.passing and len(asked) <= STRANGE_TIMES and slept == sorted(slept) and sum(slept) < 30
    assert f"GET https://api{LIST}?limit=500 was answered with {STRANGE[what].status}" in said
    if STRANGE[what].data == PAGE:
        assert "text/html, which begins: <html><title>Sign in</title></html>" in said
    assert "secret" not in said


@pytest.mark.parametrize("what", STRANGE)
def test_one_strange_answer_among_good_ones_changes_nothing(what: str) -> None:
    good = Answer(200, as_api("GET", LIST, 200, {"items": [{"metadata": {"name": "web"}}]}))
    cluster, asked, _slept = told(STRANGE[what], good)
    assert [pod["metadata"]["name"] for pod in cluster.items(LIST)] == ["web"]
    assert len(asked) == 2


@pytest.mark.parametrize("what", STRANGE)
def test_waiting_for_something_to_be_gone_is_not_ended_by_it(what: str) -> None:
    cluster, _asked, _slept = told(STRANGE[what], Answer(200, as_api("GET", ONE, 200, {})))
    assert cluster.node("win1") is not None


def test_only_the_api_server_says_that_there_is_none() -> None:
    gone = as_api("GET", ONE, 404, {"reason": "NotFound"})
    assert told(Answer(404, gone))[0].node("win1") is None
    no_group = Answer(404, b"404 page not found\n", 0, "text/plain")
    assert told(no_group)[0].items("/apis/node.k8s.io/v1/runtimeclasses") == []
    for other in (b"", b"not found", b"{}", PAGE):
        with pytest.raises(ClusterError):
            told(Answer(404, other))[0].node("win1")


def test_another_object_is_not_the_one_that_was_asked_for() -> None:
    with pytest.raises(ClusterError, match="but not with the object win1 of nodes"):
        told(Answer(200, as_api("GET", "/api/v1/nodes/win2", 200, {})))[0].node("win1")


def test_what_may_be_a_secret_is_not_shown() -> None:
    cut = Answer(200, b'{"kind":"Secret","data":{"token":"c2VjcmV0', 0, "application/json")
    with pytest.raises(ClusterError) as raised:
        told(cut)[0].get("/api/v1/namespaces/kube-system/secrets/a")
    assert "c2VjcmV0" not in str(raised.value) and "it may hold a secret" in str(raised.value)


def test_a_pods_log_is_no_page() -> None:
    path = "/api/v1/namespaces/a/pods/b/log"
    assert told(Answer(200, PAGE, 0, "text/plain"))[0].text(path) == PAGE.decode()
    with pytest.raises(ClusterError, match="but not with plain text: text/html"):
        told(Answer(200, PAGE, 0, "text/html"))[0].text(path)


def test_a_list_that_a_server_writes_as_null_is_empty() -> None:
    assert told(Answer(200, b'{"kind": "PodList", "items": null}'))[0].items(LIST) == []


def test_an_exit_status_that_is_too_deep_is_none() -> None:
    code, said = exit_status("[" * 100_000)
    assert code == -1 and "not an exit status" in said and len(said) < 200


def test_kinds_are_told_from_paths() -> None:
    """Endpoints, which is its own plural, is never requested."""
    assert all(plural_of(kind.name) == kind.plural for kind in ALL if kind.name != "Endpoints")
    assert json.loads(as_api("GET", LIST, 200, {}))["kind"] == "PodList"
    assert issubclass(StrangeAnswerError, ClusterError)
