"""All checks on healthy nodes, and on nodes of which little is known; rows TS-19 and TS-20."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import file_key
from ansible_collections.winkube.node.plugins.plugin_utils.troubleshoot import table
from ansible_collections.winkube.node.plugins.plugin_utils.troubleshoot.evidence import InPod

from .scene import (
    broken,
    healthy,
)

ROWS = [f"TS-{number:02}" for number in range(1, 23)]
LIMITS = {"TS-14"}
"""What works on no Windows node."""


@pytest.mark.parametrize("overlay", [False, True], ids=["l2bridge", "overlay"])
def test_nothing_is_broken_on_a_healthy_node(overlay: bool) -> None:
    found = {result.check.id: result.answer for result in table.examine(healthy(overlay).evidence())}
    wrong = {name: answer.why for name, answer in found.items() if answer.verdict != "ok" and name not in LIMITS}
    assert wrong == {}
    assert {found[name].verdict for name in LIMITS} == {"known_limitation"}


@pytest.mark.row("TS-01", "TS-02", "TS-03", "TS-04", "TS-05", "TS-06", "TS-08", "TS-09", "TS-10", "TS-14")
@pytest.mark.row("TS-16", "TS-17", "TS-18", "TS-19", "TS-20", "TS-21")
def test_every_row_is_a_check_in_the_documents_order() -> None:
    assert [check.id for check in table.CHECKS if check.id.startswith("TS-")] == ROWS
    assert len({check.id for check in table.CHECKS}) == len(table.CHECKS)


@pytest.mark.row("TS-19")
def test_a_log_that_is_not_there() -> None:
    node = healthy()
    node.parts[file_key(r"C:\k\kubelet.log")] = {"exists": False}
    broken(node, "TS-19", r"There is no C:\k\kubelet.log")
    answer = healthy().answer("TS-19")
    assert answer.why.index("https://kubernetes.io/docs/tasks/debug/") < answer.why.index("collect_logs.yml")
    assert any(line.startswith(r"kubelet: C:\k\kubelet.log (") for line in answer.seen)


@pytest.mark.row("TS-20")
def test_what_a_bug_report_has_to_say() -> None:
    node = healthy()
    answer = node.answer("TS-20")
    assert "Kubernetes: v1.27.4" in answer.seen
    assert "Windows: Windows Server 2022 (10.0.20348.2582)" in answer.seen
    assert "container runtime: containerd://1.6.36" in answer.seen
    assert "#sig-windows" in answer.why
    assert "/sig windows" in answer.why
    node.no_cluster = "winkube_cluster.kubeconfig is empty."
    answer = node.answer("TS-20")
    assert answer.verdict == "cannot_tell"
    assert "container runtime" in answer.why


def test_a_machine_with_containerd_alone() -> None:
    node = healthy()
    node.expected = replace(node.expected, kubernetes=False)
    node.want(kubernetes_version="")
    node.no_cluster = "the node runs no Kubernetes."
    assert [one.check.id for one in table.wrong(table.examine(node.evidence()))] == []


def test_without_a_cluster_nothing_is_called_broken_that_is_not() -> None:
    node = healthy()
    node.no_cluster = "winkube_cluster.kubeconfig is empty."
    node.more = {"in_pod": InPod(why="no cluster")}
    results = table.examine(node.evidence())
    assert [one.check.id for one in table.wrong(results)] == []
    assert all(one.answer.run or one.answer.remedy for one in results if one.answer.verdict == "cannot_tell")


def test_a_check_that_stumbles_says_so_and_the_others_go_on() -> None:
    node = healthy()
    node.pods = [{"metadata": None, "status": {"containerStatuses": [{"restartCount": "many"}]}}]
    found = {one.check.id: one.answer for one in table.examine(node.evidence())}
    assert found["TS-06"].verdict == "cannot_tell"
    assert "could not make sense" in found["TS-06"].why
    assert found["TS-10"].verdict == "ok"
