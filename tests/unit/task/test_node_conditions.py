"""The conditions of a Node are made from the record of the run, and a cluster that does not take them ends no run."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from ansible_collections.winkube.node.plugins.action.k8s_windows_conditions import ActionModule
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.records import NODE, NodeObject
from ansible_collections.winkube.node.plugins.plugin_utils.record.node_record import (
    Added,
    Failure,
    NodeRecord,
    Repair,
    Step,
    add,
)
from ansible_collections.winkube.node.plugins.plugin_utils.task.node_conditions import (
    judge_health,
    judge_repairs,
    list_conditions,
)
from ansible_collections.winkube.node.plugins.plugin_utils.task.recorded import Adding
from ansible_collections.winkube.node.plugins.plugin_utils.task.screen import Screen

from tests.unit.action_task import HOST, give_run, give_task

MENDED = Repair(cause="restart", mended=True)
LEFT = Repair(cause="rejoin", mended=False, left_to=("join", "kubelet"))
VAIN = Repair(cause="flannel.subnet-env-stale", mended=False, why="it was rolled back")


def node(*told: str, reason: str = "") -> NodeObject:
    conditions = [{"type": each, "status": "Unknown" if reason else "True", "reason": reason} for each in told]
    return NODE({"metadata": {"name": "win1", "uid": "u1"}, "status": {"conditions": conditions}}, "")


def record(*repairs: Repair, planned: Mapping[str, tuple[Step, ...]] | None = None) -> NodeRecord:
    found = NodeRecord(host="win1")
    for each in repairs:
        found = add(found, Added(run="r", host="win1", task="t", about="repair", repair=each))
    return add(found, Added(run="r", host="win1", planned=planned or {}))


@pytest.mark.parametrize(
    ("repairs", "told", "shown"),
    [
        ((VAIN,), (), [("False", "FlannelSubnetEnvStale")]),
        ((VAIN, MENDED), (), [("True", "NothingInVain")]),
        ((MENDED, VAIN), ("winkube.node/Healthy",), [("False", "FlannelSubnetEnvStale")]),
        ((LEFT, VAIN), (), [("False", "FlannelSubnetEnvStale")]),
        ((), (), [("True", "NothingInVain")]),
        ((), ("winkube.node/Healthy",), []),
    ],
)
def test_health_is_that_of_the_last_repair(
    repairs: tuple[Repair, ...], told: tuple[str, ...], shown: list[tuple[str, str]]
) -> None:
    found = judge_health(record(*repairs), node(*told))
    assert [(each.status, each.reason) for each in found] == shown
    assert all("it was rolled back" in each.message for each in found if each.status == "False")


def test_a_repair_that_leaves_its_work_to_roles_is_not_mended_before_they_have_run() -> None:
    """One that fails, or another component, does not count."""
    found = record(LEFT)

    def told(about: str = "", failure: Failure | None = None) -> tuple[str, str, tuple[str, ...]]:
        nonlocal found
        found = add(found, Added(run="r", host="win1", task=about, about=about, ends=bool(about), failure=failure))
        (said,) = judge_repairs(found)
        return said.status, said.reason, found.repairs[0].left_to

    assert told() == told("cni") == ("Unknown", "LeftToRoles", ("join", "kubelet"))
    assert told("join") == ("Unknown", "LeftToRoles", ("kubelet",))
    failed = Failure(state="failed", task="Configure the kubelet", reason="no")
    assert told("kubelet", failed) == ("Unknown", "LeftToRoles", ("kubelet",))
    assert not found.repairs[0].mended
    assert told("kubelet") == ("True", "NothingInVain", ())
    assert found.repairs[0].mended


@pytest.mark.parametrize("repairs", [(), (LEFT,)], ids=["an earlier run's", "this run's"])
@pytest.mark.parametrize("planned", [{}, {"kubelet": (Step(text="restart kubelet"),)}], ids=["nothing", "something"])
def test_a_node_of_which_nothing_is_left_is_well_though_no_run_saw_the_roles(
    repairs: tuple[Repair, ...], planned: Mapping[str, tuple[Step, ...]]
) -> None:
    found = judge_health(record(*repairs, planned=planned), node("winkube.node/Healthy", reason="LeftToRoles"))
    waits = ["LeftToRoles"] if repairs else []
    assert [each.reason for each in found] == (waits if planned else ["NothingInVain"])


def test_another_repair_does_not_do_what_an_earlier_one_has_left_to_roles() -> None:
    (told,) = judge_repairs(record(LEFT, MENDED))
    assert (told.status, told.reason) == ("Unknown", "LeftToRoles") and "rejoin" in told.message


def test_a_repair_in_vain_stays_so_where_nothing_is_left() -> None:
    assert judge_health(record(), node("winkube.node/Healthy", reason="FlannelMtu")) == []


def test_a_node_with_steps_left_says_so_and_nothing_of_its_health() -> None:
    steps = {"kubelet": (Step(text="restart kubelet"),)}
    (told,) = list_conditions(record(planned=steps), node())
    assert (told.type, told.status) == ("winkube.node/UpToDate", "False") and "restart kubelet" in told.message


def test_a_node_that_could_not_be_planned_is_unknown() -> None:
    failed = Added(
        run="r", host="win1", plans=True, failure=Failure(state="unreachable", task="Read the node", reason="no route")
    )
    (told,) = list_conditions(add(NodeRecord(host="win1"), failed), node())
    assert (told.status, told.message) == ("Unknown", "It could not be compared: it did not answer")


def test_a_cluster_that_refuses_the_write_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give_run(monkeypatch, tmp_path)
    said: list[str] = []
    monkeypatch.setattr(Screen, "warning", lambda _screen, text: said.append(text))
    cluster: Any = MagicMock()
    cluster.find_node.return_value = node()
    cluster.now.return_value = datetime(2026, 11, 29, tzinfo=UTC)
    cluster.patch.side_effect = ClusterError("nodes/status: forbidden", 403)
    action = ActionModule(*(MagicMock() for _argument in range(6)))
    give_task(action)
    action._task_vars, action.adds = HOST, Adding()
    monkeypatch.setattr(action, "open_cluster", lambda _access: cluster)
    monkeypatch.setattr(action, "recall_cluster", lambda _access: cluster)
    result = action.work({"cluster": {}, "node_name": "win1", "applied": "", "repair_alone": False})
    assert result == {"changed": False, "steps": []}
    assert cluster.patch.called
    assert said == ["The conditions of the Node win1 were not written: nodes/status: forbidden"]
