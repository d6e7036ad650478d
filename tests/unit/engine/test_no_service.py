"""A service that should not exist: stopped, removed, and recreated exactly if something fails."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine.batch import Op
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import make_plan, reads_for_undo
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, services_query
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.service import NoService

FLANNELD: dict[str, Any] = {
    "name": "flanneld",
    "display_name": "flanneld",
    "image_path": r'"C:\Program Files\nssm\nssm.exe"',
    "start": 2,
    "delayed": True,
    "account": "LocalSystem",
    "depends_on": ["hns"],
    "environment": [],
    "state": "running",
    "deleting": False,
    "failure": {"reset_s": 3600, "actions": [["restart", 5000], ["none", 0]], "non_crash": True},
    "nssm": {
        "Application": r"C:\flannel\flanneld.exe",
        "AppParameters": "--kube-subnet-mgr",
        "AppEnvironmentExtra": ["NODE_NAME=win1"],
        "AppThrottle": 1500,
        "AppExit": "Restart",
    },
}
KEY = r"HKLM\SYSTEM\CurrentControlSet\Services\flanneld"
GONE = NoService("flanneld", program=r"C:\flannel\flanneld.exe")


def node(*services: dict[str, Any]) -> Reading:
    system = {"machine": "m-1", "boot_id": "b-1"}
    return Reading(parts={"system": system}).merge({"services": list(services)}, (services_query(("flanneld",)),))


ANSWERS = {
    "confidential:registry:flanneld": {
        "exists": True,
        "values": {"Description": {"type": "string"}, "ImagePath": {"type": "expand_string"}},
        "keys": ["Parameters"],
    },
    "confidential:security:flanneld": {"exists": False},
}
"""To the queries for the undo: which values there are, none of them itself."""


def ops(reading: Reading, wanted: NoService = GONE) -> tuple[Op, ...]:
    made = make_plan("flannel", (wanted,), reading).batch
    return made.ops if made else ()


def test_where_there_is_none_nothing_is_done() -> None:
    assert ops(node()) == ()


@pytest.mark.row("SV-19")
def test_it_is_stopped_removed_with_its_own_tool_and_waited_for() -> None:
    found = ops(node(FLANNELD).merge(ANSWERS))
    said = [op.args.get("args") or (op.args["for"], op.args.get("state") or op.args.get("path")) for op in found]
    assert said == [
        ["stop", "flanneld"],
        ("service", "stopped"),
        ("process_gone", r"C:\flannel\flanneld.exe"),
        ["remove", "flanneld", "confirm"],
        ("service", "absent"),
    ]
    assert found[3].args["program"] == r"C:\Program Files\nssm\nssm.exe"
    made = make_plan("flannel", (GONE,), node(FLANNELD).merge(ANSWERS))
    assert [step.text for step in made.steps] == ["remove the service flanneld"]
    assert made.predicted.service("flanneld") is None


@pytest.mark.row("SV-19")
def test_a_service_of_sc_exe_is_deleted_by_it() -> None:
    plain = {**FLANNELD, "nssm": None, "image_path": r"C:\flannel\flanneld.exe --x", "state": "stopped"}
    found = ops(node(plain).merge(ANSWERS))
    assert [op.args.get("args") for op in found] == [["delete", "flanneld"], None]
    assert found[0].args["ok_exit"] == [0, 1060, 1072]


@pytest.mark.row("SV-19", "SV-17")
def test_the_undo_makes_it_again_as_it_was_and_only_then_starts_it() -> None:
    found = ops(node(FLANNELD).merge(ANSWERS))
    undo = [op for done in reversed(found) for op in done.undo]
    create = undo[0]
    assert create.op == "wait", "as long as somebody holds the old one open there can be no new one (1072)"
    assert create.args["args"] == [
        "create",
        "flanneld",
        "binPath=",
        r'"C:\Program Files\nssm\nssm.exe"',
        "type=",
        "own",
        "start=",
        "delayed-auto",
        "DisplayName=",
        "flanneld",
        "depend=",
        "hns",
    ]
    assert create.args["ok_exit"] == [0, 1073], "still there: the power went before it was removed"
    values = {
        (op.args["path"], op.args["name"]): op.args.get("present") or (op.args["type"], op.args["value"])
        for op in undo
        if "name" in op.args and op.op == "registry_set"
    }
    assert values == {
        (KEY, "Description"): True,
        (rf"{KEY}\Parameters", "Application"): ("expand_string", r"C:\flannel\flanneld.exe"),
        (rf"{KEY}\Parameters", "AppParameters"): ("expand_string", "--kube-subnet-mgr"),
        (rf"{KEY}\Parameters", "AppEnvironmentExtra"): True,
        (rf"{KEY}\Parameters", "AppThrottle"): ("dword", 1500),
        (rf"{KEY}\Parameters\AppExit", ""): ("string", "Restart"),
    }
    assert ["failure", "flanneld", "reset=", "3600", "actions=", "restart/5000//0"] in [
        op.args.get("args") for op in undo
    ]
    assert undo[-2].args["args"] == ["start", "flanneld"]


def test_which_values_it_has_is_read_and_no_value() -> None:
    reading = node(FLANNELD)
    assert [query.key for query in reads_for_undo((GONE,), reading)] == [
        "confidential:registry:flanneld",
        "confidential:security:flanneld",
    ]
    asked = dict(reads_for_undo((GONE,), reading)[0].args)
    assert asked["types"] is True
    assert "win1" not in str(reading.merge(ANSWERS).to_fact())
    assert reads_for_undo((GONE,), node()) == ()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"deleting": True}, "marked for deletion .*1072"),
        ({"nssm": {"Application": r"C:\other\flanneld.exe"}}, r"runs C:\\other\\flanneld.exe, not .*not ours"),
        ({"account": r"CORP\svc"}, r"runs as CORP\\svc.*password"),
    ],
)
def test_what_is_not_removed(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        ops(node({**FLANNELD, **change}))


def test_a_virtual_account_is_made_again() -> None:
    service = {**FLANNELD, "account": r"NT AUTHORITY\LocalService", "state": "stopped"}
    assert ops(node(service))[0].undo[0].args["args"][-2:] == ["obj=", r"NT AUTHORITY\LocalService"]


def test_what_something_depends_on_is_not_removed() -> None:
    proxy = {"name": "kube-proxy", "state": "running", "depends_on": ["Flanneld"]}
    with pytest.raises(Refused, match="kube-proxy depends on it"):
        ops(node(FLANNELD, proxy))


def test_the_runners_own_powershell_is_not_waited_for() -> None:
    """PrepareNode's kubelet is powershell.exe under nssm, and so is the runner that would wait for it."""
    powershell = r"C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe"
    service = {**FLANNELD, "nssm": {"Application": powershell}}
    waits = [op.args["for"] for op in ops(node(service), replace(GONE, program="")) if op.op == "wait"]
    assert waits == ["service", "service"]
