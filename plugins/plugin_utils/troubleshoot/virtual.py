# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the host of a virtual machine lets the pods' MAC addresses through."""

from __future__ import annotations

from collections.abc import Mapping

from ..components import networks
from ..engine.reading import Query
from ..network.virtual_machine import hypervisor, plain
from .evidence import Evidence
from .model import Answer, broken, cannot_tell, does_not_apply, ok

BIOS = Query("registry:bios", "registry", (("path", r"HKLM\HARDWARE\DESCRIPTION\System\BIOS"),))
GUEST = Query("registry:guest", "registry", (("path", r"HKLM\SOFTWARE\Microsoft\Virtual Machine\Guest\Parameters"),))
"""What a Hyper-V host tells its guests: VirtualMachineName, PhysicalHostName. Source: learn.microsoft.com, Hyper-V
integration services, key-value pair exchange."""

_VIRTUAL_MACHINES = ("virtual", "vmware", "kvm", "qemu", "xen", "bochs", "hvm", "openstack", "google compute", "ec2")

PROMISCUOUS = {
    "microsoft corporation": "On its Hyper-V host: Set-VMNetworkAdapter -VMName {name} -MacAddressSpoofing On",
    "vmware": "In vSphere, on the port group: promiscuous mode, MAC address changes and forged transmits: Accept",
}
"""How MAC spoofing is allowed, by the manufacturer in the machine's BIOS."""


def mac_spoofing(evidence: Evidence) -> Answer:
    """The host of a virtual machine drops frames with the pods' MAC addresses unless it is told otherwise."""
    if not evidence.expected.kubernetes:
        return does_not_apply("the node runs no Kubernetes.")
    maker = _of_registry(evidence, BIOS, "SystemManufacturer")
    product = _of_registry(evidence, BIOS, "SystemProductName")
    listed = [one for one in evidence.first.parts.get(networks.ADAPTERS) or () if isinstance(one, Mapping)]
    on = "" if maker or product else hypervisor(listed)
    seen = [f"manufacturer: {maker or 'not known'}, product: {product or 'not known'}"]
    if on:
        seen.append(f"its adapters are those of {on}")
    name = _of_registry(evidence, GUEST, "VirtualMachineName") or evidence.host
    allow = next((text for who, text in PROMISCUOUS.items() if who in maker.casefold()), "").format(name=name)
    own = {plain(str(one.get("mac") or "")) for one in listed}
    ours = [one for one in evidence.hyperv or () if one.mac in own]
    seen += [
        f"Hyper-V, {one.machine}, {one.name} ({one.mac}): MacAddressSpoofing {'On' if one.spoofing else 'Off'}"
        for one in ours
    ]
    off = [one for one in ours if not one.spoofing]
    if off:
        names = ", ".join(f"{one.name} of {one.machine}" for one in off)
        return broken(
            f"MAC spoofing is off on {names}: the Hyper-V host drops what pods send.",
            f"On the Hyper-V host: Set-VMNetworkAdapter -VMName {off[0].machine} -MacAddressSpoofing On",
            seen,
        )
    if ours:
        return ok("The Hyper-V host lets the pods' MAC addresses through.", seen)
    if on or _is_virtual(maker, product):
        return cannot_tell(
            "This node is a virtual machine, and from inside nobody sees whether its host lets the pods' MAC addresses "
            "through.",
            allow or "Allow MAC spoofing (promiscuous mode, forged transmits) on all its network adapters on its host.",
            f"Get-VMNetworkAdapter -VMName {name} | Format-List Name, MacAddress, MacAddressSpoofing",
            seen,
        )
    if not maker and not product:
        return cannot_tell(
            "Whether this node is a virtual machine is not known.",
            "If it is one, allow MAC spoofing on all its network adapters on its host.",
            "Get-CimInstance Win32_ComputerSystem | Format-List Manufacturer, Model",
            seen,
        )
    return ok("This node is no virtual machine.", seen)


def _of_registry(evidence: Evidence, query: Query, name: str) -> str:
    values = (evidence.first.parts.get(query.key) or {}).get("values") or {}
    return str((values.get(name) or {}).get("value") or "")


def _is_virtual(maker: str, product: str) -> bool:
    text = f"{maker} {product}".casefold()
    return any(word in text for word in _VIRTUAL_MACHINES)
