"""win_k8s_provisioner with a node that answers as it is told: planned again where it is not as it was read."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.action.win_k8s_provisioner import ActionModule
from ansible_collections.winkube.node.plugins.plugin_utils.components.asks import Asks
from ansible_collections.winkube.node.plugins.plugin_utils.components.shared_options import SharedOptions
from ansible_collections.winkube.node.plugins.plugin_utils.engine.answer import Answer, Result, Stale
from ansible_collections.winkube.node.plugins.plugin_utils.engine.batch import Batch
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Query
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.node.link import NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.task.argument_spec import check_arguments
from ansible_collections.winkube.node.plugins.plugin_utils.task.task_node import TaskNode

from tests.lab.machine.builds import build
from tests.unit.components.nodes import LAYOUT, Controller, file
from tests.unit.provision.test_provision import service

EXE = r"C:\k\kubelet.exe"
PREVIOUS = f"{EXE}.winkube-previous"
OLD, NEW = build("kubelet", "1.28.4"), build("kubelet", "1.29.0")
STALE = Answer("stale", stale=(Stale("system", "b-2", "b-1"),))
DONE = Answer("accepted", "1", "done")
BACK: dict[str, Any] = {"name": "kubelet", "state": "previous"}
PUSH: dict[str, Any] = {
    "name": "kubelet",
    "sourceURL": "http://xyz/kubelet.exe",
    "checksum": f"sha256:{file(NEW)['sha256']}",
    "overwrite": True,
}
SYSTEM = {"machine": "m-1", "boot_id": "b-1", "elevated": True, "os": {"build": 20348, "architecture": "amd64"}}


class Link:
    """A node with a kubelet, and the one before it. It gives these answers to batches in turn, then does them; what it
    answers comes with the programs as they would be then."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.told: list[str] = []
        self.files = {EXE: file(OLD), PREVIOUS: file(NEW)}
        self.service = service()
        self.calls = 0

    def probe(self, queries: Sequence[Query]) -> dict[str, Any]:
        answers: dict[str, Any] = {}
        for query in queries:
            path = str(dict(query.args).get("path"))
            match query.op:
                case "system":
                    self.told.append("read")
                    answers[query.key] = SYSTEM
                case "services":
                    answers[query.key] = [self.service]
                case _:
                    answers[query.key] = self.files.get(path, {"exists": False})
        return answers

    def apply(self, batch: Batch, _batch_id: str, _runner: str | None) -> Answer:
        ran = [n for n, op in enumerate(batch.ops) if op.op == "run" and "--version" in op.args["args"]]
        away = {op.op for op in batch.ops} == {"remove"}
        self.told.append("stage" if ran else "take away" if away else "swap")
        answer = self.answers.pop(0) if self.answers else DONE
        if answer.answer == "stale":
            return answer
        results = tuple(Result(n, "run", True, 0, "Kubernetes v1.29.0") for n in ran)
        staged = {**file(NEW), "head": base64.b64encode(NEW[:4096]).decode()}
        state = {query.key: staged for query in batch.state if ran}
        return replace(answer, results=results, state=state)


def push(link: Link, tmp_path: Path, *, check: bool = False, **given: Any) -> dict[str, Any]:
    """What the action returns for this node."""
    task: Any = SimpleNamespace(check_mode=check, diff=False, delegate_to=None, loop=None, run_once=False)
    loader = SimpleNamespace(get_basedir=lambda: str(tmp_path))
    action: Any = ActionModule(task, None, None, loader, None, None)
    action._task_vars = {"inventory_hostname": "win1"}
    node: Any = link
    action._node = TaskNode(node, LAYOUT, "win1", None, print, check)
    action._asks, action._shared = Asks(Controller(), "win1"), SharedOptions()
    node_option = {"state_dir": LAYOUT.state_dir}
    result: dict[str, Any] = action.work(check_arguments("win_k8s_provisioner", {"node": node_option, **given}), LAYOUT)
    return result


@pytest.mark.parametrize("times", [1, 2])
def test_a_swap_that_finds_another_node_is_planned_again_from_a_new_reading(tmp_path: Path, times: int) -> None:
    link = Link(*[STALE] * times)
    result = push(link, tmp_path, **BACK)
    assert link.told == ["read", "swap"] * (times + 1)
    assert result["changed"] and [each["result"] for each in result["provisioners"]] == ["went_back"]


def test_what_has_changed_meanwhile_is_in_the_new_plan(tmp_path: Path) -> None:
    """Somebody else went back first: nothing is left to do."""

    class Overtaken(Link):
        def apply(self, batch: Batch, batch_id: str, runner: str | None) -> Answer:
            self.files = {EXE: file(NEW), PREVIOUS: file(OLD)}
            return super().apply(batch, batch_id, runner)

    link = Overtaken(STALE)
    result = push(link, tmp_path, **PUSH)
    assert link.told == ["read", "swap", "read"]
    assert not result["changed"] and [each["result"] for each in result["provisioners"]] == ["unchanged"]


def test_a_new_program_that_could_not_be_put_beside_the_old_one_is_brought_again(tmp_path: Path) -> None:
    link = Link(STALE)
    del link.files[PREVIOUS]
    assert push(link, tmp_path, **PUSH)["changed"]
    assert link.told == ["read", "stage", "read", "stage", "swap"]


def test_a_node_that_changes_again_and_again_ends_the_task_with_what_it_said(tmp_path: Path) -> None:
    link = Link(STALE, STALE, STALE)
    with pytest.raises(
        NodeError, match=r"provisioner: the node has changed since it was read: .*b-2.*\. It was planned 3 times"
    ):
        push(link, tmp_path, **BACK)
    assert link.told == ["read", "swap"] * 3


@pytest.mark.parametrize("check", [True, False])
def test_a_program_that_would_not_start_is_refused_and_taken_away_where_it_was_brought(
    tmp_path: Path, check: bool
) -> None:
    """Check mode brings nothing, and sent the batch that takes it away all the same."""
    link = Link()
    del link.files[PREVIOUS]
    link.service["image_path"] = f"{EXE} --network-plugin=cni"
    with pytest.raises(Refused, match=r"kubelet 1\.29\.0 would not start as the service kubelet starts it"):
        push(link, tmp_path, check=check, version="1.29.0", **PUSH)
    assert link.told == (["read"] if check else ["read", "stage", "take away"])
