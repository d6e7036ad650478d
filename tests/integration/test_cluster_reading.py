"""The cluster is read before the first change: what a node of these variables could not do in it is refused, and what
it can do works, whoever made the cluster."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from tests.integration.lab import Bench
from tests.integration.site import differences
from tests.integration.whole import BRIDGE, OVERLAY, Whole
from tests.lab.cluster import shipped
from tests.lab.cluster.kinds import BY_NAME

FOR_ALL = (
    "/api/v1/nodes",
    "/apis/apps/v1/daemonsets",
    "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
    "/version",
)
REFUSED_ON_WINDOWS = {"singleProcessOOMKill": True, "userNamespaces": {"idsPerPod": 65536}}
UNKNOWN_GATE = {"featureGates": {"NoSuchGate": True, "NodeLogQuery": True}}


def joined(whole: Whole, **more: Any) -> None:
    """Converged, Ready, reached by the API server, and the second run changes nothing."""
    whole.converge(**more)
    whole.cluster.advance(60)
    assert whole.cluster.is_ready("win1"), whole.cluster.nodes["win1"]["status"]["conditions"]
    assert whole.cluster._mistrust("win1") == ""
    again = whole.converge(**more)
    assert again.recap["win1"].changed == 0, again


def refused(bench: Bench, whole: Whole, *sentences: str, **more: Any) -> None:
    before = bench.dump()
    run = whole.site(**more)
    assert run.rc != 0, run
    said = " ".join(run.output.split())
    for sentence in sentences:
        assert sentence in said, run
    assert differences(before, bench.dump()) == []
    assert whole.cluster.overstepped == []


def test_another_range_of_services_is_refused_with_both_values_and_their_source(bench: Bench) -> None:
    """Failed before: the node was Ready, verify was green, and pods resolved nothing."""
    whole = Whole(bench, replace(OVERLAY, maker="kubespray"))
    refused(
        bench,
        whole,
        "winkube_service_cidr: 10.96.0.0/12, but the cluster has 10.233.0.0/18 (ServiceCIDR kubernetes)",
        "winkube_dns_service_ip: 10.96.0.10, but the cluster has 10.233.0.3 (Service kube-system/coredns)",
        winkube_service_cidr="10.96.0.0/12",
        winkube_dns_service_ip="10.96.0.10",
    )


def test_what_the_cluster_knows_need_not_be_typed(bench: Bench) -> None:
    """Failed before: kubeadm's own ranges were taken, whatever the cluster had."""
    whole = Whole(bench, replace(OVERLAY, maker="kubespray"))
    more = {"winkube_proxy": "http://proxy.example.com:3128", "winkube_http_proxy": ""}
    run = whole.converge(**more)
    said = " ".join(run.output.split())
    for sentence in (
        "cluster_cidr 10.233.64.0/18 (ConfigMap kube-system/kube-flannel-cfg)",
        "service_cidr 10.233.0.0/18 (ServiceCIDR kubernetes)",
        "dns_service_ip 10.233.0.3 (Service kube-system/coredns)",
        f"api_server {whole.cluster.published} (ConfigMap kube-public/cluster-info)",
    ):
        assert said.count(sentence) == 1, run
    node = whole.host.node

    def read(path: str) -> str:
        return str(whole.host.in_turn(lambda: node.drive.read(path)).decode())

    drop_in = read(r"C:\var\lib\kubelet\config.d\50-winkube.conf")
    assert "10.233.0.3" in drop_in and "cluster.local" in drop_in
    conf = read(r"C:\k\cni\config\cni.conf")
    assert "10.233.0.0/18" in conf and "10.233.64.0/18" in conf and "10.233.0.3" in conf
    key = r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Environment"
    for place, name in ((key, "NO_PROXY"), (r"HKLM\SYSTEM\CurrentControlSet\Services\containerd", "Environment")):
        assert "10.233.64.0/18,10.233.0.0/18" in str(whole.host.in_turn(partial(node.registry.get, place, name)))
    assert whole.converge(**more).recap["win1"].changed == 0


