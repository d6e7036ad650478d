# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the host: HNS and its services, adapters and their addresses."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from itertools import chain

from ..components.host import sshd
from ..components.host.node_fit import Machine
from ..components.networks import Adapter
from ..engine.sentences import join_words
from ..facts.windows import DISABLED
from ..facts.windows_revisions import find_bad, find_last, next_good
from ..network.model import POD_TYPES, Network
from ..network.port_blocks import BLOCK
from ..words.cause import ERROR, NOTE, WARNING, Area, Cause
from ..words.causes import CAUSES
from ..words.finding import Seen
from ..words.remedies import AFTER_HNS, advice, converge, playbook
from ..words.remedy import Ends
from .check import Check
from .scene import COMPUTE_SERVICE, HNS_SERVICE, Scene


def _absent(scene: Scene) -> Iterator[Seen]:
    if not scene.hns.available:
        yield Seen("HNS", "there is none on this machine", "the Host Network Service of the feature Containers")


def _unreadable(scene: Scene) -> Iterator[Seen]:
    for kind, sentence in scene.hns.errors:
        yield Seen(f"HNS {kind}", sentence.rstrip("."), "a list")


def _service_hns(scene: Scene) -> Iterator[Seen]:
    if scene.services is None or not scene.hns.available:
        return
    found = scene.service(HNS_SERVICE)
    if found is None:
        yield Seen("service hns", "it is not there", "installed and running")
    elif found.get("state") != "running":
        yield Seen("service hns", f"it is {found.get('state')}", "running")


def _service_vmcompute(scene: Scene) -> Iterator[Seen]:
    """It is started when it is needed: stopped is wrong only while pods are there."""
    if scene.services is None or not scene.hns.available:
        return
    found = scene.service(COMPUTE_SERVICE)
    if found is None:
        yield Seen("service vmcompute", "it is not there", "installed")
    elif found.get("start") == DISABLED:
        yield Seen("service vmcompute", "it is disabled", "started when it is needed")
    elif found.get("state") != "running":
        pods = [each for each in scene.hns.endpoints if scene.is_pods(each) and scene.hns.is_attached(each)]
        if pods:
            yield Seen("service vmcompute", f"it is {found.get('state')} with {len(pods)} endpoints of pods", "running")


def _adapter_missing(scene: Scene) -> Iterator[Seen]:
    wanted = scene.network_adapter.casefold()
    if not wanted or scene.adapters is None:
        return
    if not any(each.physical.casefold() == wanted for each in scene.adapters):
        there = sorted({each.physical for each in scene.adapters if not _of_endpoint(scene, each)})
        yield Seen(
            f"adapter {scene.network_adapter}",
            f"it is not there; there are: {join_words(there)}",
            "an adapter of this name",
            converge(
                "flannel",
                text=f"Name the one that has the host's address: {join_words(there)}.",
                variables=("winkube_interface_name",),
            ),
        )


_WIRELESS = re.compile(r"wi-?fi|wlan|wireless|drahtlos|sans fil|无线", re.IGNORECASE)
"""How Windows calls wireless adapters (English, German, French, Chinese)."""


def _wireless(scene: Scene) -> Iterator[Seen]:
    """Only where the network is missing: an access point only takes frames of one MAC address, so that HNS makes no
    bridge on it."""
    if scene.adapters is None or not scene.hns.knows("networks"):
        return
    if not scene.expected.flannel_is_ours or scene.pod_network:
        return
    wanted = scene.network_adapter.casefold()
    own = [each for each in scene.adapters if not each.is_virtual and (each.addresses or not wanted)]
    chosen = [each for each in own if not wanted or each.physical.casefold() == wanted]
    if chosen and all(_WIRELESS.search(each.physical) for each in chosen):
        yield Seen(
            f"adapter {chosen[0].name}", "it is a wireless one, and the pod network is not there", "a wired adapter"
        )


