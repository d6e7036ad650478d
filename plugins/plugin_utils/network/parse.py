# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HNS's JSON as models: API v1 (HNSCall, Get-HnsNetwork) and v2 (computenetwork.dll, hnsdiag).

An object's keys tell its API, so a dump may mix both. Sources: hcsshim internal/hns (hnsnetwork.go, hnsendpoint.go,
hnspolicylist.go, namespace.go) for v1, hcsshim hcn (hcnnetwork.go, hcnendpoint.go, hcnnamespace.go, hcnloadbalancer.go)
for v2.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from ..components.networks import physical
from . import pasted
from .model import PROTOCOLS, Endpoint, Hns, LoadBalancer, Namespace, Network, Policy, PolicyList, Subnet

KINDS = ("networks", "endpoints", "namespaces", "policylists")
"""What HNS is asked for, by the names in its v1 API."""

REMOTE_V2, DSR_V2 = 1, 1
"""Bits of `Flags`. Source: hcsshim hcn/hcnendpoint.go EndpointFlagsRemoteEndpoint, hcnloadbalancer.go
LoadBalancerFlagsDSR."""

T = TypeVar("T")
Object = Mapping[str, Any]


class HnsError(Exception):
    """HNS did not answer, or its answer cannot be read; the text is a sentence."""


def parse(answer: object) -> Hns:
    """From the probe's answer to the query `hns` (docs/protocol.md): each kind a JSON text or `{"error": sentence}`."""
    if not isinstance(answer, Mapping):
        return Hns(unasked=KINDS)
    if "error" in answer:
        why = str(answer.get("error") or "")
        return Hns(errors=tuple((kind, f"HNS could not be asked: {why}") for kind in KINDS))
    if not answer.get("available"):
        return Hns(available=False)
    errors: list[tuple[str, str]] = []
    cut: list[tuple[str, tuple[str, ...]]] = []

    def parse_each(kind: str, read: Callable[[Object], T]) -> tuple[T, ...]:
        if answer.get(kind) is None:
            return ()
        try:
            found = parse_list(answer.get(kind), kind)
            if found.cut:
                cut.append((kind, found.cut))
            return tuple(read(each) for each in found.objects)
        except HnsError as error:
            errors.append((kind, str(error)))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            errors.append((kind, f"HNS listed {kind} that cannot be read: {error}"))
        return ()

    networks = parse_each("networks", network)
    return Hns(
        networks=networks,
        endpoints=tuple(_add_network(each, networks) for each in parse_each("endpoints", endpoint)),
        namespaces=parse_each("namespaces", namespace),
        policy_lists=parse_each("policylists", policy_list),
        errors=tuple(errors),
        cut=tuple(cut),
        unasked=tuple(kind for kind in KINDS if answer.get(kind) is None),
    )


def _add_network(found: Endpoint, networks: tuple[Network, ...]) -> Endpoint:
    """The endpoint with its network's id, if a listing has only the name."""
    named = [each.id for each in networks if each.name.casefold() == found.network_name.casefold()]
    return replace(found, network=named[0]) if not found.network and len(named) == 1 else found


def parse_list(answer: object, kind: str) -> pasted.Pasted:
    """The objects in one answer: HNS's own JSON, with or without `{"Success", "Output"}` around it, or text pasted
    by a person. HnsError if it is an error, or anything else."""
    if isinstance(answer, Mapping):
        raise HnsError(str(answer.get("error") or f"HNS did not list its {kind}"))
    text = answer if isinstance(answer, str) else json.dumps(answer)
    try:
        found = pasted.read(text, kind)
    except pasted.PastedError:
        raise HnsError(f"HNS listed its {kind} as what is neither JSON nor a listing: '{text.strip()[:80]}'") from None
    for each in found.objects:
        if each.get("Success") is False:
            code = each.get("ErrorCode")
            number = f" ({int(code) & 0xFFFFFFFF:#010x})" if isinstance(code, int) else ""
            raise HnsError(f"HNS did not list its {kind}: {str(each.get('Error') or '').strip()}{number}")
    return replace(found, objects=tuple(_normalise_keys(each) for each in found.objects))


KEYS = (
    "ID", "Name", "Type", "IPAddress", "IPv6Address", "MacAddress", "GatewayAddress", "VirtualNetwork",
    "VirtualNetworkName", "IsRemoteEndpoint", "Namespace", "State", "Policies", "Subnets", "ManagementIP",
    "NetworkAdapterName", "MacPools", "Flags", "DNSSuffix", "DNSServerList", "EncapOverhead", "SharedContainers",
    "References", "CompartmentId", "IsDefault", "Resources", "ResourceList", "Containers",
)  # fmt: skip
"""HNS' spelling of its keys; in Format-Table a person may spell them otherwise."""

