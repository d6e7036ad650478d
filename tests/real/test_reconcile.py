"""Runs that are killed never take more Nodes of a real API server away than the budget, and leave nothing that the next
one does not mend. Runs in Jobs leave no pod that runs, and no controller deletes one in mid-run."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.real.controller_manager import COLLECTOR
from tests.reconcile import apiserver, jobs, real
from tests.reconcile.kubelet import Process


@pytest.mark.skipif(
    not apiserver.is_there(),
    reason="lane real: kube-apiserver and etcd are not there; `python -m tests.real.build kubernetes etcd` builds them",
)
def test_no_eviction_over_the_budget_and_no_mark_that_stays(tmp_path: Path) -> None:
    found = real.spend(tmp_path, seed=2, kills=8, log=lambda line: None)
    assert (found["killed"], found.get("failed", 0)) == (8, 0), found
    assert found["evictions"] > 0 and found["over_budget"] == 0 and found["most_away"] <= real.BUDGET, found
    assert (found["marks_left"], found["cordoned_left"]) == (0, 0), found


@pytest.mark.skipif(bool(jobs.missing()), reason=f"lane real: `{jobs.missing()}` builds what is not there")
def test_a_killed_run_in_a_job_leaves_no_pod_that_runs(tmp_path: Path) -> None:
    found = jobs.spend(tmp_path, lambda line: None, (jobs.killed, jobs.as_shipped))
    assert (found["jobs"], found["collected"], found["pods_running_after_5_min"]) == (3, 1, 0), found
    assert found["strange_ones_collected"] >= found["jobs"], found
    assert [name for name in jobs.WRONG if found[name]] == [], found


def deletion(at: str, who: str, name: str = "winkube-win1") -> dict[str, Any]:
    return {
        "requestReceivedTimestamp": f"2026-11-29T12:00:{at}.000000Z",
        "user": {"username": who},
        "objectRef": {"resource": "pods", "name": name},
        "responseStatus": {"code": 200},
    }


def test_the_judge_sees_a_pod_that_a_controller_deletes_in_mid_run() -> None:
    with subprocess.Popen(["true"], stdin=subprocess.PIPE, text=True) as ended:
        run = Process(ended, ended_at=datetime(2026, 11, 29, 12, 0, 30, tzinfo=UTC).timestamp())
        tally = jobs.Tally(made={"winkube-win1": jobs.Maker(run, "keep-1")})
    after = jobs.judge([deletion("31", COLLECTOR), deletion("20", "admin")], tally)
    assert (after["collected"], after["deleted_in_mid_run"]) == (1, 0)
    assert jobs.judge([deletion("29", COLLECTOR)], tally)["deleted_in_mid_run"] == 1
    ending = jobs.judge([deletion("28", COLLECTOR, "keep-1"), deletion("29", COLLECTOR)], tally)
    assert (ending["deleted_in_mid_run"], ending["deleted_while_ending"]) == (0, 1)
    run.ended_at = None
    assert jobs.judge([deletion("31", COLLECTOR)], tally)["deleted_in_mid_run"] == 1


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
