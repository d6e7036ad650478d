"""Runs that are killed never take more Nodes of a real API server away than the budget, and leave nothing that the next
one does not mend."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.reconcile import apiserver, real


@pytest.mark.skipif(
    not apiserver.is_there(),
    reason="lane real: kube-apiserver and etcd are not there; `python -m tests.real.build kubernetes etcd` builds them",
)
def test_no_eviction_over_the_budget_and_no_mark_that_stays(tmp_path: Path) -> None:
    found = real.spend(tmp_path, seed=2, kills=8, log=lambda line: None)
    assert (found["killed"], found.get("failed", 0)) == (8, 0), found
    assert found["evictions"] > 0 and found["over_budget"] == 0 and found["most_away"] <= real.BUDGET, found
    assert (found["marks_left"], found["cordoned_left"]) == (0, 0), found


def event(at: str, name: str, version: int, *, cordoned: bool) -> dict[str, Any]:
    node = {"metadata": {"name": name, "resourceVersion": str(version)}, "spec": {"unschedulable": cordoned}}
    told = {"objectRef": {"resource": "nodes", "name": name}, "responseStatus": {"code": 200}, "responseObject": node}
    return {"stageTimestamp": at, "requestReceivedTimestamp": at, **told}


def eviction(at: str) -> dict[str, Any]:
    return {
        "stageTimestamp": f"{at}9",
        "requestReceivedTimestamp": at,
        "objectRef": {"resource": "pods", "subresource": "eviction"},
        "responseStatus": {"code": 201},
    }


def test_the_judge_sees_an_eviction_over_the_budget() -> None:
    cordons = [event(f"1{number}", f"win{number}", number, cordoned=True) for number in range(1, 4)]
    assert real.judge([*cordons[:2], eviction("13"), *cordons[2:]]) == {
        "evictions": 1,
        "over_budget": 0,
        "most_away": 3,
    }
    assert real.judge([*cordons, eviction("14")])["over_budget"] == 1
    back = event("14", "win1", 9, cordoned=False)
    assert real.judge([*cordons, back, eviction("15")])["over_budget"] == 0
