"""What a pod is asked, against the lab's cluster, whose flows can be broken one by one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster import client
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis import gather
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.checks_traffic import commands
from ansible_collections.winkube.node.plugins.plugin_utils.words.cause import ERROR
from ansible_collections.winkube.node.plugins.plugin_utils.words.finding import Finding

from tests.lab.cluster.cluster import Cluster
from tests.lab.cluster.seed import Settings
from tests.unit.workload_tests.smoke.objects import windows_node

from .nodes import Node, healthy

TARGET = "203.0.113.10"


def pod_of(name: str, image: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "nodeSelector": {"kubernetes.io/os": "windows"},
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "main", "image": image}],
        },
    }


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Cluster]:
    """A cluster with the Windows Node win1, and a pod on it."""
    made = Cluster(tmp_path / "cluster", Settings())
    try:
        made.request("POST", "/api/v1/nodes", windows_node("win1", 3))
        image = "mcr.microsoft.com/windows/servercore:ltsc2022"
        made.request("POST", "/api/v1/namespaces/default/pods", pod_of("web", image))
        made.advance(10)
        yield made
    finally:
        made.stop()


def found_in(lab: Cluster, **wanted: Any) -> tuple[Node, dict[str, Finding]]:
    """A healthy node's reading with what this cluster says, and its pod: what is found of pods and traffic, by id."""
    cluster = client.Cluster.open({"kubeconfig": str(lab.kubeconfig)})
    assert cluster is not None
    node = healthy()
    node.look(target=TARGET, **wanted)
    objects = gather.objects_of(cluster, "win1")
    node.node, node.pods, node.services, node.slices, node.events = (
        dict(objects.node or {}),
        [dict(each) for each in objects.pods],
        [dict(each) for each in objects.services],
        [dict(each) for each in objects.slices],
        [dict(each) for each in objects.events],
    )
    tried = node.tried()
    node.more["in_pod"] = gather.ask_pod(cluster, objects, lambda name: commands(tried, name))
    return node, {one.id: one for one in node.looked()[1] if one.id.startswith(("traffic.", "pod.stuck"))}


HEALTHY = {"traffic.service-ip-host", "traffic.names-limits"}
"""What works on no Windows node."""


@pytest.mark.row("TS-08", "TS-14", "TS-16")
def test_a_pod_of_a_cluster_that_works(lab: Cluster) -> None:
    node, found = found_in(lab)
    assert set(found) == HEALTHY
    in_pod = node.tried().in_pod
    assert in_pod.pod == "default/web"
    assert in_pod.said["name in between"].exit_code == 1, "Windows appends no suffix to a name with a dot"


@pytest.mark.parametrize(
    ("flow", "broken"),
    [
        ("outbound", {"traffic.outside"}),
        ("dns", {"traffic.names"}),
        ("service", {"traffic.service-ip", "traffic.names"}),
    ],
)
@pytest.mark.row("TS-08", "TS-14", "TS-16")
def test_each_flow_that_is_broken_is_found_by_its_check(lab: Cluster, flow: str, broken: set[str]) -> None:
    lab.flows.broken.add(flow)
    assert {one.id for one in found_in(lab)[1].values() if one.severity == ERROR} == broken


@pytest.mark.row("TS-06", "VC-17")
def test_a_pod_with_an_image_for_another_windows_is_stuck(lab: Cluster) -> None:
    old = pod_of("old", "mcr.microsoft.com/windows/servercore:1809")
    lab.request("POST", "/api/v1/namespaces/default/pods", old)
    lab.advance(10)
    result = found_in(lab)[1]["pod.stuck"]
    assert "pod default/old: container main is in" in result.text
    assert "servercore:1809 is made for Windows Server 2019 (build 17763)" in result.remedy.plain