def _of_endpoint(scene: Scene, adapter: Adapter) -> bool:
    """Whether `vEthernet (..)` is an endpoint's or an internal network's, not one on a NIC."""
    names = {each.name.casefold() for each in scene.hns.endpoints}
    names |= {each.name.casefold() for each in scene.hns.networks if each.type not in POD_TYPES}
    return adapter.is_virtual and adapter.physical.casefold() in names


def _find_switched(scene: Scene) -> Iterator[Network]:
    """The networks on adapters of the host, one for each adapter."""
    seen: set[str] = set()
    for each in scene.hns.networks:
        if each.type in POD_TYPES and each.adapter and each.adapter.casefold() not in seen:
            seen.add(each.adapter.casefold())
            yield each


def _virtual(scene: Scene, name: str) -> Adapter | None:
    """`vEthernet (<name>)`."""
    own = (each for each in scene.adapters or () if each.is_virtual)
    return next((each for each in own if each.physical.casefold() == name.casefold()), None)


def _vethernet_missing(scene: Scene) -> Iterator[Seen]:
    if not scene.adapters:
        return
    for network in _find_switched(scene):
        if network.type != "transparent" and _virtual(scene, network.adapter) is None:
            names = join_words(each.name for each in scene.adapters)
            yield Seen(
                f"vEthernet ({network.adapter})",
                f"it is not there, though network {network.name} is on {network.adapter}; there are: {names}",
                "the host's adapter on the virtual switch",
            )


def _address_lost(scene: Scene) -> Iterator[Seen]:
    for network in _find_switched(scene):
        adapter = _virtual(scene, network.adapter)
        if adapter is None or any(not _link_local(own) for own, _length in adapter.addresses):
            continue
        has = join_words(own for own, _length in adapter.addresses)
        yield Seen(f"adapter {adapter.name}", f"its addresses are: {has}", "the host's address")


def _address_lost_unnamed(scene: Scene) -> Iterator[Seen]:
    """Where HNS names no adapter for its switch: no adapter of the host has an address of its own left."""
    unnamed = [each for each in scene.hns.networks if each.type in POD_TYPES and not each.adapter and each.prefixes]
    virtual = [each for each in scene.adapters or () if each.is_virtual and not _of_endpoint(scene, each)]
    if not unnamed or not virtual or any(True for _network in _find_switched(scene)):
        return
    own = [
        address for each in scene.adapters or () if not _of_endpoint(scene, each) for address, _length in each.addresses
    ]
    if not any(not _link_local(each) for each in own):
        yield Seen(f"adapter {virtual[0].name}", f"its addresses are: {join_words(own)}", "the host's address")


def _link_local(address: str) -> bool:
    return ipaddress.ip_address(address).is_link_local


def _management_missing(scene: Scene) -> Iterator[Seen]:
    network = scene.pod_network
    if network is not None and network.type in {"l2bridge", "overlay"} and not network.management_ip:
        yield Seen(f"network {network.name}", "it has no management address", "the host's address")


def _management_stale(scene: Scene) -> Iterator[Seen]:
    if scene.adapters is None:
        return
    own = {address for each in scene.adapters for address, _length in each.addresses}
    for network in scene.hns.networks:
        if network.type in POD_TYPES and network.management_ip and network.management_ip not in own:
            yield Seen(
                f"network {network.name}",
                f"its management address is {network.management_ip}, the host has {join_words(sorted(own))}",
                "an address of the host",
            )
    wanted = scene.expected.management_ip
    if wanted and wanted not in own:
        yield Seen("host", f"its addresses are {join_words(sorted(own))}", f"{wanted} among them")


def _hns_restarted(scene: Scene) -> Iterator[Seen]:
    times = dict(scene.started)
    hns, proxy = times.get(HNS_SERVICE, ""), times.get(scene.layout.kube_proxy_service, "")
    if scene.expected.kube_proxy_is_ours and hns and proxy and hns > proxy:
        yield Seen(
            "service hns", f"it was started {hns}, kube-proxy before that, {proxy}", "kube-proxy started after it"
        )


