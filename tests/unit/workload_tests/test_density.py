"""Density runs: the pods as golden text, percentiles, limits, and one run in the lab's cluster with pods that live."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.cluster import run_namespace
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.client import Cluster
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.engine.clock import Clock
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.scheduling.nodes import (
    select_nodes,
    windows_node,
    windows_nodes,
)
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests import density

from tests.lab.cluster.cluster import Cluster as Lab
from tests.lab.cluster.kinds import BY_NAME
from tests.lab.cluster.seed import Settings
from tests.unit.scheduling.objects import windows
from tests.unit.workload_tests import told
from tests.unit.workload_tests.smoke.test_transient import every

NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
WISH = told.density("winkube-density-a", run_namespace.until(NOW, 600), pods=2, timeout=60)
GOLDEN = """\
apiVersion: v1
kind: Pod
metadata:
  name: win1-1
  labels: {winkube.node/density: 'true'}
spec:
  os: {name: windows}
  nodeSelector: {kubernetes.io/os: windows, kubernetes.io/hostname: win1}
  tolerations:
  - {effect: NoSchedule, key: os, operator: Equal, value: windows}
  terminationGracePeriodSeconds: 0
  automountServiceAccountToken: false
  containers:
  - name: pause
    image: registry.k8s.io/pause:3.10.2
    resources:
      requests: {cpu: 50m, memory: 100Mi}
      limits: {cpu: 50m, memory: 100Mi}
"""


@pytest.mark.row("KE-10")
def test_the_pods_are_the_golden_ones() -> None:
    made = density.pods(WISH, [windows_node(windows("win1", 20348)), windows_node(windows("win2", 26100))])
    assert made[0] == yaml.safe_load(GOLDEN)
    assert [pod["metadata"]["name"] for pod in made] == ["win1-1", "win1-2", "win2-1", "win2-2"]


def test_the_image_is_the_nodes_own_pause_image_or_the_one_given() -> None:
    old = windows_node(windows("win1", 17763, kubelet="1.27.4"))
    assert density.image_of(WISH, old) == "registry.k8s.io/pause:3.6"
    assert density.image_of(replace(WISH, how=replace(WISH.how, image="a:1")), old) == "a:1"
    with pytest.raises(Refused, match=r"win1: .*Name an image with winkube_density_image"):
        density.image_of(WISH, windows_node(windows("win1", 20348, kubelet="1.99.0")))


def test_nodes_that_cannot_take_pods_are_left_out_or_refused() -> None:
    cordoned = windows("win2", 20348)
    cordoned["spec"]["unschedulable"] = True
    nodes = windows_nodes([windows("win1", 20348), cordoned])
    assert [node.name for node in select_nodes(nodes, ())] == ["win1"]
    with pytest.raises(Refused, match="win2 is not Ready, or is cordoned"):
        select_nodes(nodes, ["win2"])
    with pytest.raises(Refused, match="the cluster has no Windows node win9; it has win1, win2"):
        select_nodes(nodes, ["win9"])
    with pytest.raises(Refused, match="no Windows node that is Ready and not cordoned"):
        select_nodes(windows_nodes([cordoned]), ())
    assert [node.name for node in select_nodes(nodes, ["win2"], cordoned=True)] == ["win2"], (
        "what passes the scheduler by"
    )
    assert [node.name for node in select_nodes(nodes, (), cordoned=True)] == ["win1"]


@pytest.mark.row("KE-10")
@pytest.mark.parametrize(
    ("values", "share", "wanted"),
    [
        ([], 50, None),
        ([7.0], 99, 7.0),
        ([4.0, 1.0, 3.0, 2.0], 50, 2.0),
        ([float(n) for n in range(1, 11)], 90, 9.0),
        ([float(n) for n in range(1, 101)], 99, 99.0),
        ([float(n) for n in range(1, 11)], 99, 10.0),
    ],
)
def test_percentiles_by_nearest_rank(values: list[float], share: int, wanted: float | None) -> None:
    assert density.percentile(values, share) == wanted


@pytest.mark.row("KE-10")
def test_limits_and_pods_that_did_not_start_are_said() -> None:
    samples = [density.Sample(f"win1-{n}", "win1", float(n), float(n)) for n in range(1, 10)]
    samples += [density.Sample("win1-10", "win1", None, None, "ErrImagePull: no such host")]
    assert density.problems(samples, {"p50": 0, "max": 0}) == [
        "win1: 1 of its pods did not become Ready: ErrImagePull: no such host"
    ]
    assert density.problems(samples[:9], {"p50": 4.5, "p90": 9, "max": 0}) == [
        "The p50 of the time until a pod is Ready is 5 s, more than 4.5 s."
    ]
    found = density.summary(samples)
    seconds = {"p50": 5.0, "p90": 9.0, "p99": 9.0, "max": 9.0}
    assert found == {"pods": 10, "ready": 9, "started_s": seconds, "ready_s": seconds}


# -- in the lab's cluster ----------------------------------------------------------------------------------------------


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    made = Lab(tmp_path / "cluster", Settings(version="1.36.1"))
    for name, build in (("win1", 20348), ("win2", 26100)):
        made.store.create(BY_NAME["Node"], "", windows(name, build))
    yield made
    made.stop()


def opened(lab: Lab) -> Cluster:
    cluster = Cluster.open({"kubeconfig": str(lab.kubeconfig)})
    assert cluster is not None
    return cluster


class Time:
    """The lab's time goes on by a second with each request; ours with each sleep."""

    def __init__(self) -> None:
        self.passed = 0.0
        self.clock = Clock(now=lambda: self.passed, sleep=self._sleep)

    def _sleep(self, seconds: float) -> None:
        self.passed += seconds


