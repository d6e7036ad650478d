"""Adapters, the blip of a virtual switch, lost static addresses, netsh, restarts, the computer's name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.lab.machine import image
from tests.lab.machine.adapters import Address, ByHand, Family, Route
from tests.lab.machine.builds import build
from tests.lab.machine.errors import PowerLost, SessionKilled, Unreachable
from tests.lab.machine.hns_errors import HnsError
from tests.lab.machine.image import Nic
from tests.lab.machine.network import NetworkError
from tests.lab.machine.node import SimulatedNode
from tests.lab.machine.program import Completed
from tests.lab.twin.node import LabNode
from tests.unit.lab.test_machine_hns import L2BRIDGE, OVERLAY

NETSH = "C:\\Windows\\System32\\netsh.exe"
SHUTDOWN = "C:\\Windows\\System32\\shutdown.exe"
STATIC = Nic(address="10.7.0.25", dns=("10.7.0.2", "10.7.0.3"))
DHCP = Nic(dhcp=True)


@pytest.fixture
def node() -> SimulatedNode:
    return LabNode("win1", nic=STATIC)


def netsh(node: SimulatedNode, *arguments: str) -> Completed:
    return node.run(NETSH, ["interface", "ipv4", *arguments])


def switch_adapter(node: SimulatedNode) -> list[str]:
    found = node.adapters.named("vEthernet (Ethernet)")
    assert found is not None
    return [item.address for item in node.adapters.addresses(found)]


@pytest.mark.parametrize("nic", [STATIC, DHCP], ids=["static", "dhcp"])
def test_the_first_switch_takes_the_network_away_and_brings_it_back(nic: Nic) -> None:
    node = LabNode("win1", nic=nic, hosts={"api": "127.0.0.1:1"})
    session = node.open_session()
    cuts: list[tuple[float, bool]] = []
    node.on_cut.append(lambda told: cuts.append((node.clock.now(), told)))
    before = node.adapters.named("Ethernet")
    assert before is not None
    mac, index, started = before.mac, before.index, node.clock.now()
    node.hns.create_network(L2BRIDGE)
    assert session.killed and cuts == [(started, False)] and not node.online
    with pytest.raises(Unreachable):
        node.open_session()
    with pytest.raises(NetworkError, match="unreachable network"):
        node.network.get("http://api/")
    assert before.settings is None and node.adapters.addresses(before) == ()
    after = node.adapters.named("vEthernet (Ethernet)")
    assert after is not None and after.mac == mac and after.index > index
    assert node.clock.advance_until(lambda: node.online, 60)
    assert 5 <= node.clock.now() - started <= 60
    assert node.adapters.addresses(after) == (Address("10.7.0.25", 24),)
    assert node.adapters.current(after).gateways == ("10.7.0.1",)
    assert node.adapters.current(after).dhcp is nic.dhcp
    assert not node.open_session().killed


def test_hns_takes_the_adapter_below_a_switch_and_not_its_own(node: SimulatedNode) -> None:
    node.hns.create_network(L2BRIDGE)
    for asked in (
        {"NetworkAdapterName": "vEthernet (Ethernet)"},
        {"Policies": [{"Type": "NetAdapterName", "Settings": {"NetworkAdapterName": "vEthernet (Ethernet)"}}]},
    ):
        with pytest.raises(HnsError, match="0x803b0006"):
            node.hns.create_network({**L2BRIDGE, "Name": "second", **asked})


def test_the_management_ip_comes_within_5_s(node: SimulatedNode) -> None:
    node.hns.create_network(L2BRIDGE)
    node.clock.advance(70)
    session = node.open_session()
    made = node.hns.create_network({**L2BRIDGE, "Name": "second", "NetworkAdapterName": "Ethernet"})
    assert not session.killed and node.online, "a later network of that type is no blip"
    assert made["ManagementIP"] == ""
    node.clock.advance(5)
    found = node.hns.network("second")
    assert found is not None and found["ManagementIP"] == "10.7.0.25"


def test_the_last_network_gives_the_nic_its_address_back_with_a_blip() -> None:
    node = LabNode("win1", nic=replace(STATIC, dns=(), by_hand=ByHand()))
    before = node.dump()
    first = node.hns.create_network(L2BRIDGE)
    second = node.hns.create_network({**L2BRIDGE, "Name": "second"})
    node.clock.advance(70)
    session = node.open_session()
    node.hns.delete_network(first["ID"])
    assert not session.killed and node.online
    node.hns.delete_network(second["ID"])
    assert session.killed and not node.online
    node.clock.advance(70)
    assert node.online and node.dump() == before


def test_a_switch_carries_nothing_over_that_was_set_by_hand(node: SimulatedNode) -> None:
    """And does not give it back when it goes: routes, IPv6, name servers, suffix, metric."""
    nic = node.adapters.named("Ethernet")
    assert nic is not None and nic.settings is not None and nic.settings.by_hand.routes and nic.settings.dns
    active = Route("10.99.0.0/16", "10.7.0.9", persistent=False)
    nic.settings = replace(nic.settings, by_hand=ByHand((*nic.settings.by_hand.routes, active), mtu=1460))
    assert node.adapters.mtu(nic) == 1460
    node.restart()
    node.clock.advance(60)
    assert active not in nic.settings.by_hand.routes, "in force until the next boot"
    made = node.hns.create_network(L2BRIDGE)
    node.clock.advance(70)
    switch = node.adapters.named("vEthernet (Ethernet)")
    assert switch is not None and switch.settings is not None
    assert (switch.settings.by_hand, switch.settings.dns) == (ByHand(), ())
    assert node.adapters.mtu(switch) == 1500
    node.hns.delete_network(made["ID"])
    assert nic.settings is not None and (nic.settings.by_hand, nic.settings.dns) == (ByHand(), ())


def test_a_lost_static_address_is_lost_until_somebody_sets_it(node: SimulatedNode) -> None:
    node.faults.lost_static_address = True
    node.hns.create_network(L2BRIDGE)
    node.clock.advance(600)
    assert not node.online and switch_adapter(node)[0].startswith("169.254.")
    network = node.hns.network("cbr0")
    assert network is not None and network["ManagementIP"] == ""
    node.restart()
    node.clock.advance(60)
    assert not node.online, "a restart does not bring it back"
    name = "name=vEthernet (Ethernet)"
    done = netsh(
        node, "set", "address", name, "source=static", "address=10.7.0.25", "mask=255.255.255.0", "gateway=10.7.0.1"
    )
    assert done.exit_code == 0 and node.online
    assert netsh(node, "add", "address", name, "address=10.7.0.26", "mask=255.255.255.0").exit_code == 0
    assert netsh(node, "set", "dnsservers", name, "source=static", "address=10.7.0.2", "validate=no").exit_code == 0
    assert netsh(node, "add", "dnsservers", name, "address=10.7.0.3", "validate=no").exit_code == 0
    adapter = node.adapters.named("vEthernet (Ethernet)")
    assert adapter is not None
    now = node.adapters.current(adapter)
    assert (now.dhcp, now.gateways, now.dns) == (False, ("10.7.0.1",), ("10.7.0.2", "10.7.0.3"))
    assert [item.address for item in now.addresses] == ["10.7.0.25", "10.7.0.26"]


def test_a_dhcp_address_is_not_lost_by_that_fault() -> None:
    node = LabNode("win1", nic=DHCP)
    node.faults.lost_static_address = True
    node.faults.blip_s = 7.0
    node.hns.create_network(L2BRIDGE)
    node.clock.advance(6.9)
    assert not node.online
    node.clock.advance(0.2)
    assert node.online


def test_netsh_by_position_and_its_refusals(node: SimulatedNode) -> None:
    assert netsh(node, "set", "address", "Ethernet", "static", "10.7.0.30", "255.255.255.0", "10.7.0.1").exit_code == 0
    assert not node.online, "the world knows another address"
    assert node.adapters.holder("10.7.0.30") is not None
    for arguments, said in (
        (("set", "address", "name=none", "static", "10.7.0.30"), b"volume label syntax"),
        (("add", "address", "Ethernet", "10.7.0.30", "255.255.255.0"), b"already exists"),
        (("set", "address", "Ethernet", "static", "10.7.0.300", "255.255.255.0"), b"parameter is incorrect"),
        (("show", "everything"), b"does not simulate"),
    ):
        done = netsh(node, *arguments)
        assert done.exit_code == 1 and said in done.stdout, arguments
    assert netsh(node, "set", "address", "Ethernet", "dhcp").exit_code == 0
    adapter = node.adapters.named("Ethernet")
    assert adapter is not None and node.adapters.addresses(adapter)[0].link_local, "no DHCP server knows it"


def test_a_program_in_a_session_does_not_survive_the_blip_a_task_does(node: SimulatedNode) -> None:
    node.drive.write("C:\\w.exe", build("worker", "1"))
    session = node.open_session()

    def make() -> None:
        node.hns.create_network(L2BRIDGE)

    node.clock.call_later(1, make)
    outside, _ = node.start_program("C:\\w.exe", ["--run", "100"])
    with pytest.raises(SessionKilled):
        node.run("C:\\w.exe", ["--run", "100"], session=session)
    assert outside.alive


def test_shutdown_returns_at_once_and_the_machine_comes_back(node: SimulatedNode) -> None:
    boot, session = node.boot_id, node.open_session()
    done = node.run(SHUTDOWN, ["/r", "/t", "5", "/c", "winkube: feature", "/d", "p:2:4"], session=session)
    asked = node.clock.now()
    assert done.exit_code == 0 and done.seconds < 1 and node.boot_id == boot
    assert node.run(SHUTDOWN, ["/r", "/t", "5"], session=session).exit_code == 1190
    node.clock.advance(4)
    assert not session.killed and node.online
    node.clock.advance(2)
    assert session.killed and not node.online and node.powered
    assert node.run(SHUTDOWN, ["/r"]).exit_code == 1115
    with pytest.raises(Unreachable):
        node.open_session()
    assert node.services.state("EventLog") in {"stop_pending", "stopped"}, "services are asked to stop"
    assert node.clock.advance_until(lambda: not node.powered, 60)
    with pytest.raises(PowerLost):
        node.open_session()
    assert node.clock.advance_until(lambda: node.powered, 120)
    assert 30 <= node.clock.now() - asked - 5 <= 60
    assert node.boot_id != boot and node.services.state("sshd") == "stopped"
    node.clock.advance(5)
    assert node.services.state("sshd") == "running" and node.online


def test_a_shutdown_can_be_taken_back_and_needs_rights(node: SimulatedNode) -> None:
    assert node.run(SHUTDOWN, ["/a"]).exit_code == 1116
    assert node.run(SHUTDOWN, ["/r", "/t", "60"]).exit_code == 0
    assert node.run(SHUTDOWN, ["/a"]).exit_code == 0
    node.clock.advance(300)
    assert node.boots == 1
    user = node.open_session("someone", elevated=False)
    assert node.run(SHUTDOWN, ["/r", "/t", "0"], session=user).exit_code == 5
    assert node.run(SHUTDOWN, ["/r", "/t", "soon"]).exit_code == 1
    assert node.run(SHUTDOWN, ["/s", "/t", "0"]).exit_code == 0
    node.clock.advance(3600)
    assert not node.powered


def test_a_new_name_is_in_force_after_a_restart(node: SimulatedNode) -> None:
    image.rename_computer(node.registry, "worker-7")
    assert image.computer_name(node.registry) == "WIN1" and image.reboot_pending(node.registry)
    node.restart()
    assert image.computer_name(node.registry) == "WORKER-7" and not image.reboot_pending(node.registry)


def test_a_power_loss_in_the_blip_ends_it(node: SimulatedNode) -> None:
    node.hns.create_network(L2BRIDGE)
    node.clock.advance(1)
    node.power_off()
    node.boot()
    assert node.online and switch_adapter(node) == ["10.7.0.25"]
    node.clock.advance(5)
    assert [item["Name"] for item in node.hns.networks] == ["cbr0"]


def test_the_image_has_a_page_file_and_both_names(node: SimulatedNode) -> None:
    memory = f"{image.SESSION_MANAGER}\\Memory Management"
    found = node.registry.value(memory, "PagingFiles")
    assert found is not None and (found.type, found.data) == ("multi_string", ["?:\\pagefile.sys"])
    assert node.registry.text(f"{image.COMPUTER_NAME}\\ComputerName", "ComputerName") == "WIN1"


def test_ipconfig_and_hnsdiag(node: SimulatedNode) -> None:
    node.hns.create_network(OVERLAY)
    node.clock.advance(70)
    shown = node.run("C:\\Windows\\System32\\ipconfig.exe", ["/all"]).stdout.decode()
    assert "Ethernet adapter vEthernet (Ethernet):" in shown and ": 10.7.0.25" in shown and "255.255.255.0" in shown
    assert b"vxlan0" in node.run("C:\\Windows\\System32\\hnsdiag.exe", ["list", "networks"]).stdout
    assert node.run("C:\\Windows\\System32\\hnsdiag.exe", ["delete", "all"]).exit_code == 1


def test_a_tcp_connection(node: SimulatedNode) -> None:
    node.network.listen(10250, 4, lambda path: (200, b""))
    node.network.connect("127.0.0.1", 10250)
    node.network.connect("10.7.0.25", 10250)
    for host, port in (("127.0.0.1", 10251), ("10.7.0.25", 10251), ("nobody", 443)):
        with pytest.raises(NetworkError):
            node.network.connect(host, port)


def test_netsh_sets_what_a_new_switch_does_not_carry_over(node: SimulatedNode) -> None:
    """Routes, IPv6 addresses and servers of both families, by the adapter's index."""
    adapter = node.adapters.named("Ethernet")
    assert adapter is not None and adapter.settings is not None
    adapter.settings = replace(adapter.settings, dns=(), by_hand=ByHand())
    at = f"interface={adapter.index}"
    lines = [
        ("ipv4", "set", "dnsservers", f"name={adapter.index}", "source=static", "address=10.7.0.2", "validate=no"),
        ("ipv6", "set", "dnsservers", f"name={adapter.index}", "source=static", "address=fd00:7::2", "validate=no"),
        ("ipv6", "add", "address", at, "address=fd00:7::25/64"),
        ("ipv4", "add", "route", "prefix=169.254.169.254/32", at, "nexthop=10.7.0.1", "metric=1", "store=active"),
        ("ipv4", "add", "route", "prefix=169.254.169.254/32", at, "nexthop=10.7.0.1", "metric=1", "store=persistent"),
        ("ipv4", "set", "route", "prefix=169.254.169.254/32", at, "nexthop=10.7.0.1", "metric=5", "store=active"),
        ("ipv6", "add", "route", "prefix=fd00:9::/64", at, "metric=2", "store=active"),
    ]
    for line in lines:
        done = node.run(NETSH, ["interface", *line])
        assert done.exit_code == 0, done
    by_hand = ByHand(
        routes=(
            Route("169.254.169.254/32", "10.7.0.1", 5, persistent=True),
            Route("fd00:9::/64", "::", 2, persistent=False),
        ),
        ipv6=(Address("fd00:7::25", 64),),
        six=Family(dns=("fd00:7::2",)),
    )
    assert adapter.settings.dns == ("10.7.0.2",)
    assert adapter.settings.by_hand == by_hand
    refused = [
        ("ipv4", "set", "dnsservers", f"name={adapter.index}", "source=static", "address=fd00:7::2"),
        ("ipv6", "add", "address", at, "address=fd00:7::25/64"),
        ("ipv4", "add", "route", "prefix=169.254.169.254/32", at, "nexthop=10.7.0.1"),
        ("ipv4", "set", "route", "prefix=10.9.0.0/16", at, "nexthop=10.7.0.1"),
        ("ipv4", "add", "route", "prefix=10.9.0.0/16", "interface=99"),
    ]
    assert [node.run(NETSH, ["interface", *line]).exit_code for line in refused] == [1] * len(refused)
