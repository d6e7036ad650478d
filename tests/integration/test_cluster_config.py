"""A change of the cluster's ConfigMap kubelet-config reaches the nodes that have joined, as kubeadm's own upgrade of a
node would bring it: told by drift, done by site.yml, and no more at the second run."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from tests.integration.lab import ROOT, Bench, Run
from tests.integration.site import differences
from tests.integration.whole import BRIDGE, OVERLAY, Kind, Whole

CONFIG = r"C:\var\lib\kubelet\config.yaml"
FOLDER = r"C:\var\lib\kubelet\config.d"
DRIFT = ROOT / "playbooks" / "drift.yml"
HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


def drift(whole: Whole, **more: Any) -> tuple[Run, dict[str, Any]]:
    """The run, and the report of win1."""
    folder = whole.bench.directory / "reports"
    run = whole.site(playbook=DRIFT, winkube_drift_dir=str(folder), **more)
    (node,) = json.loads((folder / "drift.json").read_text(encoding="utf-8"))["nodes"]
    return run, node


def config(whole: Whole) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(whole.host.in_turn(lambda: whole.host.node.drive.read(CONFIG)))
    return found


def put(whole: Whole, name: str, text: str) -> str:
    """A drop-in of somebody else's."""
    path = f"{FOLDER}\\{name}"
    whole.host.in_turn(lambda: whole.host.node.drive.write(path, text.encode()))
    return path


@pytest.mark.parametrize("kind", [OVERLAY, BRIDGE], ids=["overlay, sc, 1.37", "l2bridge, nssm, 1.27"])
def test_a_change_of_the_clusters_kubelet_configuration_reaches_a_joined_node(bench: Bench, kind: Kind) -> None:
    """Failed before: site, drift, verify and diagnose were silent."""
    whole = Whole(bench, kind)
    whole.converge()
    whole.cluster.advance(60)
    assert whole.converge().recap["win1"].changed == 0, "what kubeadm wrote is what the ConfigMap says"
    pid = whole.pid("kubelet")

    whole.cluster.configure_kubelets(tlsMinVersion="VersionTLS13", maxPods=60, serverTLSBootstrap=True)
    before = bench.dump()
    run, node = drift(whole)
    assert run.rc != 0, run
    assert differences(before, bench.dump()) == []
    assert list(node["components"]) == ["kubelet"], node
    first, second = node["components"]["kubelet"]
    assert first["text"] == (
        f"rewrite {CONFIG} as ConfigMap kube-system/kubelet-config has it: maxPods: 110 -> 60; "
        'serverTLSBootstrap: not set -> true; tlsMinVersion: not set -> "VersionTLS13"'
    )
    assert "-maxPods: 110\n" in first["diff"] and "+maxPods: 60\n" in first["diff"], first
    assert second["text"] == "restart kubelet"

    whole.converge()
    whole.cluster.advance(60)
    assert whole.pid("kubelet") != pid
    assert config(whole)["maxPods"] == 60
    assert whole.cluster.is_ready("win1")
    assert whole.cluster.nodes["win1"]["status"]["capacity"]["pods"] == "60"
    assert whole.cluster._mistrust("win1") == "", "its request for a serving certificate was approved"
    again = whole.converge()
    assert again.recap["win1"].changed == 0, again
    assert drift(whole)[1]["state"] == "same"


def test_a_value_that_the_kubelet_does_not_read_restarts_nothing(bench: Bench) -> None:
    whole = Whole(bench, OVERLAY)
    whole.converge()
    pid = whole.pid("kubelet")
    whole.cluster.configure_kubelets(clusterDomain="other.local", singleProcessOOMKill=True)
    run = whole.converge(winkube_cluster_domain="other.local")
    assert config(whole)["clusterDomain"] == "other.local"
    assert config(whole)["singleProcessOOMKill"] is True
    assert r"50-winkube.conf has clusterDomain as well" in " ".join(run.output.split())
    assert whole.pid("kubelet") != pid, "our own drop-in has changed, too"

    pid = whole.pid("kubelet")
    whole.cluster.configure_kubelets(singleProcessOOMKill=False)
    run = whole.converge()
    assert whole.pid("kubelet") == pid
    assert config(whole)["singleProcessOOMKill"] is False
    assert whole.converge().recap["win1"].changed == 0


def test_a_value_of_the_configmap_that_ends_the_kubelet_is_refused_by_its_name(bench: Bench) -> None:
    whole = Whole(bench, OVERLAY)
    whole.converge()
    whole.cluster.configure_kubelets(containerLogMaxFiles=1)
    before = bench.dump()
    run = whole.site()
    assert run.rc != 0, run
    said = " ".join(run.output.split())
    assert "ConfigMap kube-system/kubelet-config: containerLogMaxFiles: 1 is not 2 or more." in said, run
    assert differences(before, bench.dump()) == []
