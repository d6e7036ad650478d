"""All checks on healthy nodes, and on nodes of which little is known; what a report of a bug has to say."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis import gather, table
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.table import report_of
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.tried import InPod
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import file_key
from ansible_collections.winkube.node.plugins.plugin_utils.words.messages import about

from tests.unit.components.nodes import wanted_node

from .nodes import (
    broken,
    fine,
    healthy,
    noted,
)

LIMITS = {"traffic.service-ip-host"}
"""What works on no Windows node."""


@pytest.mark.parametrize("overlay", [False, True], ids=["l2bridge", "overlay"])
def test_nothing_is_found_on_a_healthy_node(overlay: bool) -> None:
    fine(healthy(overlay))
    report = report_of(healthy(overlay).looked()[1])
    assert {one.id for one in report.notes} == LIMITS
    assert report.lines("win1") == (
        "Without a finding: services and programs, the network, the Node object, pods and their traffic.",
    )


@pytest.mark.row("TS-01", "TS-02", "TS-03", "TS-04", "TS-05", "TS-06", "TS-08", "TS-09", "TS-10", "TS-14")
@pytest.mark.row("TS-16", "TS-17", "TS-18", "TS-19", "TS-20", "TS-21")
def test_every_check_has_an_id_of_its_own() -> None:
    ids = [each.id for each in table._TABLE]
    assert len(ids) == len(set(ids)) == len(table.KNOWN) > 200


MESSAGES = [
    ("start.unknown-flag", "failed to parse kubelet flag: unknown flag: --network-plugin"),
    ("start.unknown-flag", "flag provided but not defined: -iface"),
    ("pod.stuck", "web-1   0/1   ContainerCreating   0   9m"),
    ("pod.stuck", "Back-off: CrashLoopBackOff"),
    ("pod.stuck", "Warning FailedCreatePodSandBox 3m kubelet"),
    ("image.mismatch", "The container operating system does not match the host operating system."),
    ("image.mismatch", "hcsshim::CreateComputeSystem: (0xc0370101)"),
    ("hns.no-management-address", "flannel: waiting for the network to be created"),
    ("flannel.no-subnet-env", "open /run/flannel/subnet.env: The system cannot find the path specified."),
    ("flannel.no-subnet-env", "flannel: subnet.env: no such file or directory"),
    ("host.no-adapter", "no network adapter was found when starting the kubelet"),
    ("host.no-adapter", "Virtual network creation has failed"),
    ("traffic.names", "Resolve-DnsName : web : DNS name does not exist"),
    ("pod.port-forward", "error: unable to do port forwarding: wincat not found"),
    ("pod.port-forward", "exec: wincat.exe: executable file not found in %PATH%"),
    ("host.proxy", "proxyconnect tcp: dial tcp 10.0.0.9:3128: i/o timeout"),
    ("host.proxy", "HTTP/1.1 407 Proxy Authentication Required"),
    ("pod.cpu-zero", '"usageNanoCores": 0'),
    ("kube-proxy.source-vip", "unable to create proxier: source-vip flag not set"),
    ("cni.absent", "container runtime network not ready: cni plugin not initialized"),
    ("", "something else"),
]


ROW = {
    "start.unknown-flag": "TS-04",
    "pod.stuck": "TS-06",
    "image.mismatch": "TS-06",
    "hns.no-management-address": "TS-12",
    "flannel.no-subnet-env": "TS-13",
    "host.no-adapter": "TS-15",
    "traffic.names": "TS-16",
    "pod.port-forward": "TS-17",
    "host.proxy": "TS-18",
    "pod.cpu-zero": "TS-21",
}


@pytest.mark.parametrize(
    ("check", "message"), [pytest.param(*each, marks=pytest.mark.row(ROW.get(each[0], "TS-22"))) for each in MESSAGES]
)
def test_what_people_see_leads_to_its_check(check: str, message: str) -> None:
    assert next(iter(about(message)), "") == check


@pytest.mark.row("TS-19")
def test_a_log_that_is_not_there() -> None:
    node = healthy()
    node.parts[file_key(r"C:\k\kubelet.log")] = {"exists": False}
    broken(node, "kubelet.no-log", r"its log C:\k\kubelet.log is not there")


@pytest.mark.row("TS-20")
def test_what_a_bug_report_has_to_say() -> None:
    node = healthy()
    assert gather.bug_report(node.scene()) == (
        "Kubernetes: v1.27.4",
        "Windows: Windows Server 2022 (10.0.20348.4893)",
        "container runtime: containerd://1.6.36",
        "network: l2bridge, managed by the service",
    )
    node.no_cluster = "winkube_cluster.kubeconfig is empty."
    assert "container runtime: not known" in gather.bug_report(node.scene())


def test_a_machine_with_containerd_alone() -> None:
    node = healthy()
    node.expected = wanted_node("")
    node.no_cluster = "the node runs no Kubernetes."
    fine(node)


def test_without_a_cluster_nothing_is_called_broken_that_is_not() -> None:
    node = healthy()
    node.no_cluster = "winkube_cluster.kubeconfig is empty."
    node.more = {"in_pod": InPod(why="no cluster")}
    fine(node)
    assert all(one.remedy.plain for one in report_of(node.looked()[1]).notes)


def test_a_check_that_stumbles_says_so_and_the_others_go_on() -> None:
    node = healthy()
    node.pods = [{"metadata": {}, "status": {"containerStatuses": [{"restartCount": "many"}]}}]
    node.line("kube-proxy", lambda line: line.replace(" --hostname-override=win1", ""))
    noted(node, "diagnosis.stumbled", "pod.stuck: A pod does not start")
    broken(node, "kube-proxy.hostname-override")
