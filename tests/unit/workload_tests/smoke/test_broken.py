"""Each of the seven checks broken in turn, in a lab's cluster: found and named, and nothing else is called broken."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster import run_namespace
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.smoke import manifests, node_checks, workload
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.smoke.model import NodeFact
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.smoke.plan import GROUPS, SEVEN
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.smoke.report import Report, summary

from tests.lab.cluster.cluster import Cluster
from tests.unit.workload_tests.smoke.clusters import NAMESPACE, Smoke, cluster
from tests.unit.workload_tests.smoke.objects import windows_node

pytestmark = pytest.mark.slow


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Cluster]:
    """Two Windows nodes and a control plane."""
    with cluster(tmp_path) as made:
        yield made


def broken(report: Report) -> set[str]:
    return {found.check.group for found in report.failures}


def verdicts(report: Report, group: str) -> set[str]:
    return {found.verdict for found in report.findings if found.check.group == group}


def test_a_healthy_cluster_has_no_finding(lab: Cluster) -> None:
    report = Smoke(lab).report()
    assert report.failures == ()
    assert {group: report.of_group(group) for group in SEVEN} == dict.fromkeys(SEVEN, "ok")


# The broken part of the cluster's network, the check that must name it, and its possible consequences.
CASES = [
    pytest.param("node-to-pod", "node-to-pod", {"service", "inbound"}, marks=pytest.mark.row("SM-08"), id="b"),
    pytest.param("pod-to-pod", "pod-to-pod", {"service", "discovery"}, marks=pytest.mark.row("SM-09"), id="c"),
    pytest.param("service", "service", {"discovery", "inbound", "outbound"}, marks=pytest.mark.row("SM-10"), id="d"),
    pytest.param("dns", "discovery", {"outbound"}, marks=pytest.mark.row("SM-11"), id="e"),
    pytest.param("inbound", "inbound", set(), marks=pytest.mark.row("SM-12"), id="f"),
    pytest.param("outbound", "outbound", set(), marks=pytest.mark.row("SM-13"), id="g"),
    pytest.param("pod-to-node", "pod-to-node", set(), marks=pytest.mark.row("SM-15"), id="Pod -> Node"),
    pytest.param(
        "cni-dns",
        "dns-config",
        {"discovery", "outbound"},
        marks=pytest.mark.row("KE-13"),
        id="DNS through the CNI plugin",
    ),
]


@pytest.mark.parametrize(("taken", "named", "follow"), CASES)
def test_what_is_broken_is_named_and_nothing_else(lab: Cluster, taken: str, named: str, follow: set[str]) -> None:
    lab.flows.broken.add(taken)
    report = Smoke(lab).report()
    assert broken(report) == {named}
    assert GROUPS[named] in summary(report)
    for group in set(GROUPS) - {named} - follow:
        assert verdicts(report, group) <= {"ok", "limitation", "skipped"}, group
    for found in report.failures:
        assert found.remedy
        assert found.check.argv or found.check.where == "api"
        assert found.seen


@pytest.mark.row("SM-07")
def test_a_pod_whose_image_cannot_be_pulled_is_named_and_the_others_are_tried(lab: Cluster) -> None:
    lab.controllers.workloads.unpullable["win2"] = {"mcr.microsoft.com"}
    report = Smoke(lab).report()
    assert broken(report) == {"pods", "image"}
    seen = [found.seen for found in report.failures if found.check.group == "pods"]
    assert any("ImagePullBackOff" in sentence and "i/o timeout" in sentence for sentence in seen)
    assert {found.check.source for found in report.failures} == {"win2"}
    for group in ("node-to-pod", "service", "discovery", "inbound", "outbound"):
        assert report.of_group(group) == "ok", group


@pytest.mark.row("SM-05")
def test_a_node_that_is_not_ready_is_named_and_gets_no_pod(tmp_path: Path) -> None:
    with cluster(tmp_path) as lab:
        conditions = [{"type": "Ready", "status": "False", "message": "container runtime is down"}]
        lab.request("POST", "/api/v1/nodes", windows_node("win3", 3, conditions=conditions))
        report = Smoke(lab).report()
        assert broken(report) == {"nodes"}
        assert [(found.check.target, found.seen) for found in report.failures] == [
            ("win3", "container runtime is down.")
        ]
        hosts = {found.check.source for found in report.findings if found.check.group == "pods"}
        assert "win3" not in hosts


@pytest.mark.row("SM-06")
def test_the_pods_are_ready_and_on_different_nodes(tmp_path: Path) -> None:
    with cluster(tmp_path) as lab:
        facts = Smoke(lab).facts()
        assert {pod.node for pod in facts.web} == {"win1", "win2"}
        assert all(pod.is_ready and pod.address for pod in facts.web)
    with cluster(tmp_path / "other") as lab:
        lab.request("PATCH", "/api/v1/nodes/win2", {"spec": {"unschedulable": True}})
        report = Smoke(lab).report()
        spread = next(found for found in report.findings if found.check.id == "pods/spread")
        assert (spread.verdict, spread.seen) == ("skipped", "There is one usable Windows node.")


@pytest.mark.row("SM-08")
def test_the_overlay_is_known_by_flannels_annotation(lab: Cluster) -> None:
    for backend, mode in (("host-gw", "l2bridge"), ("vxlan", "overlay")):
        annotations = {"flannel.alpha.coreos.com/backend-type": backend}
        lab.request("PATCH", "/api/v1/nodes/win1", {"metadata": {"annotations": annotations}})
        assert Smoke(lab, network_mode="", namespace=f"winkube-smoke-{backend}").facts().mode == mode


def test_a_wrong_image_is_told_by_the_kubelets_own_sentence(lab: Cluster) -> None:
    report = Smoke(lab, image_tags={"20348": "ltsc2019"}, timeout=5).report()
    assert "pods" in broken(report)
    assert any("does not match the host operating system" in found.seen for found in report.failures)
    assert report.of_group("node-to-pod") == "skipped"


@pytest.mark.row("KE-16")
def test_ten_nodes_of_three_builds_get_the_image_of_their_build(tmp_path: Path) -> None:
    builds = (17763,) * 3 + (20348,) * 5 + (26100,) * 2
    with cluster(tmp_path, builds) as lab:
        facts = Smoke(lab).facts()
    by_node = {node.name: node.build for node in facts.nodes}
    tags = {17763: "ltsc2019", 20348: "ltsc2022", 26100: "ltsc2025"}
    assert len({pod.node for pod in facts.web}) == len(facts.web) == 10
    assert all(pod.is_ready for pod in facts.web)
    assert all(pod.image.endswith(f":{tags[by_node[pod.node]]}") for pod in facts.web)


@pytest.mark.row("KE-13")
def test_what_a_node_keeps_back_is_held_against_its_allocatable(tmp_path: Path) -> None:
    with cluster(tmp_path) as lab:
        for name in ("win1", "win2"):
            kept = {"kubeReserved": {"cpu": "500m", "memory": "1Gi"}, "systemReserved": {"memory": "2Gi"}}
            document = {**kept, "evictionHard": {"memory.available": "512Mi"}}
            lab.api.proxied[name, "configz"] = {"kubeletconfig": document}
        status = lab.nodes["win1"]["status"]
        right = {"cpu": "3500m", "memory": f"{16776192 - (3 * 1024 + 512) * 1024}Ki", "pods": "110"}
        lab.request("PATCH", "/api/v1/nodes/win1/status", {"status": {**status, "allocatable": right}})
        report = Smoke(lab).report()
    found = {item.check.target: item for item in report.findings if item.check.group == "reserved"}
    assert found["win1"].verdict == "ok"
    assert found["win2"].verdict == "broken"
    assert found["win2"].seen == (
        "cpu: 4 of 4 is allocatable, and the kubelet keeps back 500m; memory: 16776192Ki of 16776192Ki is allocatable, "
        "and the kubelet keeps back 3758096384."
    )


@pytest.mark.row("KE-13")
def test_what_a_kubelet_keeps_back_is_system_kube_and_the_hard_threshold() -> None:
    capacity = {"cpu": "4", "memory": "16Gi"}
    both = {"systemReserved": {"cpu": "500m", "memory": "2Gi"}, "kubeReserved": {"cpu": "1", "memory": "1Gi"}}
    assert workload.list_reserved(both, capacity) == {"cpu": "1500m", "memory": str(3 << 30)}
    tenth = {"evictionHard": {"memory.available": "10%"}}
    assert workload.list_reserved(tenth, capacity) == {"cpu": "0m", "memory": str((16 << 30) // 10)}
    assert workload.list_reserved({}, capacity) == {"cpu": "0m", "memory": "0"}


@pytest.mark.row("KE-13")
@pytest.mark.parametrize(
    ("allocatable", "problem"),
    [
        ({"cpu": "3", "memory": "6Gi"}, ""),
        ({"cpu": "2", "memory": "6Gi"}, "cpu: 2 of 4 is allocatable, and the kubelet keeps back 1000m"),
        ({"cpu": "3", "memory": "8Gi"}, "memory: 8Gi of 8Gi is allocatable, and the kubelet keeps back 2Gi"),
        ({"cpu": "3", "memory": "5Gi"}, "memory: 5Gi of 8Gi is allocatable, and the kubelet keeps back 2Gi"),
        ({"cpu": "3"}, "memory cannot be read"),
    ],
)
def test_too_much_or_too_little_allocatable_is_a_finding(allocatable: dict[str, str], problem: str) -> None:
    capacity = {"cpu": "4", "memory": "8Gi"}
    node = NodeFact(
        "win1", "10.0.0.11", True, 20348, True, "", capacity, allocatable, {"cpu": "1000m", "memory": "2Gi"}
    )
    assert node_checks.find_reserved_problem(node) == problem


@pytest.mark.row("SM-18")
def test_clean_up_deletes_its_own_namespace_and_no_other(lab: Cluster) -> None:
    smoke = Smoke(lab)
    smoke.facts()
    assert run_namespace.delete_own(smoke.cluster, manifests.LABEL, NAMESPACE)
    run_namespace.wait_until_gone(smoke.cluster, NAMESPACE, smoke.clock(), 60)
    assert smoke.cluster.items("/api/v1/pods") == []
    assert not run_namespace.delete_own(smoke.cluster, manifests.LABEL, NAMESPACE)
    with pytest.raises(ClusterError, match="it is not the test's, and stays"):
        run_namespace.delete_own(smoke.cluster, manifests.LABEL, "kube-system")


@pytest.mark.row("SM-18")
def test_the_next_run_sweeps_what_is_past_its_time(lab: Cluster) -> None:
    smoke = Smoke(lab)
    smoke.workload.deploy()
    now = datetime.now(UTC)
    assert run_namespace.sweep(smoke.cluster, manifests.LABEL, now) == ()
    assert run_namespace.sweep(smoke.cluster, manifests.LABEL, now + timedelta(hours=2)) == (NAMESPACE,)
    lab.advance(20)
    assert smoke.cluster.get(f"/api/v1/namespaces/{NAMESPACE}") is None


@pytest.mark.row("KE-15")
def test_a_pull_secret_is_copied_from_where_it_is(lab: Cluster) -> None:
    secret = {"metadata": {"name": "registry"}, "type": "kubernetes.io/dockerconfigjson", "stringData": {"x": "y"}}
    lab.request("POST", "/api/v1/namespaces/default/secrets", secret)
    smoke = Smoke(lab, pull_secret="default/registry")
    smoke.workload.deploy()
    copied = smoke.cluster.get(f"/api/v1/namespaces/{NAMESPACE}/secrets/winkube-smoke-pull") or {}
    assert (copied["type"], copied["data"]) == ("kubernetes.io/dockerconfigjson", {"x": "eQ=="})
    missing = Smoke(lab, namespace="winkube-smoke-other", pull_secret="default/none")
    with pytest.raises(ClusterError, match="there is no Secret none in the namespace default"):
        missing.workload.deploy()


def test_without_a_windows_node_there_is_nothing_to_try(tmp_path: Path) -> None:
    with cluster(tmp_path, ()) as lab, pytest.raises(ClusterError, match="no Windows node that is Ready"):
        Smoke(lab).workload.deploy()
