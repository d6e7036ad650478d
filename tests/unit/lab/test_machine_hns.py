"""HNS: when it is there, what it shows, its errors, what a restart leaves."""

from __future__ import annotations

import json

import pytest

from tests.lab.machine.hns import Object
from tests.lab.machine.hns_errors import HnsError
from tests.lab.machine.node import SimulatedNode
from tests.lab.twin.node import LabNode

L2BRIDGE = {
    "Name": "cbr0",
    "Type": "l2bridge",
    "NetworkAdapterName": "Ethernet",
    "Subnets": [{"AddressPrefix": "10.244.3.0/24", "GatewayAddress": "10.244.3.1"}],
}
OVERLAY = {
    "Name": "vxlan0",
    "Type": "Overlay",
    "Flags": 8,
    "Subnets": [
        {
            "AddressPrefix": "10.244.4.0/24",
            "GatewayAddress": "10.244.4.1",
            "Policies": [{"Type": "VSID", "VSID": 4096}],
        }
    ],
}


@pytest.fixture
def node() -> SimulatedNode:
    return LabNode("win1")


def settled(node: SimulatedNode, request: Object) -> Object:
    """The network, after the blip."""
    made = node.hns.create_network(request)
    node.clock.advance(70)
    return made


def code(error: pytest.ExceptionInfo[HnsError]) -> int:
    return error.value.code


def test_it_is_there_with_the_feature_and_answers_while_its_service_runs() -> None:
    bare = LabNode("bare", containers=False)
    assert not bare.hns.available
    node = LabNode("win1")
    assert node.hns.available and node.hns.running and node.hns.networks == []
    node.services.stop("hns")
    node.clock.advance(5)
    assert node.hns.available and not node.hns.running
    with pytest.raises(HnsError) as found:
        node.hns.create_network(L2BRIDGE)
    assert code(found) == 0x800706BA


def test_a_network_as_hns_shows_it(node: SimulatedNode) -> None:
    made = settled(node, L2BRIDGE)
    shown = json.loads(node.hns.call("GET", "/networks/"))
    assert shown["Success"] is True
    network = shown["Output"][0]
    assert network["ID"] == made["ID"] and network["Name"] == "cbr0" and network["Type"] == "L2Bridge"
    assert network["NetworkAdapterName"] == "Ethernet" and network["ManagementIP"] == "10.7.0.25"
    assert network["Subnets"] == [
        {"AddressPrefix": "10.244.3.0/24", "GatewayAddress": "10.244.3.1", "ObjectType": 5, "State": 0}
    ]
    assert "DrMacAddress" not in network
    assert node.hns.network("CBR0") == node.hns.network(made["ID"].lower()) == network


def test_an_overlay_has_a_vsid_and_a_router_mac(node: SimulatedNode) -> None:
    assert settled(node, OVERLAY)["DrMacAddress"].startswith("00-15-5D-")
    without = {**OVERLAY, "Name": "other", "Subnets": [{"AddressPrefix": "10.9.0.0/24", "GatewayAddress": "10.9.0.1"}]}
    with pytest.raises(HnsError) as found:
        node.hns.create_network(without)
    assert code(found) == 0x803B000D


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({"Type": "Bridge"}, 0x803B000B),
        ({"Name": ""}, 0x80070057),
        ({"Subnets": []}, 0x80070057),
        ({"Subnets": [{"AddressPrefix": "10.244.3.0", "GatewayAddress": "x"}]}, 0x80070057),
        ({"Subnets": [{"AddressPrefix": "10.244.3.0/24", "GatewayAddress": "10.244.4.1"}]}, 0x80070057),
        ({"NetworkAdapterName": "none"}, 0x803B0006),
    ],
)
def test_a_bad_network_is_refused_and_leaves_nothing(node: SimulatedNode, change: Object, wanted: int) -> None:
    before = node.dump()
    with pytest.raises(HnsError) as found:
        node.hns.create_network({**L2BRIDGE, **change})
    assert code(found) == wanted
    assert node.dump() == before


def test_two_of_one_name_and_another_type_on_the_same_nic(node: SimulatedNode) -> None:
    settled(node, L2BRIDGE)
    with pytest.raises(HnsError) as found:
        node.hns.create_network({**L2BRIDGE, "Name": "CBR0"})
    assert code(found) == 0x803B0010
    with pytest.raises(HnsError) as found:
        node.hns.create_network(OVERLAY)
    assert code(found) == 0x80070057


def test_endpoints_get_addresses_of_the_subnet(node: SimulatedNode) -> None:
    network = settled(node, L2BRIDGE)
    first = node.hns.create_endpoint({"Name": "a", "VirtualNetwork": network["ID"]})
    assert (first["IPAddress"], first["PrefixLength"], first["GatewayAddress"]) == ("10.244.3.2", 24, "10.244.3.1")
    assert first["VirtualNetworkName"] == "cbr0" and first["MacAddress"].startswith("00-15-5D-EB-4")
    assert node.hns.create_endpoint({"Name": "b", "VirtualNetwork": network["ID"]})["IPAddress"] == "10.244.3.3"
    for address in ("10.244.3.1", "10.244.3.2", "10.244.3.0", "10.244.3.255", "10.244.9.4", "x"):
        with pytest.raises(HnsError) as found:
            node.hns.create_endpoint({"VirtualNetwork": network["ID"], "IPAddress": address})
        assert code(found) == 0x803B002F, address
    remote = node.hns.create_endpoint(
        {"VirtualNetwork": network["ID"], "IPAddress": "10.244.9.4", "IsRemoteEndpoint": True}
    )
    assert remote["IsRemoteEndpoint"] is True and remote["Name"] == "Ethernet" and "Namespace" not in remote
    found_network = node.hns.network("cbr0")
    assert found_network is not None and found_network["TotalEndpoints"] == 3


