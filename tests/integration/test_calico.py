"""Windows nodes beside kubespray's default network: Calico by manifests, without an operator."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.lab import ROOT, Bench
from tests.integration.site import differences
from tests.integration.whole import CALICO, DIAGNOSE, BesideCalico
from tests.lab.cluster.custom import STORED, kind_of
from tests.lab.cluster.kinds import BY_NAME

PROXY = {"winkube_calico_kube_proxy_image": "sigwindowstools/kube-proxy:v1.37.1-calico-hostprocess"}


def test_a_node_joins_beside_kubesprays_calico_and_its_pods_resolve(bench: Bench) -> None:
    whole = BesideCalico(bench)
    made = whole.site(playbook=CALICO, **PROXY)
    assert made.rc == 0, made
    assert "created the DaemonSet kube-system/calico-node-windows" in made.output, made
    assert whole.site(playbook=CALICO, **PROXY).recap["win1"].changed == 0
    run = whole.converge(**PROXY)
    whole.cluster.advance(120)
    assert whole.cluster.is_ready("win1"), run
    pod = whole.pod()
    assert pod["status"]["phase"] == "Running", pod["status"]
    assert whole.resolved("web", "kubernetes.default.svc.cluster.local") == "10.233.0.1"
    assert "podCIDR" not in whole.cluster.nodes["win1"]["spec"], "kubespray lets Calico alone give addresses out"
    verified = whole.site(playbook=whole.VERIFY)
    assert verified.rc == 0 and "checks" in verified.output, verified
    rights = {"winkube_cluster": {"kubeconfig": str(whole.cluster.shipped(*DIAGNOSE, "calico"))}}
    diagnosed = whole.site(playbook=ROOT / "playbooks" / "diagnose.yml", **rights)
    assert "win1: 0 errors, 1 warning" in diagnosed.output, diagnosed
    assert "Calico 3.31: the cluster is Kubernetes 1.37" in diagnosed.output, diagnosed
    assert whole.converge(**PROXY).recap["win1"].changed == 0
    assert whole.cluster.overstepped == []


def test_the_plan_names_the_command_before_anything_is_touched(bench: Bench) -> None:
    whole = BesideCalico(bench)
    before = bench.dump()
    run = whole.site()
    said = " ".join(run.output.split())
    assert run.rc != 0
    for sentence in (
        "strictAffinity is false",
        "calico_ipam_strictaffinity: true",
        "ansible-playbook winkube.node.calico",
    ):
        assert sentence in said, run
    assert differences(before, bench.dump()) == []


@pytest.mark.parametrize(
    ("calico", "sentence"),
    [
        ({"backend": "bird"}, "calico_backend is bird; wanted vxlan"),
        ({"datastore": "etcd"}, "it has etcd_endpoints"),
        ({"ebpf": True}, "bpfEnabled is true"),
        ({"ipam": "host-local"}, "is host-local"),
        ({"vni": 1}, "FELIX_VXLANVNI of the DaemonSet kube-system/calico-node: it is 1; wanted 4096 or more"),
        ({"port": 8472}, "FELIX_VXLANPORT of the DaemonSet kube-system/calico-node: it is 8472; wanted 4789"),
    ],
)
def test_what_windows_does_not_have_is_refused_in_one_sentence(
    bench: Bench, calico: dict[str, Any], sentence: str
) -> None:
    whole = BesideCalico(bench, cluster={"calico": calico})
    before = [dict(each) for each in whole.cluster.store.list(BY_NAME["DaemonSet"])]
    run = whole.site(playbook=CALICO)
    assert run.rc != 0 and sentence in " ".join(run.output.split()), run
    assert [dict(each) for each in whole.cluster.store.list(BY_NAME["DaemonSet"])] == before
    assert whole.cluster.store.get(kind_of(STORED, "IPAMConfig"), "", "default")["spec"]["strictAffinity"] is False


def test_k0s_brings_its_network_after_the_first_windows_node_and_verifies_kubelets(bench: Bench) -> None:
    """Failed before: a node was refused for the DaemonSets that k0s makes only once it is there, and the API server did
    not take the kubelet's own certificate."""
    whole = BesideCalico(bench, "k0s")
    told = {
        "winkube_join": "bootstrap_kubeconfig",
        "winkube_cluster_cidr": "10.244.0.0/16",
        "winkube_cluster_domain": "cluster.local",
        "winkube_api_server": whole.cluster.published,
    }
    run = whole.converge(**told)
    assert "no DaemonSet there runs it" not in run.output, run
    for _ in ("k0s looks once a minute", "its pods start"):
        whole.cluster.advance(90)
    assert whole.cluster.is_ready("win1")
    whole.pod()
    assert whole.resolved("web", "kubernetes") == "10.96.0.1"
    assert whole.cluster._kubelet_unreached("/api/v1/nodes/win1/proxy/configz") is None
    assert whole.converge(**told).recap["win1"].changed == 0
