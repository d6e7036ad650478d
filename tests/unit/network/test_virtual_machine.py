"""MAC address spoofing of nodes that are virtual machines: asked of the Hyper-V host, else a reminder."""

from __future__ import annotations

import json
from random import Random

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.table import findings_in
from ansible_collections.winkube.node.plugins.plugin_utils.network import virtual_machine

from tests.unit.network.random_nodes import Node, healthy
from tests.unit.network.reading import scene


def said(spoofing: str, *, mac: str = "00155DEB4000", machine: str = "vm-7") -> str:
    """What the command in virtual_machine's docstring prints; one machine comes without a list around it."""
    return json.dumps({"VMName": machine, "Name": "Network Adapter", "MacAddress": mac, "MacAddressSpoofing": spoofing})


def found(node: Node, text: str) -> list[tuple[str, str]]:
    return [(each.id, each.remedy.plain) for each in findings_in(scene(node, None, virtual_machine.parse(text)))]


@pytest.mark.row("HP-06", "TS-07")
def test_a_host_that_drops_what_pods_send_is_found_and_its_twin_is_not() -> None:
    node = healthy(Random(3))
    assert found(node, said("Off")) == [
        ("host.mac-spoofing", "On the Hyper-V host: Set-VMNetworkAdapter -VMName vm-7 -MacAddressSpoofing On.")
    ]
    assert found(node, said("On")) == []


@pytest.mark.row("HP-06")
def test_other_machines_of_the_host_do_not_count() -> None:
    node = healthy(Random(3))
    other = said("Off", mac="00155D999999")
    assert found(node, other) == []
    assert found(node, f"[{said('On')}, {other}]") == []
    by_name = said("Off", mac="", machine=node.name.upper())
    assert [identity for identity, _ in found(node, by_name)] == ["host.mac-spoofing"]


@pytest.mark.row("HP-06", "TS-07")
@pytest.mark.parametrize(
    ("description", "mac", "wanted"),
    [
        ("Microsoft Hyper-V Network Adapter", "00-0D-3A-01-02-03", "Hyper-V"),
        ("Intel(R) 82574L Gigabit Network Connection", "00-15-5D-01-02-03", "Hyper-V"),
        ("vmxnet3 Ethernet Adapter", "00-50-56-01-02-03", "VMware"),
        ("Intel(R) 82574L Gigabit Network Connection", "00-0C-29-01-02-03", "VMware"),
        ("Red Hat VirtIO Ethernet Adapter", "FA-16-3E-01-02-03", "KVM"),
        ("Intel(R) PRO/1000 MT Desktop Adapter", "08-00-27-01-02-03", "VirtualBox"),
        ("Intel(R) Ethernet Controller X710", "3C-FD-FE-01-02-03", ""),
    ],
)
def test_a_virtual_machine_is_reminded_of(description: str, mac: str, wanted: str) -> None:
    own = {"name": "Ethernet", "description": description, "mac": mac}
    switch = {"name": "vEthernet (nat)", "description": "Hyper-V Virtual Ethernet Adapter", "mac": "00-15-5D-09-09-09"}
    assert virtual_machine.hypervisor([switch, own]) == wanted
    reminder = virtual_machine.reminder([switch, own])
    assert ("MacAddressSpoofing On" in reminder and wanted in reminder) if wanted else reminder == ""


@pytest.mark.parametrize("text", ["", "{", "3", said("1"), json.dumps([{"VMName": "a", "MacAddressSpoofing": 0}])])
def test_what_the_host_said_has_to_be_readable(text: str) -> None:
    with pytest.raises(virtual_machine.VmAdaptersError, match=r"^vm_adapters: "):
        virtual_machine.parse(text)