def test_an_endpoint_is_attached_once(node: SimulatedNode) -> None:
    network = settled(node, L2BRIDGE)
    gateway = node.hns.create_endpoint({"Name": "cbr0_ep", "VirtualNetwork": network["ID"], "IPAddress": "10.244.3.2"})
    node.hns.attach_endpoint(gateway["ID"])
    adapter = node.adapters.named("vEthernet (cbr0_ep)")
    assert adapter is not None and node.adapters.addresses(adapter)[0].address == "10.244.3.2"
    with pytest.raises(HnsError) as found:
        node.hns.attach_endpoint(gateway["ID"])
    assert code(found) == 0x803B0014
    namespace = node.hns.create_namespace()
    pod = node.hns.create_endpoint({"Name": "pod", "VirtualNetwork": network["ID"]})
    assert node.hns.attach_endpoint(pod["ID"], namespace["ID"])["Namespace"] == {"ID": namespace["ID"]}
    node.hns.delete_endpoint(gateway["ID"])
    assert node.adapters.named("vEthernet (cbr0_ep)") is None


def test_policy_lists_refer_to_endpoints_that_are_there(node: SimulatedNode) -> None:
    network = settled(node, L2BRIDGE)
    endpoint = node.hns.create_endpoint({"VirtualNetwork": network["ID"]})
    policies = [{"Type": "ELB", "Protocol": 6, "InternalPort": 443, "ExternalPort": 443, "VIPs": ["10.96.0.1"]}]
    made = node.hns.create_policy_list({"References": [f"/endpoints/{endpoint['ID'].lower()}"], "Policies": policies})
    assert node.hns.policy_lists == [made] and made["Policies"] == policies
    for request, wanted in (
        ({"References": ["/endpoints/0"], "Policies": policies}, 0x80070490),
        ({"References": [], "Policies": [{"Type": "Magic"}]}, 0x803B000D),
    ):
        with pytest.raises(HnsError) as found:
            node.hns.create_policy_list(request)
        assert code(found) == wanted
    node.hns.delete_policy_list(made["ID"])
    assert node.hns.policy_lists == []


def test_errors_as_a_program_sees_them(node: SimulatedNode) -> None:
    assert json.loads(node.hns.call("DELETE", "/networks/0")) == {
        "Success": False,
        "Error": "Element not found. ",
        "ErrorCode": 0x80070490,
    }
    assert json.loads(node.hns.call("POST", "/networks/", "{"))["ErrorCode"] == 0x803B001B
    node.faults.hns_errors["POST /networks/"] = 0x8007000E
    answer = json.loads(node.hns.call("POST", "/networks/", json.dumps(L2BRIDGE)))
    assert answer["ErrorCode"] == 2147942414
    assert answer["Error"] == "Not enough memory resources are available to complete this operation. "


def test_a_restart_of_the_service_keeps_networks_only(node: SimulatedNode) -> None:
    network = settled(node, L2BRIDGE)
    endpoint = node.hns.create_endpoint({"Name": "cbr0_ep", "VirtualNetwork": network["ID"]})
    node.hns.attach_endpoint(endpoint["ID"])
    node.hns.create_policy_list({"References": [f"/endpoints/{endpoint['ID']}"], "Policies": [{"Type": "ELB"}]})
    node.services.stop("hns")
    node.clock.advance(5)
    node.services.start_later("hns")
    node.clock.advance(5)
    assert [item["Name"] for item in node.hns.networks] == ["cbr0"]
    assert node.hns.endpoints == node.hns.policy_lists == []
    assert node.adapters.named("vEthernet (cbr0_ep)") is None and node.online


def test_a_restart_of_the_machine_drops_what_is_not_persistent(node: SimulatedNode) -> None:
    network = settled(node, OVERLAY)
    node.hns.create_endpoint({"VirtualNetwork": network["ID"]})
    assert node.adapters.named("vEthernet (Ethernet)") is not None
    node.restart()
    node.clock.advance(5)
    assert node.hns.networks == node.hns.endpoints == []
    assert node.adapters.named("vEthernet (Ethernet)") is None and node.online
    network = settled(node, L2BRIDGE)
    node.hns.create_endpoint({"VirtualNetwork": network["ID"], "Name": "stays"})
    node.hns.create_namespace()
    node.restart()
    node.clock.advance(5)
    assert [item["Name"] for item in node.hns.endpoints] == ["stays"] and node.hns.namespaces == []
    assert node.adapters.named("vEthernet (Ethernet)") is not None and node.online


def test_a_persistent_network_keeps_the_switch_of_one_that_is_not(node: SimulatedNode) -> None:
    settled(node, {**OVERLAY, "Name": "External", "Flags": 0})
    settled(node, OVERLAY)
    node.restart()
    node.clock.advance(5)
    assert [item["Name"] for item in node.hns.networks] == ["External"]
    assert node.adapters.named("vEthernet (Ethernet)") is not None


def test_a_nat_network_is_the_hosts_own(node: SimulatedNode) -> None:
    session = node.open_session()
    node.hns.create_network(
        {"Name": "nat", "Type": "NAT", "Subnets": [{"AddressPrefix": "172.20.0.0/20", "GatewayAddress": "172.20.0.1"}]}
    )
    assert not session.killed and node.online
    adapter = node.adapters.named("vEthernet (nat)")
    assert adapter is not None and node.adapters.addresses(adapter)[0].prefix == 20
    found = node.hns.network("nat")
    assert found is not None and found["ManagementIP"] == ""