@pytest.mark.parametrize(
    ("kind", "fields"),
    [(OVERLAY, REFUSED_ON_WINDOWS | {"defaultPodSysctls": {"net.core.somaxconn": "1024"}}), (OVERLAY, UNKNOWN_GATE)],
    ids=["fields that Windows refuses", "a gate that nobody knows"],
)
def test_the_clusters_kubelet_configuration_is_that_of_linux_nodes_too(
    bench: Bench, kind: Any, fields: dict[str, Any]
) -> None:
    """Failed before: 34 steps, a restart, and a kubelet that ended at once."""
    joined(Whole(bench, kind, cluster={"kubelet": fields}))


def test_a_value_that_the_kubelet_refuses_is_said_by_configmap_and_key(bench: Bench) -> None:
    whole = Whole(bench, OVERLAY, cluster={"kubelet": {"containerLogMaxFiles": 1}})
    refused(bench, whole, "ConfigMap kube-system/kubelet-config: containerLogMaxFiles: 1 is not 2 or more.")


def test_fields_of_the_kubelet_that_have_no_flag(bench: Bench) -> None:
    """winkube_kubelet_config: with what a kubelet would end on nothing is changed; else it runs with it, and one field
    more is one restart of it."""
    own = {
        "imageMaximumGCAge": "168h",
        "maxParallelImagePulls": 4,
        "serializeImagePulls": False,
        "crashLoopBackOff": {"maxContainerRestartPeriod": "1m"},
    }
    whole = Whole(bench, OVERLAY)
    for wrong, sentence in (
        ({"serializeImagePulls": True}, "winkube_kubelet_config: maxParallelImagePulls: "),
        ({"maxPods": "60"}, 'winkube_kubelet_config: maxPods: "60" is not a whole number; the kubelet ends on it.'),
        ({"singleProcessOOMKill": True}, "winkube_kubelet_config: singleProcessOOMKill: a kubelet 1.37.1 ends on it"),
        ({"clusterDomain": "a.b"}, "winkube_kubelet_config: clusterDomain: winkube_cluster_domain sets it; set that."),
    ):
        refused(bench, whole, sentence, winkube_kubelet_config={**own, **wrong})
    joined(whole, winkube_kubelet_config=own)
    drop_in = whole.host.in_turn(lambda: whole.host.node.drive.read(r"C:\var\lib\kubelet\config.d\50-winkube.conf"))
    assert json.loads(drop_in)["crashLoopBackOff"] == {"maxContainerRestartPeriod": "1m"}
    joined(whole, winkube_kubelet_config={**own, "enableSystemLogQuery": True})


@pytest.mark.parametrize("anonymous", ["unbound", "off"])
def test_a_cluster_without_anonymous_discovery_is_joined(bench: Bench, anonymous: str) -> None:
    """Failed before: kubeadm waited five minutes for cluster-info, which it asked for without credentials."""
    joined(Whole(bench, OVERLAY, cluster={"anonymous": anonymous}))


def test_pods_resolve_nothing_where_no_service_is_behind_what_the_kubelet_names(bench: Bench) -> None:
    """The node is Ready all the same."""
    whole = Whole(bench, OVERLAY)
    joined(whole, winkube_kubelet_cluster_dns=["169.254.25.10"])
    whole.pod()
    assert whole.resolved("web", "kubernetes") == ""


@pytest.mark.parametrize("maker", ["rke2", "k3s"])
def test_without_kubeadms_bindings_nobody_joins(bench: Bench, maker: str) -> None:
    """Failed before: found after 32 steps and a restart."""
    whole = Whole(bench, replace(OVERLAY, maker=maker))
    ranges = {
        "winkube_cluster_cidr": "10.42.0.0/16",
        "winkube_cluster_domain": "cluster.local",
        "winkube_api_server": whole.cluster.published,
    }
    refused(bench, whole, "Set winkube_join: bootstrap_kubeconfig", **ranges)
    refused(bench, whole, "apply examples/rbac/bootstrap.yml", winkube_join="bootstrap_kubeconfig", **ranges)
    shipped.grant(whole.cluster.store, "bootstrap")
    joined(whole, winkube_join="bootstrap_kubeconfig", **ranges)


