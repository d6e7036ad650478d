"""csi-proxy, RuntimeClasses, taints, the report and a density run, by the playbooks: one node and the lab's cluster."""

from __future__ import annotations

import pytest

from tests.integration.lab import ROOT, Bench, Run
from tests.integration.optional import optional_components
from tests.integration.site import converge
from tests.lab.cluster.cluster import Cluster
from tests.lab.cluster.kinds import BY_NAME
from tests.unit.scheduling.objects import windows

SCHEDULING, TEST = (ROOT / "playbooks" / f"{name}.yml" for name in ("scheduling", "test"))
CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"


def run(bench: Bench, playbook: object, cluster: Cluster, *args: object, **more: object) -> Run:
    """A playbook for the whole cluster, which takes the nodes of the inventory for what they know."""
    mine, given = cluster.shipped("scheduling", "test"), {"winkube_hosts": "windows", **more}
    kubeconfig = f'{{"winkube_cluster": {{"kubeconfig": "{mine}", "context": ""}}}}'
    return bench.ansible_playbook(playbook, "-e", kubeconfig, *(f"-e{k}={v}" for k, v in given.items()), *args)


@pytest.mark.row("HP-09", "SC-08", "SC-14", "SC-15", "KE-10")
def test_from_csi_proxy_to_pods(bench: Bench) -> None:
    host = bench.node()
    wanted = optional_components(bench, "csi_proxy", "windows_exporter")
    first_run = converge(bench, **wanted)
    assert "started csiproxy" in first_run.output and "started windows_exporter" in first_run.output
    assert converge(bench, **wanted).recap["win1"].changed == 0
    assert host.in_turn(lambda: host.node.pipes.exists("csi-proxy-smb-v1"))
    cluster = bench.cluster(version="1.36.1")
    for name, number in (("win1", 20348), ("win2", 26100), ("win3", 20348)):
        cluster.store.create(BY_NAME["Node"], "", windows(name, number, containerd="1.7.11", taints=name != "win3"))
    wrong = run(bench, SCHEDULING, cluster, "--check", winkube_runtime_handler="example-container-runtime-handler")
    assert "win1: the handler example-container-runtime-handler is unknown to containerd" in wrong.output, wrong
    report = {"winkube_scheduling_report_only": "true", "winkube_runtime_handler": "example-container-runtime-handler"}
    reported = run(bench, SCHEDULING, cluster, **report)
    missing = "win3: the taint os=windows:NoSchedule is missing"
    assert missing in reported.output and reported.recap["win1"].failed == 1, reported
    assert cluster.request("GET", CLASSES)["items"] == [], "only the report, whatever else would be refused"
    assert "taints" in cluster.request("GET", "/api/v1/nodes/win2")["spec"]
    assert not cluster.request("GET", "/api/v1/nodes/win3")["spec"].get("taints")
    first = run(bench, SCHEDULING, cluster)
    assert missing not in first.output, "the report is of what is there afterwards"
    assert "config.toml was not read on win2, win3" in first.output, first
    names = [each["metadata"]["name"] for each in cluster.request("GET", CLASSES)["items"]]
    assert names == ["windows-2022", "windows-2025"], first
    assert "tainted the Node win3 with os=windows:NoSchedule" in first.output, first
    assert "containerd 1.7.11" in first.output and first.rc == 2, (
        "Kubernetes 1.36 wants containerd 2.x: the report says so"
    )
    assert run(bench, SCHEDULING, cluster, "--limit", "win1").recap["win1"].changed == 0

    # win1 is a machine without a kubelet here; the other two are Nodes alone, whose pods the lab runs.
    chosen = '{"winkube_density_nodes": ["win2", "win3"]}'
    pods: dict[str, object] = {
        "winkube_tests": "density",
        "winkube_density_pods": 2,
        "winkube_density_timeout": 60,
    }
    measured = run(bench, TEST, cluster, "-e", chosen, **pods)
    assert measured.rc == 0, measured
    assert '"pods": 4' in measured.output and '"ready": 4' in measured.output, measured
    left = [each["metadata"]["name"] for each in cluster.request("GET", "/api/v1/namespaces")["items"]]
    assert not [name for name in left if name.startswith("winkube-density")]
