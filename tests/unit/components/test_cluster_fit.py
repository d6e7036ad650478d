"""A reading of the cluster against what a node is to be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.documents import Kubeconfig
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.reading import (
    BOOTSTRAP_RIGHTS,
    KUBEADM_RIGHTS,
    ClusterReading,
    Known,
    is_reachable_by_others,
    read_cluster,
)
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.records import ClusterConfiguration
from ansible_collections.winkube.node.plugins.plugin_utils.components.join.cluster_fit import (
    Newcomer,
    describe_known,
    find_misfits,
    find_notices,
)
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet.options import KubeletOptions
from ansible_collections.winkube.node.plugins.plugin_utils.components.options import read

from tests.unit.cluster.fake import Fake

from .nodes import LAYOUT

MAPS = "/api/v1/namespaces/kube-system/configmaps"
READING = ClusterReading(
    server="https://10.0.0.10:6443",
    kubelet_config={"clusterDomain": "cluster.local", "clusterDNS": ["169.254.25.10"]},
    cluster_configuration=ClusterConfiguration("10.96.0.0/12", "10.244.0.0/16"),
    dns=Known("10.96.0.10", "Service kube-system/kube-dns"),
    kubernetes_address="10.96.0.1",
    api_addresses=("10.0.0.10:6443",),
)
GIVEN: Mapping[str, str] = {
    "service_cidr": "10.96.0.0/12",
    "dns_service_ip": "10.96.0.10",
    "cluster_domain": "cluster.local",
    "cluster_cidr": "10.244.0.0/16",
    "api_server": "",
}


def newcomer(join: str = "bootstrap_kubeconfig", *, joining: bool = True, dns: str = "", **given: str) -> Newcomer:
    """A node of which the variables say this of the cluster."""
    told = {"version": "1.37.1", "node_name": "win1", "source": {}, "join": join, "cluster_dns": [dns] if dns else []}
    return Newcomer(read(KubeletOptions, told), LAYOUT, {**GIVEN, **given}, joining)


WANTED = newcomer()


def test_what_fits_is_not_told() -> None:
    assert find_misfits(READING, WANTED) == ()
    assert find_notices(READING, WANTED) == ()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"service_cidr": "10.233.0.0/18"}, "but the cluster has 10.96.0.0/12 (ConfigMap kube-system/kubeadm-config)"),
        ({"dns_service_ip": "10.96.0.3"}, "but the cluster has 10.96.0.10 (Service kube-system/kube-dns)"),
        ({"cluster_domain": "k8s.site"}, "but the cluster has cluster.local (ConfigMap kube-system/kubelet-config)"),
        ({"cluster_cidr": "10.42.0.0/16"}, "but the cluster has 10.244.0.0/16"),
    ],
)
def test_a_contradiction_has_both_values_and_where_each_stands(changes: dict[str, Any], sentence: str) -> None:
    (said,) = find_misfits(READING, newcomer(**changes))
    (name, value), *_ = changes.items()
    assert said.startswith(f"winkube_{name}: {value}, ")
    assert sentence in said


def test_what_neither_a_variable_nor_the_cluster_says_has_to_be_set() -> None:
    """Failed before: kubeadm's defaults were taken."""
    bare = ClusterReading(server="https://10.0.0.10:6443")
    given: dict[str, Any] = dict.fromkeys(("service_cidr", "cluster_cidr", "dns_service_ip", "cluster_domain"), "")
    said = find_misfits(bare, newcomer(joining=False, **given))
    assert [each.partition(":")[0] for each in said] == [f"winkube_{name}" for name in given]
    assert "no ServiceCIDR kubernetes and no ConfigMap kube-system/kubeadm-config): set it." in said[0]
    assert find_misfits(READING, newcomer(**given)) == ()


def test_what_was_taken_from_the_cluster_is_said_with_its_source() -> None:
    assert describe_known(READING, newcomer(api_server="10.0.0.9:6443")) == ""
    assert describe_known(READING, newcomer(dns_service_ip="")) == (
        "Taken from the cluster: dns_service_ip 10.96.0.10 (Service kube-system/kube-dns), "
        "api_server https://10.0.0.10:6443 (the kubeconfig)."
    )


@pytest.mark.parametrize("given", ["127.0.0.1:6443", "https://localhost:6443", "https://169.254.1.1:6443"])
def test_an_address_of_each_machines_own_is_refused(given: str) -> None:
    (said,) = find_misfits(READING, newcomer(api_server=given))
    assert said.startswith(f"winkube_api_server: {given} is the node's own address there")
    local = replace(READING, server="https://127.0.0.1:6443")
    (said,) = find_misfits(local, WANTED)
    assert said.startswith("The cluster says https://127.0.0.1:6443 of itself") and "set winkube_api_server" in said
    assert find_misfits(local, newcomer(joining=False)) == ()


def test_other_dns_for_pods_is_told_and_not_refused() -> None:
    other = newcomer(dns="169.254.25.10")
    assert find_misfits(READING, other) == ()
    (said,) = find_notices(READING, other)
    assert said.startswith("winkube_kubelet_cluster_dns: 169.254.25.10; the cluster's DNS is 10.96.0.10")


def test_one_family_of_two_is_compared_with_its_own() -> None:
    both = replace(READING, service_ranges=Known("10.96.0.0/12,fd00:10:96::/112", "ServiceCIDR kubernetes"))
    assert find_misfits(both, WANTED) == ()
    assert find_misfits(both, newcomer(service_cidr="10.96.0.0/12,fd00::/112")) != ()


