"""What a node does where its network is Calico's: its part, and what a run says before the node joins."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.calico.plan import Options, plan
from ansible_collections.winkube.node.plugins.plugin_utils.calico.view import look
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.client import Cluster
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.reading import read_network
from ansible_collections.winkube.node.plugins.plugin_utils.components import daemon_sets
from ansible_collections.winkube.node.plugins.plugin_utils.components.flannel import flannel_conf
from ansible_collections.winkube.node.plugins.plugin_utils.components.node import Node
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.firewall_rule import FirewallRule

from tests.lab.cluster import shipped
from tests.lab.cluster.cluster import Cluster as Lab
from tests.lab.cluster.custom import OWN, kind_of
from tests.lab.cluster.seed import Settings
from tests.unit.components.nodes import LAYOUT
from tests.unit.components.test_given_options import made_by_flannel
from tests.unit.components.windows_network import SWITCHED
from tests.unit.task.test_preflight import bare

from .objects import POOL, WANTED, custom, operator, whole


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    made = Lab(tmp_path / "cluster", Settings(version="1.35.2"))
    yield made
    made.stop()


def told(path: Path) -> str:
    return bare(
        network_mode="calico",
        cni_managed_by="cluster",
        kube_proxy_managed_by="cluster",
        cluster={"kubeconfig": str(path)},
        api_server="192.168.122.10:6443",
    )


def test_a_node_is_refused_before_it_joins(lab: Lab) -> None:
    operator(lab)
    said = told(lab.kubeconfig)
    assert "there is no Installation 'default'" in said and "ansible-playbook winkube.node.calico" in said
    assert "winkube_network_mode" not in said, "the mode itself is fine"


def test_a_healthy_cluster_lets_it_join(lab: Lab) -> None:
    whole(lab)
    # The layout of the tests has folders of its own, which the DaemonSet does not write to.
    assert told(lab.kubeconfig).count("spec.windowsNodes") == 2
    lab.store.replace(kind_of(OWN, "IPAMConfiguration"), "", "default", {"spec": {"autoAllocateBlocks": True}})
    assert "strictAffinity: true" in told(lab.kubeconfig)


def test_who_may_not_look_is_not_refused(lab: Lab) -> None:
    operator(lab)
    assert "Installation" not in told(lab.shipped("site"))


def test_the_node_gets_no_flannel_and_the_port_of_vxlan() -> None:
    made = made_by_flannel(SWITCHED, [], managed_by="cluster", network_mode="calico")
    rules = {each.name: each.wanted for each in made if isinstance(each, FirewallRule)}
    assert rules == {"winkube-vxlan": True}
    with pytest.raises(Refused, match="flannel has no backend for calico, Calico's operator brings it"):
        flannel_conf.check_mode("calico", 20348)


def test_the_checks_expect_calicos_network() -> None:
    options = {"node_name": "win1", "kubernetes_version": "1.35.2", "cni_managed_by": "cluster"}
    expected = Node.of({**options, "network_mode": "calico", "network_name": ""}, LAYOUT)
    assert (expected.network_mode, expected.network_name, expected.calico) == ("overlay", "Calico", True)
    assert not Node.of({**options, "network_mode": "overlay"}, LAYOUT).calico


def test_the_operators_mounts_say_where_it_writes() -> None:
    """tigera/operator pkg/render/windows.go: the folder of programs is mounted below /host."""
    install = {
        "name": "install-cni",
        "env": [
            {"name": "CNI_BIN_DIR", "value": "/host/opt/cni/bin"},
            {"name": "CNI_NET_DIR", "value": "/etc/cni/net.d"},
        ],
        "volumeMounts": [
            {"mountPath": "/host/opt/cni/bin", "name": "cni-bin-dir"},
            {"mountPath": "/host/etc/cni/net.d", "name": "cni-net-dir"},
        ],
    }
    pod: dict[str, Any] = {
        "nodeSelector": {"kubernetes.io/os": "windows"},
        "initContainers": [install],
        "containers": [{"name": "felix"}],
        "volumes": [
            {"name": "cni-bin-dir", "hostPath": {"path": "/opt/cni/bin"}},
            {"name": "cni-net-dir", "hostPath": {"path": "/etc/cni/net.d"}},
        ],
    }
    name = {"name": "calico-node-windows", "namespace": "calico-system"}
    found = daemon_sets.cni_folders(
        [{"metadata": name, "spec": {"template": {"spec": pod}}}], ["calico"], daemon_sets.labels_of(None, "win1")
    )
    assert {what: path for what, (_set, path) in found.items()} == {
        "bin": r"C:\opt\cni\bin",
        "conf": r"C:\etc\cni\net.d",
    }


def test_the_rights_of_the_file_are_those_that_are_used(lab: Lab, tmp_path: Path) -> None:
    """By a user with exactly these rights, over both ways of Calico's API; a right that no request used would be too
    much."""
    path = lab.shipped("calico")
    found = Cluster.open({"kubeconfig": str(path)})
    assert found is not None
    image = Options(adopt=True, kube_proxy_image="example/kube-proxy:1")

    def run(cluster: Cluster, options: Options = image) -> None:
        read_network(cluster)
        for change in plan(look(cluster), WANTED, options):
            change.do(cluster)

    operator(lab, served=False)
    run(found)  # all of it is made, by the CRDs behind the API
    stored = kind_of("crd.projectcalico.org", "IPAMConfig")
    lab.store.replace(stored, "", "default", {"spec": {"strictAffinity": False, "autoAllocateBlocks": True}})
    run(found, Options(kube_proxy_image="example/kube-proxy:2"))
    other = Lab(tmp_path / "other", Settings(version="1.35.2"))
    try:
        second = Cluster.open({"kubeconfig": str(other.shipped("calico"))})
        assert second is not None
        bgp = {"calicoNetwork": {"bgp": "Enabled", "ipPools": [{**POOL, "encapsulation": "IPIP"}]}}
        whole(other, bgp)
        affinity = kind_of(OWN, "IPAMConfiguration")
        other.store.replace(affinity, "", "default", {"spec": {"strictAffinity": False, "autoAllocateBlocks": True}})
        config_map = "/api/v1/namespaces/tigera-operator/configmaps/kubernetes-services-endpoint"
        other.request("PATCH", config_map, {"data": {"KUBERNETES_SERVICE_HOST": "10.96.0.1"}})
        run(second)
        other.store.delete(affinity, "", "default")
        run(second)
        other.request("PATCH", "/apis/operator.tigera.io/v1/installations/default", {"spec": {"calicoNetwork": None}})
        other.request(
            "PATCH",
            "/apis/operator.tigera.io/v1/installations/default",
            {"spec": {"calicoNetwork": {"bgp": "Disabled", "windowsDataplane": "HNS"}}},
        )
        custom(other, "IPPool", {"cidr": "10.244.0.0/16", "ipipMode": "Always"}, called="mine")
        run(second)
        used = used_rights(lab) | used_rights(other)
        assert [call for call in (*lab.refusals, *other.refusals) if call.user.startswith(shipped.USER)] == []
    finally:
        other.stop()
    granted = {
        (verb, resource)
        for rule in shipped.documents("calico")[0]["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert granted == used


_VERBS = {"POST": "create", "PATCH": "patch"}


def used_rights(lab: Lab) -> set[tuple[str, str]]:
    """(verb, resource) of all that the shipped user has asked, without what every user may."""
    found = set()
    for call in lab.calls:
        parts = [part for part in call.path.split("/") if part]
        if not call.user.startswith(shipped.USER) or parts[0] == "version" or len(parts) < 3:
            continue
        rest = parts[2:] if parts[0] == "api" else parts[3:]
        rest = rest[2:] if rest[:1] == ["namespaces"] and len(rest) > 2 else rest
        if rest:
            verb = _VERBS.get(call.method) or ("get" if len(rest) > 1 else "list")
            found.add((verb, rest[0]))
    return found
