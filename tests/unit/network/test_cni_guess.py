"""Which CNI a node has, by the names in what people posted; DNS suffixes of pods."""

from __future__ import annotations

import json

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.cni.conf import read
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.checks_endpoints import suffix_problem
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.scene import host_endpoint
from ansible_collections.winkube.node.plugins.plugin_utils.network.cni_guess import guess
from ansible_collections.winkube.node.plugins.plugin_utils.network.model import Endpoint, Hns, Network
from ansible_collections.winkube.node.plugins.plugin_utils.network.parse import endpoint, network

from tests.unit.network.random_nodes import recorded

HASH = "1d2e57f09ab34" + "0" * 51


def of_networks(*names: str, kind: str = "l2bridge") -> Hns:
    return Hns(networks=tuple(Network(id=name, name=name, type=kind) for name in names))


@pytest.mark.row("NW-04")
@pytest.mark.parametrize(
    ("hns", "wanted"),
    [
        (Hns(networks=(network(recorded("flannel-1944-network")[0]),)), "flannel"),
        (Hns(endpoints=(endpoint(recorded("sdn-333-endpoint")[0]),)), "flannel"),
        (Hns(endpoints=tuple(endpoint(each) for each in recorded("kubernetes-100962-hnsdiag"))), "flannel"),
        (of_networks("nat", "cbr0"), "flannel"),
        (Hns(endpoints=(endpoint(recorded("calico-4682-endpoint")[0]),)), "calico"),
        (of_networks("External", "Calico"), "calico"),
        (of_networks("vxlan0"), "flannel"),
        (of_networks("flannel.4096"), "flannel"),
        (of_networks("azure"), "azure"),
        (of_networks("azure-vnet"), "azure"),
        (of_networks("some-vnet", kind="l2tunnel"), "azure"),
        (of_networks("OVNKubernetesHybridOverlayNetwork"), "ovn"),
        (Hns(networks=tuple(network(each) for each in recorded("sig-windows-tools-168-hnsdiag"))), "aws-vpc"),
        (of_networks("nat", "External"), "unknown"),
        (Hns(), "unknown"),
    ],
)
def test_the_cni_is_guessed_by_names(hns: Hns, wanted: str) -> None:
    assert guess(hns).name == wanted


@pytest.mark.row("NW-04")
@pytest.mark.parametrize(
    ("plugin", "wanted"), [("flannel", "flannel"), ("calico", "calico"), ("azure-vnet", "azure"), ("antrea", "antrea")]
)
def test_or_by_cni_conf(plugin: str, wanted: str) -> None:
    found = guess(Hns(), read(json.dumps({"name": "x", "type": plugin})))
    assert found.name == wanted
    assert found.why == (f"the plugin {plugin} in cni.conf",)


def test_a_mixture_says_both() -> None:
    found = guess(of_networks("cbr0", "Calico"), read('{"name": "Calico", "type": "calico"}'))
    assert (found.name, found.others) == ("calico", ("flannel",))


@pytest.mark.row("CT-29")
@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        (f"{HASH}_Calico", "calico"),
        ("Calico_ep", "calico"),
        (f"{HASH}_cbr0", "flannel"),
        (f"{HASH}_vxlan0", "flannel"),
        (f"cid-{HASH}", "aws-vpc"),
        ("VIPEndpoint", "ovn"),
        ("Ethernet", "unknown"),
        ("default-test_nat", "unknown"),
    ],
)
def test_endpoints_of_other_cnis_are_recognised(name: str, wanted: str) -> None:
    found = guess(Hns(endpoints=(Endpoint(id="1", name=name, network="2"),)))
    assert found.name == wanted
    assert found.why == (() if wanted == "unknown" else (f"endpoints such as {name}",))


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("cbr0_ep", True),
        ("Calico_ep", True),
        ("VIPEndpoint", True),
        ("Ethernet", True),
        ("", True),
        (f"{HASH}_cbr0", False),
    ],
)
def test_endpoints_of_the_host_itself(name: str, host: bool) -> None:
    assert host_endpoint(name) is host


@pytest.mark.row("CT-29")
@pytest.mark.parametrize(
    ("suffixes", "right"),
    [
        (("cpu-resources-test-windows-7116.svc.cluster.local",), True),
        (("default.svc.cluster.local", "svc.cluster.local", "cluster.local"), True),
        ((), True),
        (("svc.cluster.local",), False),
        (("cluster.local",), False),
        (("default.svc.example.org",), False),
        (("a.b.svc.cluster.local",), False),
    ],
)
def test_the_dns_suffix_of_a_pod_is_its_namespaces(suffixes: tuple[str, ...], right: bool) -> None:
    assert (suffix_problem(suffixes, "cluster.local") == "") is right