def test_a_drop_in_of_others_that_ends_the_kubelet_is_refused_before_it_is_restarted(bench: Bench) -> None:
    whole = Whole(bench, OVERLAY)
    whole.converge()
    path = r"C:\var\lib\kubelet\config.d\site\90.conf"
    whole.host.in_turn(lambda: whole.host.node.drive.mkdir(path.rpartition("\\")[0]))
    whole.host.in_turn(lambda: whole.host.node.drive.write(path, b"maxPods: 60\n"))
    refused(bench, whole, f"{path}: the file has no apiVersion and no kind, and the kubelet ends on it")


def test_an_upgrade_to_a_kubelet_that_does_not_know_a_gate_any_more(bench: Bench) -> None:
    """Failed before: it drained the node, and rolled back. What the cluster says is left out; what somebody else has
    written is refused first."""
    old, new = replace(OVERLAY, kubernetes="1.36.3"), OVERLAY
    gate = "AnonymousAuthConfigurableEndpoints"
    whole = Whole(bench, old, new, server="1.37.1", cluster={"kubelet": {"featureGates": {gate: True}}})
    whole.converge()
    drive = whole.host.node.drive
    config, foreign = r"C:\var\lib\kubelet\config.yaml", r"C:\var\lib\kubelet\config.d\90.conf"
    head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
    whole.host.in_turn(lambda: drive.write(foreign, f"{head}featureGates: {{{gate}: true}}\n".encode()))
    refused(
        bench,
        whole,
        f"{foreign}: featureGates.{gate}: feature gate",
        "kubelet 1.37 does not know it any more",
        winkube_kubernetes_version="1.37.1",
    )
    whole.host.in_turn(lambda: drive.delete(foreign))
    assert gate in whole.host.in_turn(lambda: drive.read(config)).decode()
    joined(whole, winkube_kubernetes_version="1.37.1")
    assert gate not in whole.host.in_turn(lambda: drive.read(config)).decode()


def test_arguments_for_the_join_are_there_at_the_first_start(bench: Bench) -> None:
    """Failed before: kubeadm noted them in a file that no service reads, and the second run changed the service."""
    whole = Whole(bench, OVERLAY)
    joined(whole, winkube_kubelet_extra_arguments=["--cloud-provider=external", "--max-pods=60"])
    node = whole.cluster.nodes["win1"]
    taints = {taint["key"] for taint in node["spec"]["taints"]}
    assert "node.cloudprovider.kubernetes.io/uninitialized" in taints
    assert node["status"]["capacity"]["pods"] == "60"


def test_the_files_of_the_join_are_gone_after_it(bench: Bench) -> None:
    whole = Whole(bench, BRIDGE)
    whole.converge()
    drive = whole.host.node.drive
    assert [name for name in drive.listdir(r"C:\etc\kubernetes") if name.startswith("winkube")] == []


def fails_to_change(whole: Whole) -> str:
    """A change of the kubelet's arguments with which it does not start; what is said of it, in one line."""
    arguments = [r"--client-ca-file=C:\k\none.crt"]
    run = whole.site(winkube_kubelet_extra_arguments=arguments, winkube_kubelet_start_timeout=30)
    assert run.rc != 0, run
    return " ".join(run.output.split())


def test_after_a_roll_back_the_kubelet_has_to_be_healthy_as_it_was(bench: Bench) -> None:
    """Failed before: "Rolled back." was said of a kubelet that died."""
    whole = Whole(bench, OVERLAY)
    whole.converge()
    assert "Rolled back, healthy." in fails_to_change(whole)

    # Something else has changed what the kubelet reads at its start, and nobody has restarted it since.
    path = r"C:\var\lib\kubelet\config.d\90-site.conf"  # larger than what a plan reads
    whole.host.in_turn(lambda: whole.host.node.drive.write(path, b"# site\n" * 20_000 + b"maxPods: 60\n"))
    assert "Rolled back, but kubelet does not answer" in fails_to_change(whole)


