"""The external vSwitch: made once, explicitly, in a batch that the node itself rolls back."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components import networks
from ansible_collections.winkube.node.plugins.plugin_utils.components.flannel import virtual_switch
from ansible_collections.winkube.node.plugins.plugin_utils.engine.batch import Batch
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Version

from .windows_network import EXTERNAL, SWITCHED, VXLAN, adapter, reading

API = virtual_switch.ApiServer("10.127.130.1", 6443)


def management(found: Reading, interface_name: str = "Ethernet", address: str = "") -> networks.Management:
    return networks.management(found, interface_name=interface_name, address=address)


def batch(found: Reading, mode: str = "l2bridge", api: virtual_switch.ApiServer | None = API) -> Batch | None:
    return virtual_switch.batch(virtual_switch.network(mode, management(found), found), api, found, "flannel")


def test_a_bare_adapter_gets_the_placeholder_and_its_addresses_back() -> None:
    made = batch(reading())
    assert made is not None
    note, settings_note, network, addresses, ip, category = made.ops
    assert (note.op, dict(note.args)) == ("category_note", {"adapters": ["Ethernet"]})
    assert (settings_note.op, dict(settings_note.args)) == ("ip_note", {"adapters": ["Ethernet"]})
    assert (ip.op, ip.args["adapters"]) == ("ip_restore", ["vEthernet (Ethernet)"])
    assert (category.op, category.args["adapters"]) == ("category_restore", ["vEthernet (Ethernet)"])
    assert json.loads(network.args["request"]) == {
        "Name": "External",
        "Type": "L2Bridge",
        "NetworkAdapterName": "Ethernet",
        "Subnets": [{"AddressPrefix": "192.168.255.0/30", "GatewayAddress": "192.168.255.1"}],
    }
    settings = {
        "ipv4": [{"address": "10.127.130.14", "prefix": 24}],
        "gateway": "10.127.130.1",
        "dns": ["10.127.130.53"],
        "dhcp": False,
        "wait_s": 120,
    }
    assert addresses.args == {"adapters": ["vEthernet (Ethernet)"], **settings}
    # The dead-man's switch: the network is removed, and the adapter gets its addresses back.
    assert [(op.op, dict(op.args)) for op in network.undo] == [
        ("hns_network_remove", {"name": "External"}),
        ("addresses", {"adapters": ["Ethernet"], **settings}),
        ("ip_restore", {"adapters": ["Ethernet"], "wait_s": 120}),
    ]
    assert [dict(op.args) for op in made.gate] == [
        {"for": "tcp", "host": "10.127.130.1", "port": 6443, "timeout_s": 120},
        {"for": "hns_network", "name": "External", "management_ip": True, "timeout_s": 120},
    ]
    assert {query.key for query in made.state} == {"adapters", "hns"}


def test_overlay_gets_a_vsid_of_its_own() -> None:
    made = batch(reading(), "overlay")
    assert made is not None
    request = json.loads(made.ops[2].args["request"])
    assert request["Type"] == "Overlay"
    assert request["Subnets"][0]["Policies"] == [{"Type": "VSID", "VSID": 9999}]


def test_without_an_address_of_the_api_server_nobody_waits_for_it() -> None:
    made = batch(reading(), api=None)
    assert made is not None
    assert [op.args["for"] for op in made.gate] == ["hns_network"]


def test_it_is_made_once() -> None:
    assert batch(SWITCHED) is None
    # HNS names the adapter, even while the address is still moving to the switch.
    assert batch(reading(networks=[EXTERNAL])) is None
    # A switch made by others is enough.
    assert batch(reading(adapters=[adapter("vEthernet (Ethernet)")])) is None


def test_networks_elsewhere_do_not_count() -> None:
    other = EXTERNAL | {"NetworkAdapterName": "Ethernet 2"}
    nat = {"ID": "n", "Name": "nat", "Type": "nat", "Subnets": [{"AddressPrefix": "172.20.0.0/20"}]}
    assert batch(reading(networks=[other, nat])) is not None


def test_a_switch_of_another_type_is_a_sentence() -> None:
    with pytest.raises(Refused, match="'vxlan0' of type Overlay; winkube_network_mode l2bridge needs L2Bridge"):
        batch(reading(networks=[VXLAN]))
    assert batch(reading(networks=[VXLAN]), "overlay") is None


OLD, NEW = Version.parse("0.24.0"), Version.parse("0.24.1")


def parts(found: Reading, version: Version, mode: str = "overlay") -> list[str]:
    made = virtual_switch.networks_of(mode, management(found), found, version, "vxlan0", API)
    return [change.text.partition(";")[0] for each in made if (change := each.change(found)) is not None]


@pytest.mark.row("NW-08")
def test_a_flanneld_that_names_the_adapter_makes_the_switch_itself() -> None:
    assert parts(reading(), OLD) == ["create the external vSwitch on Ethernet (HNS network External)"]
    assert parts(reading(), NEW, "l2bridge") == ["create the external vSwitch on Ethernet (HNS network External)"]
    assert parts(reading(), NEW) == ["have flanneld create the external vSwitch on Ethernet (HNS network vxlan0)"]
    _, made = virtual_switch.networks_of("overlay", management(reading()), reading(), NEW, "vxlan0", API)
    change = made.change(reading())
    assert change is not None
    *notes, noted = change.prepare
    assert [op.op for op in notes] == ["category_note", "ip_note"]
    assert (noted.op, dict(noted.args)) == ("hns_network", {"name": "vxlan0"})
    # The dead-man's switch, after flanneld was stopped: its network is removed, and the adapter gets its addresses
    # back.
    assert [op.op for op in noted.undo] == ["hns_network_remove", "addresses", "ip_restore"]
    assert noted.undo[1].args["adapters"] == ["Ethernet"]
    assert [(op.op, op.args.get("for") or op.args.get("adapters")) for op in change.finish] == [
        ("wait", "hns_network"),
        ("addresses", ["vEthernet (Ethernet)"]),
        ("ip_restore", ["vEthernet (Ethernet)"]),
        ("category_restore", ["vEthernet (Ethernet)"]),
        ("wait", "tcp"),
        ("wait", "hns_network"),
    ]


PLACEHOLDER = EXTERNAL | {"Type": "Overlay"}


@pytest.mark.row("NW-08")
def test_beside_a_flanneld_that_names_the_adapter_no_placeholder_stays() -> None:
    vnic = [adapter("Ethernet") | {"ipv4": []}, adapter("vEthernet (Ethernet)")]
    both = reading(adapters=vnic, networks=[PLACEHOLDER, VXLAN])
    assert parts(both, NEW) == ["remove the HNS network External"]
    assert parts(both, OLD) == []
    # After a restart flannel's own network is gone, and HNS refuses it beside the placeholder.
    alone = reading(adapters=vnic, networks=[PLACEHOLDER])
    assert parts(alone, NEW) == [
        "remove the HNS network External",
        "have flanneld create the external vSwitch on Ethernet (HNS network vxlan0)",
    ]
    assert parts(reading(adapters=vnic, networks=[VXLAN]), NEW) == []
    other = VXLAN | {"ID": "c", "Name": "theirs"}
    with pytest.raises(Refused, match="'theirs', so its address is on the virtual switch's adapter"):
        parts(reading(adapters=vnic, networks=[other]), NEW)


def test_without_hns_there_is_no_network() -> None:
    none = reading().merge({"hns": {"available": False}})
    with pytest.raises(Refused, match="This node has no HNS"):
        batch(none)
    # In check mode the feature may still be planned.
    assert batch(replace(none, predicted=True)) is not None


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ({"error": "HNS did not answer within 10 s."}, "did not answer within 10 s"),
        (json.dumps({"Success": False, "Error": "Not enough memory.", "ErrorCode": 2147942414}), "Not enough memory"),
        ("<html>", "what is not JSON: '<html>'"),
    ],
)
def test_an_error_of_hns_is_passed_on(answer: Any, sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        batch(reading().merge({"hns": {"available": True, "networks": answer}}))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", None),
        ("10.0.0.1:6443", virtual_switch.ApiServer("10.0.0.1", 6443)),
        ("https://api.example.com:6443/", virtual_switch.ApiServer("api.example.com", 6443)),
        ("https://api.example.com", virtual_switch.ApiServer("api.example.com", 443)),
        ("https://[fd00::1]:6443", virtual_switch.ApiServer("fd00::1", 6443)),
    ],
)
def test_the_address_of_the_api_server(text: str, found: virtual_switch.ApiServer | None) -> None:
    assert virtual_switch.ApiServer.of(text) == found


@pytest.mark.parametrize("text", ["api.example.com", ":6443", "10.0.0.1:https"])
def test_what_is_no_address_is_a_sentence(text: str) -> None:
    with pytest.raises(Refused, match="is not an address such as"):
        virtual_switch.ApiServer.of(text)


# -- the node's own address --------------------------------------------------------------------------------------------


@pytest.mark.row("HP-07", "NW-09")
def test_the_address_is_the_adapters_first_also_on_its_virtual_switch() -> None:
    two = reading(adapters=[adapter("Ethernet 2", "172.16.0.9"), adapter()])
    assert management(two).address == "10.127.130.14"
    assert management(two, "ethernet 2").address == "172.16.0.9"
    for name in ("vEthernet (Ethernet)", "vEthernet (Ethernet) 2", "VETHERNET (Ethernet)"):
        under = adapter("Ethernet") | {"ipv4": []}
        found = management(reading(adapters=[under, adapter(name)]))
        assert (found.adapter.name, found.adapter.physical, found.address) == (name, "Ethernet", "10.127.130.14")
    assert management(two).subnet == "10.127.130.0/24"


@pytest.mark.row("HP-07", "NW-09", "FL-02")
def test_adapters_and_addresses_that_are_not_there_are_named() -> None:
    with pytest.raises(Refused, match="no network adapter 'Ethernet 7' on this host; it has 'Ethernet'"):
        management(reading(), "Ethernet 7")
    with pytest.raises(
        Refused, match=r"10\.9\.9\.9 is not an address of this host, which has 10\.127\.130\.14 \(Ethernet\)"
    ):
        management(reading(), address="10.9.9.9")
    with pytest.raises(Refused, match=r"has no IPv4 address but 169\.254"):
        management(reading(adapters=[adapter(address="169.254.7.7")]))
    assert management(reading(), "Ethernet 7", "10.127.130.14").adapter.name == "Ethernet"