_KEYS = {each.casefold(): each for each in KEYS}


def _normalise_keys(found: Object) -> Object:
    if "Ipams" in found or "HostComputeNetwork" in found or "HostComputeEndpoints" in found:
        return found
    return {_KEYS.get(str(key).replace(" ", "").casefold(), str(key)): value for key, value in found.items()}


def network(found: Object) -> Network:
    """One network, from either API."""
    v2 = "Ipams" in found
    subnets = _subnets_v2(found) if v2 else _subnets_v1(found)
    pools = _list(found.get("MacPool", {}).get("Ranges")) if v2 else _list(found.get("MacPools"))
    policies = _settings(found.get("Policies"))
    adapter = str(policies.get("NetAdapterName", {}).get("NetworkAdapterName") or "") if v2 else ""
    return Network(
        id=identity(found.get("ID") or found.get("Id")),
        name=str(found.get("Name") or ""),
        type=str(found.get("Type") or "").casefold(),
        adapter=physical(adapter or str(found.get("NetworkAdapterName") or "")),
        management_ip=_address(
            policies.get("ProviderAddress", {}).get("ProviderAddress") if v2 else found.get("ManagementIP")
        ),
        subnets=subnets,
        flags=int(found.get("Flags") or 0),
        mac_range=str(pools[0].get("StartMacAddress") or "") if pools else "",
    )


def _address(value: object) -> str:
    """The address without its prefix length, which Antrea writes into its transparent network. Source: antrea
    pkg/agent/util/util_windows.go, CreateHNSNetwork; that HNS lists it as it was written is unverified."""
    return str(value or "").partition("/")[0]


def _subnets_v1(found: Object) -> tuple[Subnet, ...]:
    return tuple(
        Subnet(
            prefix=str(each.get("AddressPrefix") or ""),
            gateway=str(each.get("GatewayAddress") or ""),
            vsid=next((int(one["VSID"]) for one in _list(each.get("Policies")) if one.get("Type") == "VSID"), 0),
        )
        for each in _list(found.get("Subnets"))
    )


def _subnets_v2(found: Object) -> tuple[Subnet, ...]:
    subnets = [each for ipam in _list(found.get("Ipams")) for each in _list(ipam.get("Subnets"))]
    return tuple(
        Subnet(
            prefix=str(each.get("IpAddressPrefix") or ""),
            gateway=next((str(one.get("NextHop") or "") for one in _list(each.get("Routes"))), ""),
            vsid=int(_settings(each.get("Policies")).get("VSID", {}).get("IsolationId") or 0),
        )
        for each in subnets
    )


def endpoint(found: Object) -> Endpoint:
    """One endpoint, from either API."""
    v2 = "IpConfigurations" in found or "HostComputeNetwork" in found
    flags = int(found.get("Flags") or 0)
    if v2:
        addresses = [str(each.get("IpAddress") or "") for each in _list(found.get("IpConfigurations"))]
        dns = found.get("Dns") or {}
        suffixes, servers = [dns.get("Domain"), *(dns.get("Search") or ())], list(dns.get("ServerList") or ())
        home, space = found.get("HostComputeNetwork"), found.get("HostComputeNamespace")
        remote = bool(flags & REMOTE_V2)
        overhead = _settings(found.get("Policies")).get("EncapOverhead", {}).get("Overhead")
        state = None
    else:
        addresses = [str(found.get("IPAddress") or ""), str(found.get("IPv6Address") or "")]
        suffixes, servers = (
            str(found.get("DNSSuffix") or "").split(","),
            str(found.get("DNSServerList") or "").split(","),
        )
        home, space = found.get("VirtualNetwork"), (found.get("Namespace") or {}).get("ID")
        remote = bool(found.get("IsRemoteEndpoint"))
        overhead, state = found.get("EncapOverhead"), found.get("State")
    return Endpoint(
        id=identity(found.get("ID") or found.get("Id")),
        name=str(found.get("Name") or ""),
        network=identity(home),
        network_name=str(found.get("VirtualNetworkName") or ""),
        addresses=tuple(each for each in addresses if each and each != "::"),
        mac=str(found.get("MacAddress") or "").upper(),
        remote=remote,
        namespace=identity(space),
        containers=tuple(str(each) for each in _list_items(found.get("SharedContainers"))),
        state=int(state) if state is not None else None,
        dns_suffixes=tuple(str(each).strip() for each in suffixes if each and str(each).strip()),
        dns_servers=tuple(str(each).strip() for each in servers if each and str(each).strip()),
        policies=tuple(_policy(each) for each in _list(found.get("Policies"))),
        encap_overhead=int(overhead) if overhead is not None else None,
    )


