# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The node's adapters and HNS networks from the reading, and the cluster's address ranges."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..engine.reading import Query, Reading
from ..engine.resource import Refused

ADAPTERS = "adapters"
HNS = "hns"

Range = ipaddress.IPv4Network | ipaddress.IPv6Network

_VIRTUAL = re.compile(r"^vEthernet \((?P<name>.+)\)(?: \d+)?$", re.IGNORECASE)


def adapters_query() -> Query:
    """The machine's IP interfaces."""
    return Query(ADAPTERS, "adapters")


def hns_query(*objects: str) -> Query:
    """HNS's objects, `networks` unless others are named."""
    return Query(HNS, "hns", (("objects", objects or ("networks",)),))


def physical(name: str) -> str:
    """The physical adapter below a virtual switch: `Ethernet` of `vEthernet (Ethernet)`, else the name itself."""
    match = _VIRTUAL.match(name)
    return match["name"] if match else name


@dataclass(frozen=True, slots=True)
class Adapter:
    """One IP interface. `addresses` are (address, prefix length) of IPv4; `ipv6` those of IPv6."""

    name: str
    up: bool
    dhcp: bool
    mtu: int
    addresses: tuple[tuple[str, int], ...]
    gateways: tuple[str, ...]
    dns: tuple[str, ...]
    ipv6: tuple[tuple[str, int], ...] = ()

    @property
    def physical(self) -> str:
        """The physical adapter's name: `Ethernet` of `vEthernet (Ethernet)`, else its own."""
        return physical(self.name)

    @property
    def is_virtual(self) -> bool:
        """Whether it belongs to a virtual switch."""
        return _VIRTUAL.match(self.name) is not None

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Adapter:
        """From one entry of the probe's `adapters`."""
        return cls(
            name=str(found["name"]),
            up=bool(found.get("up")),
            dhcp=bool(found.get("dhcp")),
            mtu=int(found.get("mtu") or 0),
            addresses=tuple((str(each["address"]), int(each["prefix"])) for each in found.get("ipv4") or ()),
            gateways=tuple(str(each) for each in found.get("gateways") or ()),
            dns=tuple(str(each) for each in found.get("dns") or ()),
            ipv6=tuple((str(each["address"]), int(each["prefix"])) for each in found.get("ipv6") or ()),
        )


@dataclass(frozen=True, slots=True)
class Management:
    """The node's address in the cluster, and its adapter."""

    address: str
    prefix: int
    adapter: Adapter

    @property
    def subnet(self) -> str:
        """The network of the address, such as 10.127.130.0/24."""
        return str(ipaddress.ip_interface(f"{self.address}/{self.prefix}").network)

    @property
    def ipv6(self) -> tuple[ipaddress.IPv6Interface, ...]:
        """The adapter's IPv6 addresses that other machines can reach."""
        found = (ipaddress.IPv6Interface(f"{address}/{prefix}") for address, prefix in self.adapter.ipv6)
        return tuple(each for each in found if not each.ip.is_link_local)


@dataclass(frozen=True, slots=True)
class Network:
    """One HNS network. `adapter` is the physical adapter's name, empty if the network has none."""

    name: str
    id: str
    type: str
    adapter: str
    management_ip: str
    prefixes: tuple[str, ...]


def adapters(reading: Reading) -> tuple[Adapter, ...]:
    """The adapters in the reading. Refused if they could not be read."""
    found = reading.parts.get(ADAPTERS)
    if not isinstance(found, Sequence):
        why = found.get("error", "") if isinstance(found, Mapping) else "it was not asked for"
        raise Refused(f"The network adapters could not be read on the node: {why}")
    return tuple(Adapter.of(each) for each in found)


def management(reading: Reading, *, interface_name: str, address: str) -> Management:
    """The node's address: `address` if the host has it, else the first of the adapter `interface_name`.

    With a virtual switch the address is on `vEthernet (<interface name>)`. Refused with the names of the existing
    adapters, or the addresses.
    """
    all_of_them = adapters(reading)
    if address:
        owner = next((each for each in all_of_them if any(address == own for own, _prefix in each.addresses)), None)
        if owner is None:
            raise Refused(
                f"winkube_management_ip: {address} is not an address of this host, which has {_addresses(all_of_them)}."
            )
        return Management(address, dict(owner.addresses)[address], owner)
    wanted = interface_name.casefold()
    named = [each for each in all_of_them if each.physical.casefold() == wanted]
    if not named:
        raise Refused(
            f"winkube_interface_name: there is no network adapter '{interface_name}' on this host; it has "
            f"{', '.join(repr(each.name) for each in all_of_them) or 'none'}."
        )
    for each in sorted(named, key=lambda each: not each.is_virtual):
        for own, prefix in each.addresses:
            if not ipaddress.ip_address(own).is_link_local:
                return Management(own, prefix, each)
    raise Refused(
        f"winkube_interface_name: the adapter '{named[0].name}' has no IPv4 address but 169.254.x; give it one, or "
        f"name another adapter; the host has {_addresses(all_of_them)}."
    )


