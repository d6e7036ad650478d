# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes that are virtual machines: pods send with their own MAC addresses, which the hypervisor must allow.

The machine itself cannot see whether it does. A Hyper-V host can be asked:

    Get-VMNetworkAdapter -VMName * | Select-Object VMName, Name, MacAddress,
        @{n='MacAddressSpoofing'; e={[string]$_.MacAddressSpoofing}} | ConvertTo-Json

Source: kubernetes.io v1.20, Intro to Windows support, Troubleshooting ("My Windows Pods do not have network
connectivity"); learn.microsoft.com, Get-VMNetworkAdapter.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

HYPERVISORS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "Hyper-V": (("microsoft hyper-v network adapter",), ("00155D",)),
    "VMware": (("vmxnet",), ("005056", "000C29")),
    "KVM": (("red hat virtio",), ("525400",)),
    "VirtualBox": ((), ("080027",)),
}
"""Descriptions and address prefixes of adapters made by hypervisors.

Sources: the vendors' drivers' names; IEEE OUI registry (00-15-5D Microsoft, 00-50-56 and 00-0C-29 VMware, 08-00-27 PCS
Systemtechnik); 52-54-00 is libvirt's own, in no registry.
"""


class VmAdaptersError(Exception):
    """The Hyper-V host's output cannot be read; the text is a sentence."""


@dataclass(frozen=True, slots=True)
class VmAdapter:
    """A virtual machine's network adapter as its host sees it. `mac` is without separators, in capitals."""

    machine: str
    name: str
    mac: str
    spoofing: bool


def parse(text: str) -> tuple[VmAdapter, ...]:
    """From the output of the command in this module's docstring. VmAdaptersError for anything else."""
    try:
        found = json.loads(text)
    except ValueError:
        raise VmAdaptersError(f"vm_adapters: it is not JSON: '{text.strip()[:60]}'.") from None
    listed = [found] if isinstance(found, Mapping) else found
    if not isinstance(listed, list):
        raise VmAdaptersError("vm_adapters: it is not a list of adapters.")
    return tuple(_adapter(each) for each in listed if isinstance(each, Mapping))


def _adapter(found: Mapping[str, Any]) -> VmAdapter:
    said = str(found.get("MacAddressSpoofing") or "").casefold()
    if said not in {"on", "off"}:
        raise VmAdaptersError(
            f"vm_adapters: MacAddressSpoofing of {found.get('VMName')} is {found.get('MacAddressSpoofing')!r}, wanted "
            "On or Off: PowerShell writes it as a number unless it is made a text, [string]$_.MacAddressSpoofing."
        )
    return VmAdapter(
        machine=str(found.get("VMName") or ""),
        name=str(found.get("Name") or ""),
        mac=normalise_mac(str(found.get("MacAddress") or "")),
        spoofing=said == "on",
    )


def normalise_mac(mac: str) -> str:
    """The address without separators, in capitals."""
    return mac.replace("-", "").replace(":", "").upper()


def hypervisor(adapters: Iterable[Mapping[str, Any]]) -> str:
    """The hypervisor, by the machine's adapters as the probe lists them; empty if they do not tell."""
    for each in adapters:
        if str(each.get("name") or "").casefold().startswith("vethernet"):
            continue
        description, mac = str(each.get("description") or "").casefold(), normalise_mac(str(each.get("mac") or ""))
        for name, (descriptions, prefixes) in HYPERVISORS.items():
            if description.startswith(descriptions or ("\0",)) or mac.startswith(prefixes):
                return name
    return ""


def reminder(adapters: Iterable[Mapping[str, Any]]) -> str:
    """What to check from outside; empty if the machine is not a virtual machine, as far as that shows."""
    found = hypervisor(adapters)
    if not found:
        return ""
    return (
        f"The machine runs on {found}: its adapters have to be allowed other MAC addresses than their own (on Hyper-V "
        "Set-VMNetworkAdapter -MacAddressSpoofing On), else pods have no network. That cannot be seen from inside."
    )
