"""The programs of a node that tell of its containers: what is read before they are run, and their command lines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cri.containers import Task
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis import container_programs as programs
from ansible_collections.winkube.node.plugins.plugin_utils.engine.batch import Op
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused

from tests.unit.components.nodes import LAYOUT, bare

ID = "a" * 64
ELSEWHERE = replace(LAYOUT, containerd_binary=r"D:\runtime\containerd.exe", containerd_pipe="own", root=r"D:\k")


def command(op: Op) -> list[str]:
    return [op.args["program"], *op.args["args"]]


def test_an_id_that_is_none_is_refused() -> None:
    assert programs.check_ids([ID]) == [ID]
    with pytest.raises(Refused, match="containers: 'a; rm' is not a container id"):
        programs.check_ids([ID, "a; rm"])


def test_programs_are_looked_for_beside_containerd_and_ask_its_own_pipe() -> None:
    asked = {dict(query.args).get("path") for query in programs.reads(ELSEWHERE)}
    assert {r"D:\runtime\ctr.exe", r"D:\runtime\containerd-shim-runhcs-v1.exe", r"D:\runtime\crictl.exe"} <= asked
    assert programs.crictl_paths(ELSEWHERE) == (r"D:\runtime\crictl.exe", r"D:\k\crictl.exe")
    tasks, _processes = programs.list_tasks(ELSEWHERE)
    assert command(tasks)[:3] == [r"D:\runtime\ctr.exe", "--address", r"\\.\pipe\own"]
    for pods in programs.list_pods(ELSEWHERE, r"D:\k\crictl.exe"):
        assert command(pods)[:3] == [r"D:\k\crictl.exe", "--runtime-endpoint", "npipe:////./pipe/own"]


@pytest.mark.parametrize("identity", ["", "a" * 63, "A" * 64, f"{ID} & calc", f"..\\{ID}"])
def test_hcsdiag_gets_nothing_but_whole_ids(identity: str) -> None:
    read, execute = programs.look_inside(Task(ID, 7, "RUNNING"))
    assert (command(read)[1:3], command(execute)[1:]) == (["read", ID], ["exec", ID, "ipconfig"])
    with pytest.raises(ValueError, match="is not a container id"):
        programs.look_inside(Task(identity, 7, "RUNNING"))


@pytest.mark.parametrize(
    ("services", "status", "said"),
    [
        ([{"name": "vmcompute", "state": "running"}], "RUNNING", []),
        ([{"name": "vmcompute", "state": "stopped"}], "STOPPED", []),
        ([{"name": "vmcompute", "state": "stopped"}], "RUNNING", ["is stopped."]),
        ([], "STOPPED", ["is not there."]),
    ],
)
def test_windows_own_service_has_to_run_only_while_containers_do(
    services: list[dict[str, Any]], status: str, said: list[str]
) -> None:
    shim = next(query for query in programs.reads(LAYOUT) if "shim" in query.key)
    found = bare(programs.reads(LAYOUT), *services).merge({shim.key: {"exists": True, "kind": "file"}})
    judged = programs.judge_host(LAYOUT, found, [Task(ID, 7, status)])
    assert [sentence.partition(", which makes the containers, ")[2] for sentence in judged] == said


def test_a_shim_that_is_missing_is_told() -> None:
    found = bare(programs.reads(LAYOUT), {"name": "vmcompute", "state": "running"})
    (sentence,) = programs.judge_host(LAYOUT, found, [])
    assert sentence.startswith(rf"There is no {LAYOUT.containerd_bin_dir}\containerd-shim-runhcs-v1.exe")