def _policy(found: Object) -> Policy:
    """A policy of either form: settings beside `Type` (v1) or below `Settings` (v2)."""
    inner = found.get("Settings")
    settings: Object = inner if isinstance(inner, Mapping) else found
    exceptions = settings.get("Exceptions") or settings.get("ExceptionList")
    return Policy(
        type=str(found.get("Type") or ""),
        exceptions=tuple(str(each) for each in _list_items(exceptions)),
        destinations=tuple(str(each) for each in _list_items(settings.get("Destinations"))),
        prefix=str(settings.get("DestinationPrefix") or ""),
        provider_address=str(settings.get("ProviderAddress") or settings.get("PA") or ""),
    )


def namespace(found: Object) -> Namespace:
    """One namespace, from either API."""
    # Under API v1 `Resources` is HNS' allocator, and `ResourceList` has the namespace's members.
    resources = [*_list(found.get("ResourceList")), *_list(found.get("Resources"))]
    held: dict[str, list[str]] = {"Endpoint": [], "Container": []}
    for each in resources:
        if each.get("Type") not in held:
            continue
        data = each.get("Data") or {}
        if isinstance(data, str):
            data = json.loads(data or "{}")
        held[each["Type"]].append(str(data.get("Id") or data.get("ID") or ""))
    containers = (str(each) for each in _list_items(found.get("Containers")))
    return Namespace(
        id=identity(found.get("ID") or found.get("Id")),
        default=bool(found.get("IsDefault")) or found.get("Type") == "HostDefault",
        compartment=int(found.get("CompartmentId") or found.get("NamespaceId") or 0),
        endpoints=tuple(identity(each) for each in held["Endpoint"]),
        containers=tuple(dict.fromkeys((*held["Container"], *containers))),
    )


def policy_list(found: Object) -> PolicyList:
    """One policy list (v1) or load balancer (v2)."""
    if "HostComputeEndpoints" in found or "FrontendVIPs" in found:
        return _balancer_v2(found)
    policies = _list(found.get("Policies"))
    return PolicyList(
        id=identity(found.get("ID") or found.get("Id")),
        endpoints=tuple(identity(str(each).rpartition("/")[2]) for each in _list_items(found.get("References"))),
        balancers=tuple(
            LoadBalancer(
                vips=tuple(str(one) for one in _list_items(each.get("VIPs"))),
                protocol=_protocol(each.get("Protocol")),
                external=int(each.get("ExternalPort") or 0),
                internal=int(each.get("InternalPort") or 0),
                source_vip=str(each.get("SourceVIP") or ""),
                dsr=bool(each.get("IsDSR")),
            )
            for each in policies
            if each.get("Type") == "ELB"
        ),
        types=tuple(str(each.get("Type") or "") for each in policies),
    )


def _balancer_v2(found: Object) -> PolicyList:
    mappings = _list(found.get("PortMappings"))
    return PolicyList(
        id=identity(found.get("ID") or found.get("Id")),
        endpoints=tuple(identity(each) for each in _list_items(found.get("HostComputeEndpoints"))),
        balancers=tuple(
            LoadBalancer(
                vips=tuple(str(one) for one in _list_items(found.get("FrontendVIPs"))),
                protocol=_protocol(each.get("Protocol")),
                external=int(each.get("ExternalPort") or 0),
                internal=int(each.get("InternalPort") or 0),
                source_vip=str(found.get("SourceVIP") or ""),
                dsr=bool(int(found.get("Flags") or 0) & DSR_V2),
            )
            for each in mappings
        ),
        types=("ELB",) * len(mappings),
    )


def identity(value: object) -> str:
    """An id for comparison: HNS varies its case and its braces; zeros mean none."""
    found = str(value or "").strip("{} ").casefold()
    return found if found.strip("0-") else ""


def _protocol(value: object) -> str:
    text = str(value or "")
    return PROTOCOLS.get(int(text), text) if text.isdigit() else text.upper()


def _list_items(value: object) -> Iterable[Any]:
    """The items of a list; a single value, as PowerShell writes a list of one; nothing for null."""
    if value is None or value == "":
        return ()
    return value if isinstance(value, list) else (value,)


def _list(value: object) -> list[Object]:
    return [each for each in _list_items(value) if isinstance(each, Mapping)]


def _settings(value: object) -> dict[str, Object]:
    """The settings of v2 policies by type."""
    return {
        str(each.get("Type")): each["Settings"] for each in _list(value) if isinstance(each.get("Settings"), Mapping)
    }