def _port_blocks(scene: Scene) -> Iterator[Seen]:
    for each in scene.ports:
        if each.free < LOW_BLOCKS:
            yield Seen(
                f"dynamic {each.protocol.upper()} ports",
                f"{each.free} blocks of {BLOCK} are free in {each.start}-{each.end}",
                f"at least {LOW_BLOCKS}",
            )


def _mac_spoofing(scene: Scene) -> Iterator[Seen]:
    """By the adapters' addresses, else by the machine's name."""
    own = [each for each in scene.vm_adapters if each.mac and each.mac in scene.macs]
    name = scene.expected.node_name.casefold()
    for each in own or [one for one in scene.vm_adapters if name and one.machine.casefold() == name]:
        if not each.spoofing:
            yield Seen(
                f"adapter {each.name} of the virtual machine {each.machine}",
                "MAC address spoofing is off",
                "on",
                advice(f"On the Hyper-V host: Set-VMNetworkAdapter -VMName {each.machine} -MacAddressSpoofing On."),
            )


def _bad_revision(scene: Scene) -> Iterator[Seen]:
    """One finding for all that is known to be wrong with this Windows."""
    machine = Machine.of(scene.first)
    mode, own = scene.network_mode, scene.expected.host.bad_revisions
    known = find_bad(machine.build, machine.revision, own, mode)
    if known:
        good = next_good(machine.build, machine.revision, own, mode)
        yield Seen(
            machine.name,
            f"{len(known)} {'thing is' if len(known) == 1 else 'things are'} known to be wrong with it",
            f"{good.name} or later" if good else "",
            evidence=tuple(each.summary for each in known),
        )


def _newer(scene: Scene) -> Iterator[Seen]:
    """Beyond the table of updates nothing is known to be bad, since nothing is known."""
    machine = Machine.of(scene.first)
    last = find_last(machine.build)
    if last is not None and machine.revision > last.revision:
        yield Seen(machine.name, f"it is newer than what is known here ({last.date})", "")


LOW_BLOCKS = 10
"""Below so many, new endpoints and rules soon fail; the number is this check's own."""


def _sshd(scene: Scene) -> Iterator[Seen]:
    found = sshd.look(scene.first)
    if found is not None and found.ends:
        for each in found.folders:
            yield Seen(
                f"sshd {found.version}",
                f"{each.path} {each.complaint}",
                "SYSTEM and Administrators alone",
                remedy=advice(f"Run on the node: {'; '.join(each.commands)}"),
            )