def hns_networks(reading: Reading) -> tuple[Network, ...] | None:
    """The HNS networks; None without HNS. Refused if HNS answered with an error."""
    found = reading.parts.get(HNS)
    if not isinstance(found, Mapping) or "error" in found:
        why = found.get("error", "") if isinstance(found, Mapping) else "it was not asked for"
        raise Refused(f"HNS could not be asked on the node: {why}")
    if not found.get("available"):
        return None
    answer = found.get("networks")
    if not isinstance(answer, str):
        why = answer.get("error", "") if isinstance(answer, Mapping) else "networks were not asked for"
        raise Refused(f"HNS could not be asked on the node: {why}")
    try:
        parsed = json.loads(answer)
    except ValueError:
        raise Refused(f"HNS answered on the node with what is not JSON: '{answer[:200]}'.") from None
    if isinstance(parsed, Mapping) and parsed.get("Success") is False:
        raise Refused(f"HNS could not be asked on the node: {str(parsed.get('Error', '')).strip()}")
    networks = parsed.get("Output") if isinstance(parsed, Mapping) else parsed
    return tuple(_network(each) for each in networks or ())


def list_adapter_networks(networks: Iterable[Network], adapter: str) -> tuple[Network, ...]:
    """The networks whose virtual switch is on this adapter."""
    return tuple(each for each in networks if each.adapter.casefold() == adapter.casefold())


def _network(found: Mapping[str, Any]) -> Network:
    return Network(
        name=str(found.get("Name") or ""),
        id=str(found.get("ID") or found.get("Id") or ""),
        type=str(found.get("Type") or ""),
        # A network made on the switch's own adapter names that one.
        adapter=physical(str(found.get("NetworkAdapterName") or "")),
        management_ip=str(found.get("ManagementIP") or ""),
        prefixes=tuple(str(each.get("AddressPrefix") or "") for each in found.get("Subnets") or ()),
    )


def _addresses(found: Iterable[Adapter]) -> str:
    each = [f"{address} ({adapter.name})" for adapter in found for address, _prefix in adapter.addresses]
    return ", ".join(each) or "none"


# -- the cluster's ranges ----------------------------------------------------------------------------------------------


def ranges(text: str, what: str) -> tuple[Range, ...]:
    """The networks in `10.244.0.0/16` or, for two families, `10.244.0.0/16,fd00:10:244::/56`. Refused if invalid."""
    if not text.strip():
        raise Refused(f"{what} is empty; name a range such as 10.244.0.0/16.")
    found = []
    for part in text.split(","):
        try:
            found.append(ipaddress.ip_network(part.strip()))
        except ValueError as error:
            raise Refused(f"{what}: '{part.strip()}' is not a network such as 10.244.0.0/16 ({error}).") from None
    return tuple(found)


def parse_ranges(text: str) -> tuple[Range, ...]:
    """The networks in `10.244.0.0/16,fd00::/56`; invalid parts are left out."""
    found = []
    for part in text.split(","):
        try:
            found.append(ipaddress.ip_network(part.strip(), strict=False))
        except ValueError:
            continue
    return tuple(found)


def ipv4(networks: Iterable[Range]) -> tuple[ipaddress.IPv4Network, ...]:
    """Those of the IPv4 family."""
    return tuple(each for each in networks if isinstance(each, ipaddress.IPv4Network))


TWO_FAMILIES_FROM: Final = 19041
"""The first build whose HNS (11.10) has networks with IPv4 and IPv6, so not Windows Server 2019 (1809). Source: hcsshim
v0.14.1 hcn/hcnglobals.go, IPv6DualStackVersion; that build 19041 is the first with it is unverified."""


ONE_FAMILY = ("calico", "flannel")
"""Networks that give pods of Windows nodes one family only, by the names of their DaemonSets."""


def list_pod_ranges(cluster: str) -> tuple[ipaddress.IPv4Network, ...]:
    """The IPv4 networks in winkube_cluster_cidr. Refused if it is invalid."""
    return ipv4(ranges(cluster, "winkube_cluster_cidr"))


def has_two_families(text: str) -> bool:
    """Whether it has both IPv4 and IPv6 networks; another check reports invalid parts."""
    try:
        return len({each.version for each in ranges(text, "")}) > 1
    except Refused:
        return False


