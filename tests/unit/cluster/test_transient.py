"""Temporary errors: which requests are repeated, for how long, and what is never done twice."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.client import Cluster, wait_for
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.connection import Connection
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import BUDGET, ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.engine.clock import Clock
from ansible_collections.winkube.node.plugins.plugin_utils.engine.waiting import Wait

from tests.unit.cluster.fake import as_api

Answer = tuple[int, dict[str, Any]] | tuple[int, dict[str, Any], float]
POD = {"kind": "Pod", "metadata": {"name": "p", "labels": {"run": "7"}}}
ONE, TWO = ({"kind": "Pod", "metadata": {"name": "x", "uid": uid}} for uid in ("1", "2"))
BUSY: Answer = (503, {"message": "busy"})
LOST = ClusterError("https://api cannot be asked: reset.", passing=True)


class Told:
    """A cluster that gives these answers, the last one again and again; time is what was slept."""

    def __init__(self, *answers: Answer | ClusterError) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.slept: list[float] = []
        self.cluster = Cluster(lambda: Connection("https://api", b"", self.send))
        self.cluster.clock = Clock(lambda: sum(self.slept), self.slept.append)

    def send(self, method: str, path: str, body: Any, content_type: str) -> tuple[int, bytes, float]:
        self.asked.append(f"{method} {path}")
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(found, ClusterError):
            raise found
        after = found[2] if len(found) == 3 else 0.0
        return found[0], as_api(method, path, *found[:2]), after


@pytest.mark.parametrize("failure", [BUSY, (429, {}), (500, {}), (502, {}), (504, {}), LOST])
def test_a_transient_error_ends_nothing(failure: Answer | ClusterError) -> None:
    told = Told((200, ONE), failure, failure, (200, TWO))
    assert told.cluster.get("/api/v1/pods/x") == ONE
    assert told.cluster.get("/api/v1/pods/x") == TWO
    assert told.slept == [0.5, 1.0], "with growing pauses"


def test_the_servers_own_pause_is_kept() -> None:
    told = Told((429, {}, 7.0), (200, {}))
    told.cluster.get("/api/v1/pods/x")
    assert told.slept == [7.0]


def test_it_gives_up_and_names_the_last_error() -> None:
    told = Told((200, {}), LOST, BUSY)
    told.cluster.get("/api/v1/pods/x")
    with pytest.raises(
        ClusterError, match=r"Gave up after \d+ s, the last error was: GET .* with 503: busy"
    ) as gave_up:
        told.cluster.get("/api/v1/pods/x")
    assert gave_up.value.passing and 40 < sum(told.slept) <= 60


def test_a_server_that_never_answered_is_not_asked_for_a_minute() -> None:
    told = Told(LOST)
    with pytest.raises(ClusterError, match="cannot be asked"):
        told.cluster.get("/api/v1/pods/x")
    assert 0 < sum(told.slept) <= 3


@pytest.mark.parametrize("status", [400, 401, 403, 409, 422])
def test_a_refusal_is_final(status: int) -> None:
    told = Told((status, {"message": "no"}))
    with pytest.raises(ClusterError):
        told.cluster.create("/api/v1/pods", POD)
    assert len(told.asked) == 1


def test_a_budget_that_refuses_an_eviction_is_not_asked_again() -> None:
    refusal = {"message": "disruption budget", "details": {"causes": [{"reason": BUDGET}]}}
    told = Told((200, {}), (429, refusal))
    told.cluster.get("/api/v1/pods/x")
    with pytest.raises(ClusterError, match="disruption budget") as refused:
        told.cluster.create("/api/v1/namespaces/n/pods/p/eviction", {})
    assert len(told.asked) == 2 and refused.value.is_budget


@pytest.mark.parametrize("details", [None, {}, {"causes": None}, {"causes": "x"}, {"causes": ["x", {"reason": "y"}]}])
def test_another_429_to_an_eviction_is_no_budgets(details: Any) -> None:
    """Failed before: a limit of a proxy, or of priority and fairness, was told as a PodDisruptionBudget."""
    path = "/api/v1/namespaces/n/pods/p/eviction"
    busy = {"message": "the server has received too many requests", "details": details}
    told = Told((429, busy), (201, {"kind": "Status", "status": "Success"}))
    told.cluster.create(path, {})
    assert told.asked == [f"POST {path}"] * 2
    for_ever = Told(*[(429, busy)] * 99)
    with pytest.raises(ClusterError, match="too many requests") as refused:
        for_ever.cluster.create(path, {})
    assert not refused.value.is_budget


def test_what_was_made_by_an_attempt_without_an_answer_is_ours() -> None:
    told = Told(LOST, (409, {"message": "exists"}), (200, POD | {"kind": "Pod", "spec": {}}))
    assert told.cluster.create("/api/v1/pods", POD) == POD | {"kind": "Pod", "spec": {}}
    assert told.asked == ["POST /api/v1/pods", "POST /api/v1/pods", "GET /api/v1/pods/p"]


@pytest.mark.parametrize("there", [{"labels": {"run": "8"}}, {}])
def test_what_somebody_else_has_made_is_not(there: dict[str, Any]) -> None:
    told = Told(LOST, (409, {"message": "exists"}), (200, {"metadata": {"name": "p", **there}}))
    with pytest.raises(ClusterError, match="exists") as conflict:
        told.cluster.create("/api/v1/pods", POD)
    assert conflict.value.status == 409
    at_once = Told((409, {"message": "exists"}))
    with pytest.raises(ClusterError):
        at_once.cluster.create("/api/v1/pods", POD)
    assert len(at_once.asked) == 1, "without a lost answer nothing can be ours"


def failing(until: int) -> Callable[[], str | None]:
    number = count()

    def what() -> str | None:
        if next(number) < until:
            raise ClusterError("no answer.", passing=True)
        return "found"

    return what


def test_waiting_goes_on_and_says_at_its_end_what_the_last_attempt_said() -> None:
    slept: list[float] = []
    clock = Clock(lambda: sum(slept), slept.append)
    assert wait_for(Wait("waiting", clock), 10, failing(5)) == "found"
    with pytest.raises(ClusterError, match=r"The pods did not come\. The last attempt: no answer\."):
        wait_for(Wait("waiting", clock), 10, failing(50), "The pods did not come.")