CHECKS = (
    Check(
        CAUSES["hns.absent"],
        _absent,
    ),
    Check(
        Cause(
            "hns.unreadable",
            ERROR,
            "HNS does not answer",
            "The service hangs or does not run, or the user is not an administrator.",
            advice(
                (
                    "Look at the service hns and at the event log Microsoft-Windows-Host-Network-Service-Admin; "
                    "restart the machine if it hangs."
                ),
                Ends.MACHINE,
            ),
            explains=("hns.no-network", "flannel.*", "kube-proxy.*", "node.not-ready"),
        ),
        _unreadable,
    ),
    Check(
        CAUSES["hns.stopped"],
        _service_hns,
    ),
    Check(
        CAUSES["hns.vmcompute-stopped"],
        _service_vmcompute,
    ),
    Check(
        CAUSES["host.no-adapter"],
        _adapter_missing,
    ),
    Check(
        Cause(
            "host.adapter-wireless",
            ERROR,
            "The host's adapter is a wireless one",
            "HNS puts no l2bridge and no overlay on Wi-Fi: an access point takes frames of one MAC address alone.",
            converge(
                "flannel",
                text="Connect the host by cable, and name that adapter (flanneld's --iface).",
                variables=("winkube_interface_name",),
            ),
            "flannel-io/flannel#1628",
            explains=("hns.*", "flannel.*", "cni.*", "kube-proxy.*", "node.not-ready"),
        ),
        _wireless,
    ),
    Check(
        Cause(
            "hns.no-host-adapter",
            ERROR,
            "The host has no adapter on the virtual switch",
            "The switch was made without it or somebody removed it: the host cannot be reached through that adapter.",
            converge(
                "flannel",
                text=(
                    "Drain the node, stop flanneld, remove the network (Get-HnsNetwork, Remove-HnsNetwork), restart "
                    "the machine and start flanneld."
                ),
                ends=(
                    Ends.CONNECTIONS,
                    Ends.PODS,
                    Ends.MACHINE,
                ),
            ),
            "Azure/acs-engine#4001",
            explains=(
                "hns.management-address-stale",
                "flannel.iface",
                "cni.provider-address",
                "kube-proxy.rule-source-vip",
                "host.address",
                "node.address",
                "node.not-ready",
            ),
        ),
        _vethernet_missing,
    ),
    Check(
        Cause(
            "host.address-lost",
            ERROR,
            "The host's address was lost",
            "Making the external vSwitch took the static address from the adapter, or no DHCP server answered.",
            advice(
                (
                    "Give the adapter its address, gateway and DNS servers back (netsh interface ipv4 set address), "
                    "then start flanneld and kube-proxy again."
                ),
                Ends.CONNECTIONS,
            ),
            "kubernetes-sigs/sig-windows-tools#162",
            explains=(
                "hns.management-address-stale",
                "hns.no-management-address",
                "flannel.*",
                "cni.provider-address",
                "kube-proxy.*",
                "host.address",
                "node.*",
            ),
        ),
        lambda scene: chain(_address_lost(scene), _address_lost_unnamed(scene)),
    ),
    Check(
        CAUSES["hns.no-management-address"],
        _management_missing,
    ),
    Check(
        CAUSES["hns.management-address-stale"],
        _management_stale,
    ),
    Check(
        Cause(
            "hns.restarted",
            WARNING,
            "HNS was restarted under kube-proxy",
            "With HNS its endpoints and rules were lost; kube-proxy may try for ever to make rules that it believes "
            "to be "
            "there (0xb7).",
            AFTER_HNS,
            "kubernetes/kubernetes#139519",
            explains=("kube-proxy.*",),
        ),
        _hns_restarted,
    ),
    Check(
        Cause(
            "host.sshd-ends",
            WARNING,
            "sshd would not start again",
            "From OpenSSH 9.4 on (Windows' own since October 2024) it ends with error 1067 if anybody but SYSTEM and "
            "Administrators, a named administrator included, may write to its folders. It goes on until the machine or "
            "the service is restarted.",
            advice("Take the access away by SID (icacls.exe, as shown)."),
            "PowerShell/Win32-OpenSSH#2282",
            area=Area.PROGRAMS,
        ),
        _sshd,
    ),
    Check(
        Cause(
            "host.mac-spoofing",
            ERROR,
            "The hypervisor drops what pods send",
            "Pods have MAC addresses of their own; a virtual machine may send with its own alone unless that is "
            "allowed.",
            advice("On the Hyper-V host: Set-VMNetworkAdapter -VMName MACHINE -MacAddressSpoofing On."),
            explains=("traffic.*", "pod.*"),
        ),
        _mac_spoofing,
    ),
    Check(
        CAUSES["hns.ports-exhausted"],
        _port_blocks,
    ),
    Check(
        Cause(
            "host.bad-revision",
            WARNING,
            "This revision of Windows is known to be bad",
            "An update broke something, or the update that mends it is missing.",
            playbook(
                "Install the update that is named, and restart the machine with the node drained.",
                "patch",
                ends=(
                    Ends.PODS,
                    Ends.MACHINE,
                ),
            ),
        ),
        _bad_revision,
    ),
    Check(
        Cause(
            "host.newer-revision",
            NOTE,
            "This revision of Windows is newer than the table of bad ones",
            "",
            advice(
                "Look at the release notes of the update that the machine has.",
                variables=("winkube_windows_revisions",),
            ),
            area=Area.PROGRAMS,
        ),
        _newer,
    ),
)