def test_where_nobody_says_the_range_the_address_of_the_api_has_to_lie_in_it() -> None:
    unknown = replace(READING, cluster_configuration=None)
    assert find_misfits(unknown, WANTED) == ()
    (said,) = find_misfits(unknown, newcomer(service_cidr="10.43.0.0/16"))
    assert "does not contain 10.96.0.1, the address of the Service default/kubernetes" in said


def test_a_value_that_nothing_says_is_not_compared() -> None:
    empty = ClusterReading(server="https://10.0.0.10:6443")
    assert find_misfits(empty, WANTED) == ()


def test_missing_bindings_are_named_with_the_manifest() -> None:
    (said,) = find_misfits(replace(READING, lacking=BOOTSTRAP_RIGHTS), WANTED)
    assert "create certificatesigningrequests/nodeclient (system:bootstrappers:kubeadm:default-node-token)" in said
    assert "examples/rbac/bootstrap.yml" in said
    assert "rke2" not in said


def test_rke2_is_known_by_its_two_authorities() -> None:
    one, other = (f"-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n".encode() for text in "AB")
    made = replace(READING, ca_pem=one, client_ca=other, lacking=BOOTSTRAP_RIGHTS)
    assert made.has_two_cas
    assert "rke2 has a Windows agent of its own" in find_misfits(made, WANTED)[0]
    assert not replace(made, client_ca=one + other).has_two_cas


def test_all_nodes_on_one_of_several_control_planes_is_told() -> None:
    several = replace(READING, api_addresses=("10.0.0.10:6443", "10.0.0.11:6443"))
    (said,) = find_notices(several, WANTED)
    assert "one of 2 control planes" in said and "winkube_api_server" in said
    assert find_notices(several, newcomer(api_server="https://vip.example.com:6443")) == ()


@pytest.mark.parametrize(
    ("server", "reachable"),
    [
        ("https://127.0.0.1:6443", False),
        ("https://localhost:6443", False),
        ("https://169.254.25.10", False),
        ("https://[::1]:6443", False),
        ("https://10.0.0.1:6443", True),
        ("https://api.example.com", True),
    ],
)
def test_an_address_of_this_machine_or_link_is_none_for_others(server: str, reachable: bool) -> None:
    assert is_reachable_by_others(server) == reachable
    published = replace(READING, published=Kubeconfig(server)).api_server()
    assert published is not None
    assert published.source == ("ConfigMap kube-public/cluster-info" if reachable else "the kubeconfig")
    own = replace(READING, server=server).api_server()
    assert own == (Known(server, "the kubeconfig") if reachable else None)


def test_a_cluster_that_has_nothing_is_read_as_that() -> None:
    fake = Fake()
    fake.objects["/version"] = {"major": "1", "minor": "37", "gitVersion": "v1.37.1"}
    found = read_cluster(fake.cluster)
    assert (found.kubelet_config, found.cluster_configuration, found.dns) == (None, None, None)
    assert found.service_cidr() is None and found.unseen == ()
    assert not found.has_kubeadm


def test_the_reading_of_a_cluster() -> None:
    fake = Fake()
    fake.objects |= {
        f"{MAPS}/kubelet-config": {"data": {"kubelet": "clusterDomain: a.b\n"}},
        f"{MAPS}/kubeadm-config": {"data": {"ClusterConfiguration": "networking: {podSubnet: 10.1.0.0/16}\n"}},
        f"{MAPS}/extension-apiserver-authentication": {"data": {"client-ca-file": "pem"}},
        "/api/v1/namespaces/default/services/kubernetes": {"spec": {"clusterIP": "10.96.0.1"}},
        "/apis/networking.k8s.io/v1/servicecidrs/kubernetes": {"spec": {"cidrs": ["10.96.0.0/12"]}},
    }
    found = read_cluster(fake.cluster)
    assert found.cluster_domain() == Known("a.b", "ConfigMap kube-system/kubelet-config")
    assert found.cluster_cidr() == Known("10.1.0.0/16", "ConfigMap kube-system/kubeadm-config")
    assert found.service_cidr() == Known("10.96.0.0/12", "ServiceCIDR kubernetes")
    assert (found.client_ca, found.kubernetes_address) == (b"pem", "10.96.0.1")
    assert KUBEADM_RIGHTS[0].name == "kubeadm-config"


@pytest.mark.parametrize(
    ("name", "key", "text", "why"),
    [
        ("kubeadm-config", "ClusterConfiguration", "[]", "ClusterConfiguration is a list of 0, expected an object"),
        (
            *("kubeadm-config", "ClusterConfiguration", "networking: {podSubnet: [10.1.0.0/16]}"),
            "ClusterConfiguration.networking.podSubnet is a list of 1, expected a text of one line",
        ),
        ("kubeadm-config", "ClusterConfiguration", "a: {", "ClusterConfiguration cannot be read: it is not valid YAML"),
        ("kubelet-config", "kubelet", "clusterDomain: 5", "kubelet.clusterDomain is 5, expected a text of one line"),
        (
            "kubelet-config",
            "kubelet",
            "featureGates: {A: 'yes'}",
            "kubelet.featureGates.A is 'yes', expected true",
        ),
        (
            "kube-flannel-cfg",
            "net-conf.json",
            '{"Network": 5}',
            "net-conf.json.Network is 5, expected a text",
        ),
    ],
)
def test_a_document_of_the_cluster_is_refused_by_its_field(name: str, key: str, text: str, why: str) -> None:
    fake = Fake()
    fake.objects["/version"] = {"major": "1", "minor": "37", "gitVersion": "v1.37.1"}
    fake.objects[f"{MAPS}/{name}"] = {"data": {key: text}}
    with pytest.raises(ClusterError) as caught:
        read_cluster(fake.cluster)
    assert str(caught.value).startswith(f"ConfigMap kube-system/{name}") and why in str(caught.value)
