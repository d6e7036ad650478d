"""What a pod is asked, against the lab's cluster, whose flows can be broken one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster import client
from ansible_collections.winkube.node.plugins.plugin_utils.troubleshoot import gather, table, traffic
from ansible_collections.winkube.node.plugins.plugin_utils.troubleshoot.evidence import Evidence

from tests.lab.cluster.cluster import Cluster
from tests.lab.cluster.seed import Settings
from tests.unit.smoke.objects import windows_node

from .scene import healthy

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


def evidence_of(lab: Cluster, **wanted: Any) -> Evidence:
    """A healthy node's reading with what this cluster says, and its pod."""
    cluster = client.Cluster.open({"kubeconfig": str(lab.kubeconfig)})
    assert cluster is not None
    node = healthy()
    node.want(external=TARGET, **wanted)
    view = gather.cluster_view(cluster, "win1")
    evidence = replace(node.evidence(), cluster=view)
    return replace(evidence, in_pod=gather.ask_pod(cluster, view, lambda name: traffic.in_pod(evidence, name)))


def verdicts(lab: Cluster, **wanted: Any) -> dict[str, str]:
    evidence = evidence_of(lab, **wanted)
    checks = [
        check
        for check in table.CHECKS
        if check.id in {"pod.stuck", "traffic.outside", "traffic.service-ip", "traffic.names"}
    ]
    return {one.check.id: one.answer.verdict for one in table.examine(evidence, checks)}


HEALTHY = {
    "pod.stuck": "ok",
    "traffic.outside": "ok",
    "traffic.service-ip": "known_limitation",
    "traffic.names": "known_limitation",
}


@pytest.mark.row("TS-08", "TS-14", "TS-16")
def test_a_pod_of_a_cluster_that_works(lab: Cluster) -> None:
    assert verdicts(lab) == HEALTHY
    evidence = evidence_of(lab)
    assert evidence.in_pod.pod == "default/web"
    assert evidence.in_pod.said["name in between"].exit_code == 1, "Windows appends no suffix to a name with a dot"


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
    assert {name for name, verdict in verdicts(lab).items() if verdict == "broken"} == broken


@pytest.mark.row("TS-06", "VC-17")
def test_a_pod_with_an_image_for_another_windows_is_stuck(lab: Cluster) -> None:
    old = pod_of("old", "mcr.microsoft.com/windows/servercore:1809")
    lab.request("POST", "/api/v1/namespaces/default/pods", old)
    lab.advance(10)
    evidence = evidence_of(lab)
    (result,) = (one for one in table.examine(evidence) if one.check.id == "pod.stuck")
    assert result.answer.verdict == "broken", result
    assert "Pod default/old: container main is in" in result.answer.why
    assert "servercore:1809 is made for Windows Server 2019 (build 17763)" in result.answer.remedy
