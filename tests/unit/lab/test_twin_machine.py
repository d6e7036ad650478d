"""The twin's ops and queries about the machine: HNS networks under blips and cuts, lost addresses, certificates."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from typing import Any

import pytest

from tests.lab.machine.adapters import Address, ByHand, Family, Route
from tests.lab.machine.errors import PowerLost, SessionKilled, WinError
from tests.lab.machine.faults import CutKind, Fault, When
from tests.lab.machine.hns_errors import NO_MEMORY
from tests.lab.machine.image import Nic
from tests.lab.machine.node import SimulatedNode
from tests.lab.twin import submit
from tests.lab.twin.node import LabNode
from tests.lab.twin.ops import execute_op
from tests.lab.twin.submit import apply, envelope
from tests.unit.lab.test_machine_hns import L2BRIDGE

STATE = "C:\\ProgramData\\winkube"
MAKE = {"name": "cbr0", "request": json.dumps(L2BRIDGE)}
BACK = {"adapters": ["vEthernet (Ethernet)", "Ethernet"], "ipv4": [{"address": "10.7.0.25", "prefix": 24}]}


@pytest.fixture
def node() -> SimulatedNode:
    return LabNode("win1")


def probe(node: SimulatedNode, **query: Any) -> Any:
    return submit.probe(node, node.open_console(), query)["0"]


def recorded(node: SimulatedNode) -> dict[str, str]:
    found: dict[str, str] = json.loads(node.drive.read(f"{STATE}\\networks.json"))["networks"]
    return found


def test_without_the_feature_there_is_no_hns() -> None:
    bare = LabNode("bare", containers=False)
    assert probe(bare, op="hns", objects=["networks"]) == {"available": False}
    assert "Containers" in execute_op(bare, "hns_network", MAKE)["failed"]
    assert execute_op(bare, "hns_network_remove", {"name": "cbr0"}) == {"changed": False}


def test_the_write_op_starts_the_service_the_query_does_not(node: SimulatedNode) -> None:
    node.services.stop("hns")
    node.clock.advance(5)
    assert "stopped" in probe(node, op="hns", objects=["networks"])["networks"]["error"]
    assert node.services.state("hns") == "stopped"
    assert execute_op(node, "hns_network", MAKE)["changed"] is True
    assert node.services.state("hns") == "running"


def test_what_hns_says_of_its_own_failure_is_handed_on_as_it_came(node: SimulatedNode) -> None:
    node.faults.hns_errors["GET /networks/"] = NO_MEMORY
    found = probe(node, op="hns", objects=["networks", "endpoints"])
    assert json.loads(found["networks"]) == {
        "Success": False,
        "Error": "Not enough memory resources are available to complete this operation. ",
        "ErrorCode": NO_MEMORY,
    }
    assert json.loads(found["endpoints"])["Success"] is True


def test_a_network_with_endpoints_is_left_its_own_gateway_goes_with_it(node: SimulatedNode) -> None:
    made = execute_op(node, "hns_network", MAKE)
    node.clock.advance(70)
    own = node.hns.create_endpoint({"Name": "cbr0_ep", "VirtualNetwork": made["id"]})
    node.hns.attach_endpoint(own["ID"])
    pod = node.hns.create_endpoint({"Name": "pod1", "VirtualNetwork": made["id"]})
    assert "carries 1 endpoints (pod1)" in execute_op(node, "hns_network_remove", {"name": "cbr0"})["failed"]
    node.hns.delete_endpoint(pod["ID"])
    assert execute_op(node, "hns_network_remove", {"name": "cbr0"})["changed"] is True
    assert node.hns.networks == node.hns.endpoints == [] and recorded(node) == {}


def test_a_network_that_is_not_recorded_goes_by_its_id(node: SimulatedNode) -> None:
    made = node.hns.create_network(L2BRIDGE)
    assert "was not made here" in execute_op(node, "hns_network_remove", {"name": "cbr0"})["failed"]
    assert execute_op(node, "hns_network_remove", {"name": "cbr0", "id": made["ID"].lower()})["changed"] is True


def test_what_hns_says_is_told_also_when_the_disk_is_full_by_then(node: SimulatedNode) -> None:
    """Striking the note out failed, and that was all one heard."""
    node.faults.hns_errors["POST /networks/"] = 0x8007000E
    node.faults.arm(Fault("disk_full", 0, "in"))
    assert "0x8007000e" in execute_op(node, "hns_network", MAKE)["failed"]


def test_a_network_that_has_met_its_domain_is_left_to_it(node: SimulatedNode) -> None:
    """It was tried to make it private again, which Windows refuses, until the time was up."""
    adapter = node.adapters.named("Ethernet")
    assert adapter is not None
    names = {"adapters": ["Ethernet"]}
    assert execute_op(node, "category_note", names)["category"] == "private"
    adapter.category = "Domain"
    with pytest.raises(WinError):
        node.adapters.set_category(adapter, "Private")
    assert execute_op(node, "category_restore", names) == {"changed": False, "category": "domain"}


def test_a_refused_network_is_not_recorded(node: SimulatedNode) -> None:
    node.faults.hns_errors["POST /networks/"] = 0x8007000E
    failed = execute_op(node, "hns_network", MAKE)
    assert "0x8007000e" in failed["failed"] and "Not enough memory" in failed["failed"]
    assert recorded(node) == {}


@pytest.mark.parametrize("static_lost", [False, True], ids=["comes back", "static address lost"])
def test_a_batch_outlives_the_blip_and_brings_the_address_back(node: SimulatedNode, static_lost: bool) -> None:
    node.faults.lost_static_address = static_lost
    back = {**BACK, "gateway": "10.7.0.1", "dns": ["10.7.0.2"], "dhcp": False}
    ops: list[dict[str, Any]] = [
        {"op": "hns_network", "args": MAKE, "undo": [{"op": "hns_network_remove", "args": {"name": "cbr0"}}]},
        {"op": "addresses", "args": back},
    ]
    gate = [
        {"op": "wait", "args": {"for": "hns_network", "name": "cbr0", "management_ip": True, "timeout_s": 30}},
        {"op": "wait", "args": {"for": "adapter", "name": "vEthernet (Ethernet)", "timeout_s": 30}},
    ]
    with pytest.raises(SessionKilled):
        apply(node, node.open_session(), envelope(batch_id="a" * 32, ops=ops, gate=gate))
    assert not node.online
    node.clock.advance(200)
    assert node.online
    answer = apply(node, node.open_session(), envelope(kind="follow", batch_id="a" * 32))
    assert answer["outcome"] == "done"
    assert answer["results"][1] == {
        "n": 1,
        "op": "addresses",
        "ok": True,
        "changed": static_lost,
        "adapter": "vEthernet (Ethernet)",
    }
    # The NIC under the switch has no IP any more, and so is not among the interfaces.
    [now] = probe(node, op="adapters")
    assert (now["name"], now["ipv4"], now["gateways"]) == ("vEthernet (Ethernet)", BACK["ipv4"], ["10.7.0.1"])
    nic = node.adapters.named("Ethernet")
    assert nic is not None and nic.mac == now["mac"] and nic.index != now["index"]


def test_the_way_back_sets_what_the_switch_took(node: SimulatedNode) -> None:
    """Undo in reverse: the network goes, then the NIC gets its addresses: also when the switch lost them."""
    before = node.dump()["adapters"]
    node.faults.lost_static_address = True
    back = {"adapters": ["Ethernet"], "ipv4": BACK["ipv4"], "gateway": "10.7.0.1", "dns": ["10.7.0.2"], "dhcp": False}
    undo = [
        {"op": "hns_network_remove", "args": {"name": "cbr0"}},
        {"op": "addresses", "args": back},
        {"op": "ip_restore", "args": {"adapters": ["Ethernet"]}},
    ]
    ops: list[dict[str, Any]] = [
        {"op": "ip_note", "args": {"adapters": ["Ethernet"]}},
        {"op": "hns_network", "args": MAKE, "undo": undo},
        {"op": "wait", "args": {"for": "tcp", "host": "api", "port": 6443, "timeout_s": 60}},
    ]
    with pytest.raises(SessionKilled):
        apply(node, node.open_session(), envelope(batch_id="b" * 32, ops=ops))
    node.clock.advance(400)
    answer = apply(node, node.open_session(), envelope(kind="follow", batch_id="b" * 32))
    assert answer["outcome"] == "undone" and node.hns.networks == []
    assert node.dump()["adapters"] == before


def by_hand(node: SimulatedNode, name: str) -> tuple[ByHand, tuple[str, ...]]:
    adapter = node.adapters.named(name)
    assert adapter is not None and adapter.settings is not None
    return adapter.settings.by_hand, adapter.settings.dns


@pytest.mark.parametrize("power", [False, True], ids=["", "power lost while it is set"])
@pytest.mark.parametrize("dhcp", [False, True], ids=["static", "dhcp"])
def test_what_was_set_by_hand_is_on_the_adapter_of_the_switch(dhcp: bool, power: bool) -> None:
    """Routes in force and persistent, IPv6, servers, suffix, metric, MTU: what was noted outlives a restart."""
    six = Family(dhcp=False, metric=30, mtu=1400, dns=("fd00:7::2",))
    routes = (Route("169.254.169.254/32", "10.7.0.1"), Route("fd00:9::/48", "fd00:7::1", 5, persistent=False))
    set_by_hand = ByHand(routes, (Address("fd00:7::25", 64),), six, 15, 1460, "corp.example", False, True)
    node = LabNode("win1", nic=Nic(dhcp=dhcp, by_hand=set_by_hand))
    nic = node.adapters.named("Ethernet")
    assert nic is not None and nic.settings is not None
    nic.settings = replace(nic.settings, dns=("10.7.0.9",))
    before = by_hand(node, "Ethernet")
    there = {"adapters": ["vEthernet (Ethernet)"]}
    ops: list[dict[str, Any]] = [
        {"op": "ip_note", "args": {"adapters": ["Ethernet"]}},
        {"op": "hns_network", "args": MAKE, "undo": [{"op": "hns_network_remove", "args": {"name": "cbr0"}}]},
        {"op": "ip_restore", "args": there},
    ]
    if power:
        node.faults.arm(Fault("power", 2, "in", boot_after_s=20))
    with contextlib.suppress(SessionKilled, PowerLost):
        apply(node, node.open_session(), envelope(batch_id="d" * 32, ops=ops))
    node.clock.advance(600)
    answer = apply(node, node.open_session(), envelope(kind="follow", batch_id="d" * 32))
    if power:
        assert answer["outcome"] == "undone"
        assert execute_op(node, "ip_restore", {"adapters": ["Ethernet"]})["changed"] is True
        assert by_hand(node, "Ethernet") == before
        return
    assert answer["outcome"] == "done", answer
    assert by_hand(node, "vEthernet (Ethernet)") == before


@pytest.mark.parametrize("when", ["before", "in", "after"])
@pytest.mark.parametrize("kind", ["runner", "power"])
@pytest.mark.parametrize("label", ["noted", "made"])
def test_a_cut_while_the_network_is_made_is_taken_back(kind: CutKind, when: When, label: str) -> None:
    node = LabNode("win1", nic=Nic(dns=(), by_hand=ByHand()))
    before = node.dump()
    ops = [{"op": "hns_network", "args": MAKE, "undo": [{"op": "hns_network_remove", "args": {"name": "cbr0"}}]}]
    node.faults.arm(Fault(kind, 0, when, label=label if when == "in" else None, boot_after_s=20))
    with contextlib.suppress(SessionKilled, PowerLost):
        apply(node, node.open_session(), envelope(batch_id="c" * 32, ops=ops))
    node.clock.advance(600)
    answer = apply(node, node.open_session(), envelope(kind="follow", batch_id="c" * 32))
    if answer["outcome"] == "done":  # cut before the intent: it was started anew
        assert when == "before" and [item["Name"] for item in node.hns.networks] == ["cbr0"]
        return
    assert answer["outcome"] == "undone", answer
    after = node.dump()
    assert (after["hns"], after["adapters"]) == (before["hns"], before["adapters"]) and node.online


def test_encryption_is_what_the_node_is_set_to() -> None:
    assert probe(LabNode("win1"), op="encryption", volume="C:") == {"state": "unknown"}
    node = LabNode("win2", encryption={"c:": "on"}, nic=Nic(name="LAN 1", dhcp=True))
    assert probe(node, op="encryption", volume="C:") == {"state": "on"}
    found = probe(node, op="adapters")
    assert [(item["name"], item["dhcp"]) for item in found] == [("LAN 1", True)]


def test_a_long_computer_name_is_whole_in_tcpip_only(node: SimulatedNode) -> None:
    assert execute_op(node, "computer_name", {"name": "worker-of-the-third-row"})["changed"] is True
    assert execute_op(node, "computer_name", {"name": "worker-of-the-third-row"})["changed"] is False
    assert execute_op(node, "computer_name", {"name": "worker-of-the-thi"})["changed"] is True
    for name in ("123", "-a", "a b", "a" * 64):
        assert "could not be renamed" in execute_op(node, "computer_name", {"name": name})["failed"], name
