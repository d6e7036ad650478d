"""What is said of the services that a batch had touched before it was rolled back."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.registry import DAEMONS
from ansible_collections.winkube.node.plugins.plugin_utils.engine.answer import Answer, Result
from ansible_collections.winkube.node.plugins.plugin_utils.engine.batch import Batch, Op
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Query, Reading, http_query, service_key
from ansible_collections.winkube.node.plugins.plugin_utils.engine.tools import sc
from ansible_collections.winkube.node.plugins.plugin_utils.node.link import NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.task.rolled_back import Touched, explain, list_touched

from tests.unit.components.nodes import LAYOUT

URL = "http://127.0.0.1:10248/healthz"
KUBELET = Touched("kubelet", URL, True, r"C:\k\kubelet.log")
BATCH = Batch("kubelet", (Op("write", {"path": "x"}), sc("stop", "kubelet"), sc("start", "kubelet")))


def said(touched: Sequence[Touched], outcome: str = "done", log: str = "") -> str:
    def send(batch: Batch, _batch_id: str) -> Answer:
        assert [op.op for op in batch.ops] == ["wait"]
        return Answer("accepted", outcome=outcome)

    def probe(queries: Sequence[Query]) -> Mapping[str, Any]:
        return {query.key: {"tail": base64.b64encode(log.encode()).decode()} for query in queries}

    return explain(touched, send, probe)


def test_the_three_outcomes() -> None:
    assert said([KUBELET]) == "Rolled back, healthy."
    ill = Touched("kubelet", URL, False, "")
    assert said([ill]) == "Rolled back; it was not healthy before, either (kubelet)."
    assert said([KUBELET], "undone", "one\nfailed to load\n\n") == (
        "Rolled back, but kubelet does not answer: failed to load"
    )
    assert said([KUBELET], "undone") == "Rolled back, but kubelet does not answer."


def test_of_what_nobody_knows_nothing_is_said() -> None:
    assert said([]) == ""
    assert said([Touched("containerd", "", None, "")]) == ""


def test_a_node_that_is_lost_meanwhile_is_not_called_ill() -> None:
    def lost(_batch: Batch, _batch_id: str) -> Answer:
        raise NodeError("gone")

    assert explain([KUBELET], lost, lambda _queries: {}) == ""


@pytest.mark.parametrize(
    ("state", "status", "ran", "found"),
    [
        ("running", 200, (0, 1), [("kubelet", True)]),
        ("running", 500, (0, 1), [("kubelet", False)]),
        ("running", 200, (0,), []),
        ("stopped", 200, (0, 1), []),
    ],
)
def test_only_services_that_ran_and_that_the_batch_came_to(
    state: str, status: int, ran: tuple[int, ...], found: list[tuple[str, bool]]
) -> None:
    service = {"state": state, "image_path": rf"{LAYOUT.kubelet_binary} --v=1"}
    parts = {
        "services": {},
        service_key("kubelet"): service,
        http_query(URL, "kubelet").key: {"status": status},
    }
    answer = Answer("accepted", results=tuple(Result(n, "run", True) for n in ran))
    touched = list_touched(BATCH, answer, Reading(parts=parts), LAYOUT, tuple(DAEMONS.values()))
    assert [(each.name, each.healthy) for each in touched] == found