def namespaces(cluster: Cluster) -> set[str]:
    return {str(item["metadata"]["name"]) for item in cluster.items("/api/v1/namespaces")}


@pytest.mark.row("KE-10")
def test_a_run_measures_every_pod_and_leaves_nothing(lab: Lab) -> None:
    cluster, time = opened(lab), Time()
    before = namespaces(cluster)
    made = density.pods(WISH, select_nodes(windows_nodes(cluster.nodes()), ()))
    samples = density.measure(cluster, WISH, made, time.clock)
    run_namespace.wait_until_gone(cluster, WISH.namespace, time.clock, 60)
    assert [(each.name, each.node, each.problem) for each in samples] == [
        (f"{node}-{number}", node, "") for node in ("win1", "win2") for number in (1, 2)
    ]
    assert all(each.ready_s is not None and each.started_s is not None for each in samples)
    assert density.problems(samples, {}) == []
    assert namespaces(cluster) == before


def test_an_api_server_that_stumbles_ends_no_run(lab: Lab) -> None:
    cluster, time = opened(lab), Time()
    cluster.clock = time.clock
    made = density.pods(WISH, select_nodes(windows_nodes(cluster.nodes()), ()))
    lab.https.trouble = every(3, "reset", "503", "lost", "429")
    samples = density.measure(cluster, WISH, made, time.clock)
    lab.https.trouble = lambda request: ""
    run_namespace.wait_until_gone(cluster, WISH.namespace, time.clock, 60)
    assert [each.problem for each in samples] == [""] * 4
    assert WISH.namespace not in namespaces(cluster)


@pytest.mark.row("KE-10")
def test_pods_that_cannot_start_are_told_and_all_is_taken_away(lab: Lab) -> None:
    cluster, time = opened(lab), Time()
    wish = replace(WISH, how=replace(WISH.how, image="mcr.microsoft.com/windows/servercore:ltsc2025", timeout=20))
    made = density.pods(wish, windows_nodes(cluster.nodes()))
    samples = density.measure(cluster, wish, made, time.clock)
    run_namespace.wait_until_gone(cluster, wish.namespace, time.clock, 60)
    assert [each.ready_s is not None for each in samples] == [False, False, True, True]
    (said,) = density.problems(samples, {})
    assert said.startswith("win1: 2 of its pods did not become Ready: CreateContainerError: The container operating sy")
    assert wish.namespace not in namespaces(cluster)


@pytest.mark.row("KE-10")
def test_ctrl_c_leaves_nothing(lab: Lab) -> None:
    cluster = opened(lab)

    def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    made = density.pods(replace(WISH, how=replace(WISH.how, image="x:ltsc2019")), windows_nodes(cluster.nodes()))
    with pytest.raises(KeyboardInterrupt):
        density.measure(cluster, WISH, made, Clock(sleep=interrupted))
    run_namespace.wait_until_gone(cluster, WISH.namespace, Time().clock, 60)


@pytest.mark.row("KE-10")
def test_a_pod_that_the_cluster_refuses_leaves_nothing(lab: Lab) -> None:
    cluster = opened(lab)
    made = density.pods(WISH, windows_nodes(cluster.nodes()))
    with pytest.raises(ClusterError, match="already exists"):
        density.measure(cluster, WISH, [*made, made[0]], Time().clock)
    run_namespace.wait_until_gone(cluster, WISH.namespace, Time().clock, 60)


def test_what_a_killed_run_left_is_removed_by_the_next_when_its_time_is_up(lab: Lab) -> None:
    cluster = opened(lab)
    cluster.create("/api/v1/namespaces", density.namespace(WISH))
    cluster.create("/api/v1/namespaces", density.namespace(replace(WISH, namespace="winkube-density-b", until="2099")))
    assert run_namespace.sweep(cluster, density.LABEL, NOW) == ()
    assert run_namespace.sweep(cluster, density.LABEL, NOW + timedelta(hours=2)) == ("winkube-density-a",)
    run_namespace.wait_until_gone(cluster, "winkube-density-a", Time().clock, 60)
    assert "winkube-density-b" in namespaces(cluster)
