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


def verify(whole: Whole) -> tuple[int, str]:
    run = whole.site(playbook=whole.VERIFY)
    return run.rc, " ".join(run.output.split())


def test_verify_and_diagnose_say_that_a_node_is_behind_its_cluster(bench: Bench) -> None:
    whole = Whole(bench, OVERLAY)
    whole.converge()
    whole.cluster.advance(60)
    rc, said = verify(whole)
    assert rc == 0 and "kubelet.config" not in said, said
    whole.cluster.configure_kubelets(maxPods=60)
    rc, said = verify(whole)
    assert rc == 0, said
    assert f"{CONFIG}: maxPods: 110 -> 60" in said and "as ConfigMap kube-system/kubelet-config has it" in said, said
    run = whole.site(playbook=ROOT / "playbooks" / "diagnose.yml", winkube_diagnose_dir=str(bench.directory / "found"))
    assert "kubelet.config-behind" in "".join(
        path.read_text() for path in (bench.directory / "found").rglob("*.json")
    ), run


def test_a_drop_in_of_somebody_elses_is_told_and_not_changed(bench: Bench) -> None:
    """It overrides ours, and has a misspelled key: told by plan, drift and verify, counted as a change by none."""
    whole = Whole(bench, OVERLAY)
    whole.converge(winkube_system_reserved={"memory": "2Gi"})
    whole.cluster.advance(60)
    more = {"winkube_system_reserved": {"memory": "2Gi"}}
    path = put(whole, "90-site.conf", f"{HEAD}clusterDomain: site.local\nmaxPod: 60\n")
    before = bench.dump()
    overrides = f'{path}: clusterDomain: "site.local" overrides "cluster.local" of {FOLDER}\\50-winkube.conf'
    ignored = f"{path}: maxPod: no field of KubeletConfiguration; the kubelet ignores it in silence (is maxPods meant?)"

    run = whole.converge(**more)
    assert run.recap["win1"].changed == 0, run
    said = " ".join(run.output.split())
    assert overrides in said and ignored in said, run
    run, node = drift(whole, **more)
    assert run.rc == 0, run
    assert node["state"] == "same" and node["components"] == {}
    assert any(overrides in note for note in node["notes"]) and any(ignored in note for note in node["notes"]), node
    page = (bench.directory / "reports" / "drift.html").read_text(encoding="utf-8")
    assert "site.local" in page
    rc, said = verify(whole)
    assert rc == 0
    assert f'{path}: clusterDomain: "site.local"' in said and "is maxPods meant?" in said, said
    assert differences(before, bench.dump()) == []


def test_a_file_that_ends_the_kubelet_at_its_next_start_is_an_error_of_verify(bench: Bench) -> None:
    """Failed before: nobody saw it until the next restart."""
    whole = Whole(bench, OVERLAY)
    whole.converge()
    whole.cluster.advance(60)
    path = put(whole, "90-site.conf", "maxPods: 60\n")
    rc, said = verify(whole)
    assert rc != 0
    assert f"{path}: the file has no apiVersion and no kind" in said, said
    run, node = drift(whole)
    assert run.rc != 0
    assert node["state"] == "failed" and f"{path}: the file has no apiVersion and no kind" in node["error"], node


def test_after_an_undo_the_kubelet_is_asked_where_its_drop_ins_say(bench: Bench) -> None:
    """Failed before: it was waited for at the port of config.yaml alone."""
    whole = Whole(bench, OVERLAY)
    whole.converge()
    put(whole, "90-site.conf", f"{HEAD}healthzPort: 10249\n")
    whole.converge(winkube_kubelet_verbosity=5)
    run = whole.site(
        winkube_kubelet_extra_arguments=[r"--client-ca-file=C:\k\none.crt"],
        winkube_kubelet_start_timeout=30,
        winkube_kubelet_verbosity=5,
    )
    assert run.rc != 0, run
    assert "Rolled back, healthy." in " ".join(run.output.split()), run
