"""All checks on healthy nodes, and on nodes of which little is known; rows services.logs and help."""

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

LIMITS = {"traffic.service-ip"}
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
    assert len(table.CHECKS) >= 22
    assert len({check.id for check in table.CHECKS}) == len(table.CHECKS)


MESSAGES = [
    ("services.arguments", "failed to parse kubelet flag: unknown flag: --network-plugin"),
    ("services.arguments", "flag provided but not defined: -iface"),
    ("pod.stuck", "web-1   0/1   ContainerCreating   0   9m"),
    ("pod.stuck", "Back-off: CrashLoopBackOff"),
    ("pod.stuck", "Warning FailedCreatePodSandBox 3m kubelet"),
    ("pod.stuck", "The container operating system does not match the host operating system."),
    ("pod.stuck", "hcsshim::CreateComputeSystem: (0xc0370101)"),
    ("flannel.waits", "flannel: waiting for the network to be created"),
    ("flannel.lease", "open /run/flannel/subnet.env: The system cannot find the path specified."),
    ("flannel.lease", "flannel: subnet.env: no such file or directory"),
    ("host.adapter", "no network adapter was found when starting the kubelet"),
    ("host.adapter", "Virtual network creation has failed"),
    ("traffic.names", "Resolve-DnsName : web : DNS name does not exist"),
    ("pod.port-forward", "error: unable to do port forwarding: wincat not found"),
    ("pod.port-forward", "exec: wincat.exe: executable file not found in %PATH%"),
    ("host.proxy", "proxyconnect tcp: dial tcp 10.0.0.9:3128: i/o timeout"),
    ("host.proxy", "HTTP/1.1 407 Proxy Authentication Required"),
    ("pod.cpu-zero", '"usageNanoCores": 0'),
]


ROW = {
    "services.arguments": "TS-04",
    "pod.stuck": "TS-06",
    "flannel.waits": "TS-12",
    "flannel.lease": "TS-13",
    "host.adapter": "TS-15",
    "traffic.names": "TS-16",
    "pod.port-forward": "TS-17",
    "host.proxy": "TS-18",
    "pod.cpu-zero": "TS-21",
}


@pytest.mark.parametrize(
    ("check", "message"), [pytest.param(*each, marks=pytest.mark.row(ROW[each[0]])) for each in MESSAGES]
)
def test_what_people_see_leads_to_its_check(check: str, message: str) -> None:
    assert [found.id for found in table.about(message)] == [check]


@pytest.mark.row("TS-19")
def test_a_log_that_is_not_there() -> None:
    node = healthy()
    node.parts[file_key(r"C:\k\kubelet.log")] = {"exists": False}
    broken(node, "services.logs", r"There is no C:\k\kubelet.log")
    answer = healthy().answer("services.logs")
    assert "debug/, then the pages for Windows; playbooks/collect_logs.yml gathers the logs" in answer.why
    assert answer.why.index("https://kubernetes.io/docs/tasks/debug/") < answer.why.index("collect_logs.yml")
    assert any(line.startswith(r"kubelet: C:\k\kubelet.log (") for line in answer.seen)


@pytest.mark.row("TS-20")
def test_what_a_bug_report_has_to_say() -> None:
    node = healthy()
    answer = node.answer("help")
    assert "Kubernetes: v1.27.4" in answer.seen
    assert "Windows: Windows Server 2022 (10.0.20348.2582)" in answer.seen
    assert "container runtime: containerd://1.6.36" in answer.seen
    assert "network: l2bridge, managed by the service" in answer.seen
    assert "#sig-windows on the Kubernetes Slack (https://slack.k8s.io)" in answer.why
    assert answer.why.endswith("https://github.com/kubernetes/kubernetes/issues and comment /sig windows.")
    node.no_cluster = "winkube_cluster.kubeconfig is empty."
    answer = node.answer("help")
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
    assert found["pod.stuck"].verdict == "cannot_tell"
    assert "could not make sense" in found["pod.stuck"].why
    assert found["kube-proxy.hostname-override"].verdict == "ok"
