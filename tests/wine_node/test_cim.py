"""What stands in for CIM says of the lab's adapter, before a virtual switch, behind it, and when all is set again."""

from __future__ import annotations

from typing import Any, cast

import pytest

from tests.lab.machine.adapters import Adapter
from tests.lab.machine.image import Nic
from tests.lab.machine.node import SimulatedNode
from tests.lab.programs.catalogue import PROGRAMS
from tests.wine_node.cim import GUID, Cim
from tests.wine_node.machine import Machine

NETWORK = {
    "Name": "External",
    "Type": "L2Bridge",
    "NetworkAdapterName": "eth0",
    "Subnets": [{"AddressPrefix": "192.168.255.0/30", "GatewayAddress": "192.168.255.1"}],
}


class Node(SimulatedNode):
    programs = PROGRAMS

    def __init__(self) -> None:
        super().__init__("win1", nic=Nic("eth0", "192.0.2.2"))
        self.shown: dict[str, str] = {}
        self.witness = self

    def ask(self, op: str, path: str, name: str, type: str, data: str) -> None:
        """What the witness is asked for: it writes a value of Wine's registry."""
        self.shown[f"{path}\\{name}"] = data


@pytest.fixture
def node() -> Node:
    return Node()


@pytest.fixture
def cim(node: Node) -> Cim:
    return Cim(cast(Machine, node), lambda _name: None)


def stored(cim: Cim, name: str, store: str = "ActiveStore") -> list[dict[str, Any]]:
    return list(cim.answer({"what": "store", "class": name, "store": store})["rows"])


def everything(cim: Cim) -> list[list[dict[str, Any]]]:
    names = ("MSFT_NetIPInterface", "MSFT_NetIPAddress", "MSFT_NetRoute", "MSFT_DNSClient")
    return [stored(cim, name, store) for name in names for store in ("ActiveStore", "PersistentStore")]


def test_the_adapter_has_the_name_that_wine_gives_it_and_its_servers_are_in_the_registry(node: Node, cim: Cim) -> None:
    (found,) = cim.answer({"what": "query", "class": "MSFT_NetAdapter", "query": "", "filter": "x"})["rows"]
    assert found == {"Name": "eth0", "InterfaceGuid": GUID}
    parameters = f"SYSTEM\\CurrentControlSet\\Services\\Tcpip\\Parameters\\Interfaces\\{GUID}"
    assert node.shown[f"{parameters}\\NameServer"] == "10.7.0.2"
    assert node.shown[f"{parameters}\\Domain"] == "corp.example"
    six = parameters.replace("Tcpip", "Tcpip6")
    assert node.shown[f"{six}\\NameServer"] == "fd00:7::2"
    (profile,) = cim.answer({"what": "query", "class": "MSFT_NetConnectionProfile", "query": ""})["rows"]
    assert profile == {"InterfaceAlias": "eth0", "NetworkCategory": 1}


def test_what_a_switch_takes_away_can_be_set_again(node: Node, cim: Cim) -> None:
    before = everything(cim)
    node.hns.create_network(NETWORK)
    node.clock.advance(60)
    assert everything(cim) != before
    adapter = cim.adapter
    assert adapter.name == "vEthernet (eth0)"
    for line in (
        ("ipv4", "set", "dnsservers", "name=4", "source=static", "address=10.7.0.2"),
        ("ipv6", "set", "dnsservers", "name=4", "source=static", "address=fd00:7::2"),
        ("ipv6", "add", "address", "interface=4", "address=fd00:7::25/64"),
        ("ipv4", "add", "route", "prefix=169.254.169.254/32", "interface=4", "nexthop=192.0.2.1", "metric=1"),
    ):
        done = node.run(r"C:\Windows\System32\netsh.exe", ["interface", *(cim.named(word) for word in line)])
        assert done.exit_code == 0, done
    metric = {"AddressFamily": "IPv4", "AutomaticMetric": "Disabled", "InterfaceMetric": 15}
    registration = {
        "ConnectionSpecificSuffix": "corp.example",
        "RegisterThisConnectionsAddress": True,
        "UseSuffixWhenRegistering": True,
    }
    cim.answer({"what": "set", "class": "MSFT_NetIPInterface", "values": metric})
    cim.answer({"what": "set", "class": "MSFT_DNSClient", "values": registration})
    assert everything(cim) == before
    assert cim.answer({"what": "set", "class": "MSFT_NetConnectionProfile", "values": {"NetworkCategory": 1}}) == {
        "class": "MSFT_NetConnectionProfile"
    }
    assert adapter.category == "Private"


def test_only_windows_itself_makes_a_network_the_domains(cim: Cim) -> None:
    asked = {"what": "set", "class": "MSFT_NetConnectionProfile", "values": {"NetworkCategory": 2}}
    assert "error" in cim.answer(asked)


def test_the_machine_is_renamed_in_both_registries(node: Node, cim: Cim) -> None:
    asked = {"what": "method", "class": "Win32_ComputerSystem", "method": "Rename", "values": {"Name": "edge-7"}}
    assert cim.answer(asked)["ReturnValue"] == 0
    names = {name: text for name, text in node.shown.items() if "ComputerName" in name or "Hostname" in name}
    assert sorted(names.values()) == ["EDGE-7", "edge-7"]


def test_another_argument_of_netshs_is_left_alone(cim: Cim, node: Node) -> None:
    adapter: Adapter | None = node.adapters.named("eth0")
    assert adapter is not None
    assert [cim.named(word) for word in ("name=winkube-kubelet", "name=eth0", "interface=4", "metric=4")] == [
        "name=winkube-kubelet",
        "name=eth0",
        "interface=eth0",
        "metric=4",
    ]
