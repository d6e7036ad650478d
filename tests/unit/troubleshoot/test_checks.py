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


MESSAGES = [
    ("TS-04", "failed to parse kubelet flag: unknown flag: --network-plugin"),
    ("TS-04", "flag provided but not defined: -iface"),
    ("TS-06", "web-1   0/1   ContainerCreating   0   9m"),
    ("TS-06", "Back-off: CrashLoopBackOff"),
    ("TS-06", "Warning FailedCreatePodSandBox 3m kubelet"),
    ("TS-06", "The container operating system does not match the host operating system."),
    ("TS-06", "hcsshim::CreateComputeSystem: (0xc0370101)"),
    ("TS-12", "flannel: waiting for the network to be created"),
    ("TS-13", "open /run/flannel/subnet.env: The system cannot find the path specified."),
    ("TS-13", "flannel: subnet.env: no such file or directory"),
    ("TS-15", "no network adapter was found when starting the kubelet"),
    ("TS-15", "Virtual network creation has failed"),
    ("TS-16", "Resolve-DnsName : web : DNS name does not exist"),
    ("TS-17", "error: unable to do port forwarding: wincat not found"),
    ("TS-17", "exec: wincat.exe: executable file not found in %PATH%"),
    ("TS-18", "proxyconnect tcp: dial tcp 10.0.0.9:3128: i/o timeout"),
    ("TS-18", "HTTP/1.1 407 Proxy Authentication Required"),
    ("TS-21", '"usageNanoCores": 0'),
]


@pytest.mark.parametrize(
    ("check", "message"), [pytest.param(*each, marks=pytest.mark.row(each[0])) for each in MESSAGES]
)
def test_what_people_see_leads_to_its_check(check: str, message: str) -> None:
    assert [found.id for found in table.about(message)] == [check]


@pytest.mark.row("TS-19")
def test_a_log_that_is_not_there() -> None:
    node = healthy()
    node.parts[file_key(r"C:\k\kubelet.log")] = {"exists": False}
    broken(node, "TS-19", r"There is no C:\k\kubelet.log")
    answer = healthy().answer("TS-19")
    assert "debug/, then the pages for Windows; playbooks/collect_logs.yml gathers the logs" in answer.why
    assert answer.why.index("https://kubernetes.io/docs/tasks/debug/") < answer.why.index("collect_logs.yml")
    assert any(line.startswith(r"kubelet: C:\k\kubelet.log (") for line in answer.seen)


@pytest.mark.row("TS-20")
def test_what_a_bug_report_has_to_say() -> None:
    node = healthy()
    answer = node.answer("TS-20")
    assert "Kubernetes: v1.27.4" in answer.seen
    assert "Windows: Windows Server 2022 (10.0.20348.2582)" in answer.seen
    assert "container runtime: containerd://1.6.36" in answer.seen
    assert "network: l2bridge, managed by the service" in answer.seen
    assert "#sig-windows on the Kubernetes Slack (https://slack.k8s.io)" in answer.why
    assert answer.why.endswith("https://github.com/kubernetes/kubernetes/issues and comment /sig windows.")
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
