"""win_containers_info: which programs of a node it starts, with which arguments, and what it makes of their answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.action.win_containers_info import ActionModule
from ansible_collections.winkube.node.plugins.plugin_utils.engine.answer import Answer
from ansible_collections.winkube.node.plugins.plugin_utils.engine.batch import Batch
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Query
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.task.task_node import TaskNode

from tests.unit.answers import answered
from tests.unit.components.nodes import LAYOUT, bare
from tests.unit.cri.test_host_tools import ENDPOINT, ID, IPCONFIG, LABELS, TASKLIST, TASKS, WHOLE_HOSTS

BIN = r"C:\Program Files\containerd\bin"
CRICTL = rf"{BIN}\crictl.exe"
PIPE = "npipe:////./pipe/containerd-containerd"
RUNNING = {"name": "vmcompute", "state": "running"}
HNS = {"available": True, "endpoints": json.dumps({"Success": True, "Output": [{"Name": ENDPOINT, "IPAddress": ""}]})}


class Node:
    """Answers the programs that a batch starts, and keeps their command lines."""

    def __init__(self, *, tasks: str = TASKS, shim: bool = True, services: Sequence[dict[str, Any]] = (RUNNING,)):
        self.ran: list[list[str]] = []
        self.calls = 1
        self.tasks = tasks
        self.services = services
        shim_path = rf"{BIN}\containerd-shim-runhcs-v1.exe"
        self.files = {rf"{BIN}\ctr.exe", CRICTL, *([shim_path] if shim else [])}

    def probe(self, queries: Sequence[Query]) -> dict[str, Any]:
        there = {"exists": True, "kind": "file"}
        files = {query.key: there for query in queries if dict(query.args).get("path") in self.files}
        hns = {query.key: HNS for query in queries if query.op == "hns"}
        services = {query.key: list(self.services) for query in queries if query.op == "services"}
        return {**bare(tuple(queries)).parts, **files, **hns, **services}

    def apply(self, batch: Batch, batch_id: str, runner: str | None) -> Answer:
        lines = [[str(op.args["program"]), *op.args["args"]] for op in batch.ops]
        self.ran += lines
        results = [{"stdout": self._says(line)} for line in lines]
        return answered({"outcome": "done", "results": results})

    def _says(self, line: Sequence[str]) -> str:
        said: Mapping[str, str] = {
            "ctr.exe": self.tasks,
            "tasklist.exe": TASKLIST,
            "crictl.exe": json.dumps({"containers": [{"id": ID, "labels": LABELS}]} if "ps" in line else {"items": []}),
            "hcsdiag.exe": WHOLE_HOSTS if "read" in line else IPCONFIG,
        }
        return said[line[0].rpartition("\\")[2]]


def looked(node: Node, **options: Any) -> dict[str, Any]:
    """What the action returns for this node."""
    task: Any = SimpleNamespace(check_mode=False, delegate_to=None)
    action: Any = ActionModule(task, *(None,) * 5)
    action._task_vars = {"inventory_hostname": "win1"}
    link: Any = node
    action._node = TaskNode(link, LAYOUT, "win1", None, print)
    given = {"containers": [], "hcsdiag": True, "cluster_domain": "cluster.local", **options}
    result: dict[str, Any] = action.work(given, LAYOUT)
    return result


@pytest.mark.row("CT-24", "CT-25", "CT-21", "CT-27")
def test_these_programs_are_started_and_no_others() -> None:
    node = Node()
    looked(node)
    assert node.ran == [
        [rf"{BIN}\ctr.exe", "--address", r"\\.\pipe\containerd-containerd", "--namespace", "k8s.io", "task", "ls"],
        [r"C:\Windows\System32\tasklist.exe", "/V", "/FO", "CSV", "/NH"],
        [CRICTL, "--runtime-endpoint", PIPE, "pods", "-o", "json"],
        [CRICTL, "--runtime-endpoint", PIPE, "ps", "-a", "-o", "json"],
        [r"C:\Windows\System32\hcsdiag.exe", "read", ID, r"C:\Windows\System32\drivers\etc\hosts"],
        [r"C:\Windows\System32\hcsdiag.exe", "exec", ID, "ipconfig"],
    ]


@pytest.mark.row("CT-25", "CT-27")
def test_a_container_with_its_process_and_what_is_in_it() -> None:
    found = looked(Node())
    (container,) = found["containers"]
    assert (container["pid"], container["process"]["name"]) == (24436, "pwsh.exe")
    assert container["pod_ips"] == ["10.1.18.67"]
    assert [adapter["network"] for adapter in container["adapters"]] == ["Calico"]
    without = Node()
    assert looked(without, hcsdiag=False)["containers"][0]["adapters"] == []
    assert not any("hcsdiag" in line[0] for line in without.ran)


@pytest.mark.row("CT-27")
def test_a_container_is_looked_into_by_its_whole_id_alone() -> None:
    node = Node()
    with pytest.raises(Refused, match="containers: '03f68fd87079' is not a container id"):
        looked(node, containers=[ID[:12]])
    assert node.ran == []
    other = looked(node, containers=["0" * 64])
    assert other["containers"] == [] and f"containerd has no task {'0' * 64}." in other["notes"]


@pytest.mark.row("CT-24")
def test_a_task_that_does_not_run_is_not_looked_into() -> None:
    node = Node(tasks=TASKS.replace("RUNNING", "STOPPED"))
    (container,) = looked(node)["containers"]
    assert (container["status"], container["pid"]) == ("STOPPED", 24436)
    assert not any("hcsdiag" in line[0] for line in node.ran)


@pytest.mark.row("CT-26")
def test_what_is_wrong_below_containerd_is_among_the_findings() -> None:
    assert not any("vmcompute" in finding for finding in looked(Node())["findings"])
    stopped = looked(Node(shim=False, services=[RUNNING | {"state": "stopped"}]))["findings"]
    assert stopped[0].startswith(rf"There is no {BIN}\containerd-shim-runhcs-v1.exe")
    assert stopped[1].startswith("The service vmcompute (Host Compute Service)")