def list_tokens(whole: Whole) -> list[tuple[str, str]]:
    """(method, path) of the calls about bootstrap tokens, in their order."""
    path = "/api/v1/namespaces/kube-system/secrets"
    return [
        (call.method, call.path)
        for call in whole.cluster.calls
        if call.method in {"POST", "DELETE"} and call.path.startswith(path)
    ]


def test_a_token_is_tried_before_the_first_change_and_deleted(bench: Bench) -> None:
    """An API server that learns of it some seconds later is asked again."""
    whole = Whole(bench, OVERLAY, cluster={"token_lag": 4})
    joined(whole)
    calls = [method for method, _path in list_tokens(whole)]
    assert calls == ["POST", "DELETE"] * 2, "one for the trial, one for the join"
    asked = [call for call in whole.cluster.calls if call.path.endswith("selfsubjectaccessreviews")]
    statuses = [call.status for call in asked if call.status == 401 or call.user.startswith("system:bootstrap:")]
    assert statuses[0] == 401 and statuses[-1] == 201, statuses


def test_a_cluster_that_takes_no_tokens_is_refused_before_the_first_change(bench: Bench) -> None:
    """Failed before: kubeadm was let try for five minutes."""
    whole = Whole(bench, OVERLAY, cluster={"bootstrap_tokens": False})
    refused(bench, whole, "The cluster does not accept bootstrap tokens", "--enable-bootstrap-token-auth=true")
    assert [method for method, _path in list_tokens(whole)] == ["POST", "DELETE"]


@pytest.mark.parametrize("how", ["check mode", "only"])
def test_who_only_looks_makes_no_token_and_says_so(bench: Bench, how: str) -> None:
    whole = Whole(bench, OVERLAY)
    run = whole.site("--check") if how == "check mode" else whole.site(winkube_preflight="only")
    assert run.rc == 0, run
    said = " ".join(run.output.split())
    assert said.count("Whether the cluster accepts a bootstrap token was not tried, since none was made") == 1, run
    assert list_tokens(whole) == []
    asked = {call.path.rpartition("/")[2] for call in whole.cluster.calls if call.method == "POST"}
    assert "subjectaccessreviews" in asked


def test_a_wait_on_the_cluster_is_told_while_it_lasts(bench: Bench) -> None:
    """Failed before: two minutes without a word, where the controller manager gives out no ranges."""
    whole = Whole(bench, OVERLAY)
    whole.cluster.controllers.cidr_after_s = None
    run = whole.site()
    assert run.rc != 0 and "got no podCIDR" in " ".join(run.output.split()), run
    assert "\n  win1: join: waiting for the podCIDR of the Node win1, 60 s so far\n" in run.stdout, run


def test_what_is_the_same_for_all_nodes_is_asked_once_by_a_task_not_by_each_host(bench: Bench) -> None:
    """Ten machines join a cluster whose flannel has no ConfigMap, so that its settings are looked for on all Nodes. An
    answer counts for 30 seconds: a slow machine asks once more, but not once for each of nine hosts."""
    whole = Whole(bench, OVERLAY)
    for space in ("kube-flannel", "kube-system"):
        if whole.cluster.store.find(BY_NAME["ConfigMap"], space, "kube-flannel-cfg") is not None:
            whole.cluster.store.delete(BY_NAME["ConfigMap"], space, "kube-flannel-cfg")

    def count_lists() -> Counter[str]:
        before = len(whole.cluster.calls)
        whole.converge("--forks", "10")
        asked = (call.path for call in whole.cluster.calls[before:] if call.user.startswith(shipped.USER))
        return Counter(path for path in asked if path in FOR_ALL)

    alone = count_lists()
    for number in range(2, 11):
        bench.node(f"win{number}", address=f"192.168.122.{230 + number}", containers=False)
    nine = count_lists()
    assert min(alone[path] for path in FOR_ALL) > 0, alone
    assert all(nine[path] - alone[path] <= 3 for path in FOR_ALL), (alone, nine)
    assert all(whole.cluster.is_ready(f"win{number}") for number in range(1, 11))