def node_addresses(own: Management, cluster: str, given: str) -> tuple[str, ...]:
    """The addresses that the kubelet should report: `given` (winkube_kubelet_node_ip), else the IPv4 address and, if
    the pods have both families, the adapter's IPv6 address, in the order of the pods' ranges.

    A kubelet with one address reports only that one: pods of the host's network and NodePorts then lack the other
    family. Source: kubernetes v1.37.1 pkg/kubelet/nodestatus/setters.go, NodeAddress. Refused if two families are
    wanted and one address is given, or the adapter has no IPv6 address or several.
    """
    addresses = tuple(part.strip() for part in given.split(",")) if given else ()
    if not has_two_families(cluster):
        return addresses or (own.address,)
    if addresses:
        if len(addresses) == 1:
            raise Refused(
                f"winkube_kubelet_node_ip: {given} is one address, and winkube_cluster_cidr {cluster} has two "
                "families; name an address of each, such as 10.0.0.5,fd00::5."
            )
        return addresses
    found = [str(each.ip) for each in own.ipv6]
    if len(found) != 1:
        has = f"several IPv6 addresses ({', '.join(found)})" if found else "no IPv6 address"
        raise Refused(
            f"winkube_cluster_cidr: {cluster} has two families, and the adapter '{own.adapter.name}' has {has}; "
            f"name the node's two addresses in winkube_kubelet_node_ip, such as {own.address},{[*found, 'fd00::5'][0]}."
        )
    first_is_ipv4 = ranges(cluster, "winkube_cluster_cidr")[0].version == 4
    return (own.address, *found) if first_is_ipv4 else (*found, own.address)


def list_own_networks(own: Management, cluster: str) -> tuple[Range, ...]:
    """The networks of the node's own addresses; IPv6 too if the pods have both families."""
    ipv6 = tuple(each.network for each in own.ipv6) if has_two_families(cluster) else ()
    return (ipaddress.ip_network(own.subnet), *dict.fromkeys(ipv6))


def two_families_problem(mode: str, cni: str, build: int | None) -> str:
    """Why a node cannot have IPv4 and IPv6 ranges: the end of a sentence, empty if it can. `cni` is `flannel`,
    `calico`, or the user's own, whose cni.conf is the user's: no ExceptionList of ours has IPv6 networks.

    Sources: flannel Documentation/configuration.md (dual-stack: vxlan, extension and host-gw on Linux only); kubernetes
    pkg/proxy/winkernel/proxier.go (overlay networks have one family); Calico's limitations of Windows (only IPv4).
    """
    if mode == "overlay":
        return "which overlay networks on Windows do not support; write only the IPv4 range."
    if cni == "flannel":
        return (
            "which flannel does not support on Windows; write only the IPv4 range, or bring another CNI for l2bridge "
            "(winkube_cni_managed_by: cluster)."
        )
    if cni == "calico":
        return "which Calico does not support on Windows; write only the IPv4 range."
    if build is not None and build < TWO_FAMILIES_FROM:
        return (
            f"which Windows of build {build} does not support; write only the IPv4 range, or take Windows Server 2022 "
            "or later."
        )
    return ""


def range_problems(cluster: str, service: str, dns: str, mode: str, subnet: str) -> tuple[str, ...]:
    """Conflicts of the cluster's ranges with each other or with the node's own subnet, one sentence each."""
    pods, services = ranges(cluster, "winkube_cluster_cidr"), ranges(service, "winkube_service_cidr")
    problems = []
    for name, networks in (("winkube_cluster_cidr", pods), ("winkube_service_cidr", services)):
        if not ipv4(networks):
            problems.append(f"{name}: {_join(networks)} has no IPv4 network; Windows nodes cannot be IPv6-only.")
    for name, networks in (("winkube_cluster_cidr", pods), ("winkube_service_cidr", services)):
        if len({each.version for each in networks}) > 1 and (why := two_families_problem(mode, "flannel", None)):
            problems.append(f"{name}: {_join(networks)} has two families, {why}")
    host = ipaddress.ip_network(subnet)
    named = [("winkube_cluster_cidr", each) for each in pods] + [("winkube_service_cidr", each) for each in services]
    named.append(("the subnet of the node's own address", host))
    for index, (left_name, left) in enumerate(named):
        for right_name, right in named[index + 1 :]:
            if left.version == right.version and left.overlaps(right):
                problems.append(
                    f"{left_name} {left} and {right_name} {right} overlap: each address must belong to one network."
                )
    try:
        address = ipaddress.ip_address(dns)
    except ValueError:
        problems.append(f"winkube_dns_service_ip: '{dns}' is not an IP address.")
    else:
        if not any(address in each for each in services):
            problems.append(
                f"winkube_dns_service_ip: {dns} does not lie in winkube_service_cidr {_join(services)}; the cluster's "
                "DNS is a Service."
            )
    return tuple(problems)


def exception_list_covers(exceptions: Iterable[str], address: str) -> bool:
    """Whether traffic from pods to `address` keeps the pod's own address."""
    wanted = ipaddress.ip_address(address)
    return any(wanted in ipaddress.ip_network(each) for each in exceptions)


def find_uncovered(exceptions: Iterable[str], needed: Iterable[str]) -> tuple[str, ...]:
    """The IPv4 networks of `needed` that the exceptions do not cover entirely; two halves together cover a network."""
    networks = (ipaddress.ip_network(each) for each in exceptions)
    covers = list(ipaddress.collapse_addresses(each for each in networks if isinstance(each, ipaddress.IPv4Network)))
    return tuple(each for each in needed if not any(ipaddress.IPv4Network(each).subnet_of(one) for one in covers))


def _join(networks: Iterable[Range]) -> str:
    return ",".join(str(each) for each in networks)
