# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HNS's objects, from either of its two APIs.

Ids are without case and braces; addresses and prefixes as HNS writes them; types in lower case.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass, field

POD_TYPES = ("l2bridge", "overlay", "transparent", "l2tunnel")
"""Types whose virtual switch is on an adapter of the host. Source: hcsshim hcn/hcnnetwork.go NetworkType."""

STATES = {0: "uninitialized", 1: "created", 2: "attached", 3: "attached and shared", 4: "detached", 5: "degraded",
          6: "destroyed"}  # fmt: skip
"""State of an endpoint in API v1. Source: hcsshim internal/hns/hnsendpoint.go EndpointState."""

DETACHED, DEGRADED, DESTROYED = 4, 5, 6

PROTOCOLS = {6: "TCP", 17: "UDP", 132: "SCTP"}
"""IANA protocol numbers, as Services name them."""


NEEDED = {
    "networks": frozenset({"Subnets"}),
    "endpoints": frozenset({"Namespace"}),
    "namespaces": frozenset({"ResourceList"}),
    "policylists": frozenset({"References", "Policies", "VIPs"}),
}
"""Keys without which an object of this kind is incomplete."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy of an endpoint, with the settings that the checks need; others are empty."""

    type: str
    exceptions: tuple[str, ...] = ()
    destinations: tuple[str, ...] = ()
    prefix: str = ""
    provider_address: str = ""


@dataclass(frozen=True, slots=True)
class Subnet:
    """A range of a network; `vsid` is the overlay's virtual subnet (VNI), 0 for none."""

    prefix: str
    gateway: str = ""
    vsid: int = 0


@dataclass(frozen=True, slots=True)
class Network:
    """One network. `adapter` is the physical adapter's name, empty for none."""

    id: str
    name: str
    type: str
    adapter: str = ""
    management_ip: str = ""
    subnets: tuple[Subnet, ...] = ()
    flags: int = 0
    mac_range: str = ""

    @property
    def prefixes(self) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
        """The ranges that can be parsed."""
        return tuple(found for each in self.subnets if (found := _network(each.prefix)) is not None)

    @property
    def vsids(self) -> tuple[int, ...]:
        """The virtual subnets of its ranges."""
        return tuple(dict.fromkeys(each.vsid for each in self.subnets if each.vsid))


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One endpoint. `state` and `encap_overhead` are None if HNS does not tell; `dns_suffixes` are in HNS's order."""

    id: str
    name: str
    network: str
    network_name: str = ""
    addresses: tuple[str, ...] = ()
    mac: str = ""
    remote: bool = False
    namespace: str = ""
    containers: tuple[str, ...] = ()
    state: int | None = None
    dns_suffixes: tuple[str, ...] = ()
    dns_servers: tuple[str, ...] = ()
    policies: tuple[Policy, ...] = ()
    encap_overhead: int | None = None

    @property
    def label(self) -> str:
        """Its name in sentences."""
        return f"endpoint {self.id[:8]} ({self.name or 'without a name'}, {', '.join(self.addresses) or 'no address'})"


@dataclass(frozen=True, slots=True)
class Namespace:
    """One network namespace; `endpoints` and `containers` are the ids of its members."""

    id: str
    default: bool = False
    compartment: int = 0
    endpoints: tuple[str, ...] = ()
    containers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LoadBalancer:
    """One load balancing rule: traffic to `vips` at port `external` goes to port `internal` of the list's endpoints."""

    vips: tuple[str, ...]
    protocol: str
    external: int
    internal: int
    source_vip: str = ""
    dsr: bool = False


@dataclass(frozen=True, slots=True)
class PolicyList:
    """Rules over `endpoints` (ids); `types` are the types of all its policies."""

    id: str
    endpoints: tuple[str, ...] = ()
    balancers: tuple[LoadBalancer, ...] = ()
    types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hns:
    """Everything. `available` is false without HNS; `errors` are sentences by kind of object that HNS did not
    answer: such a kind is empty here, though not there. `cut` are the keys whose values a listing truncated, by
    kind; `unasked` the kinds that were not requested."""

    available: bool = True
    networks: tuple[Network, ...] = ()
    endpoints: tuple[Endpoint, ...] = ()
    namespaces: tuple[Namespace, ...] = ()
    policy_lists: tuple[PolicyList, ...] = ()
    errors: tuple[tuple[str, str], ...] = field(default=())
    cut: tuple[tuple[str, tuple[str, ...]], ...] = ()
    unasked: tuple[str, ...] = ()

    def knows(self, *kinds: str) -> bool:
        """Whether HNS exists and has answered all of these kinds (`networks`, `endpoints`, ..) completely."""
        lacking = {kind for kind, _text in self.errors} | set(self.unasked)
        lacking |= {kind for kind, keys in self.cut if set(keys) & NEEDED[kind]}
        return self.available and not lacking & set(kinds)

    def network(self, name: str) -> Network | None:
        """The network by name, without case."""
        return next((each for each in self.networks if each.name.casefold() == name.casefold()), None)

    def network_of(self, endpoint: Endpoint) -> Network | None:
        """The endpoint's network; None if that is gone."""
        return next((each for each in self.networks if each.id == endpoint.network), None)

    def endpoint(self, identity: str) -> Endpoint | None:
        """By id."""
        return next((each for each in self.endpoints if each.id == identity), None)

    def is_attached(self, endpoint: Endpoint) -> bool:
        """Whether the endpoint is in a namespace; either of the two may say so."""
        return bool(endpoint.namespace) or any(endpoint.id in each.endpoints for each in self.namespaces)

    def balancers(self) -> Iterator[tuple[PolicyList, LoadBalancer]]:
        """Every rule, with its list."""
        for each in self.policy_lists:
            for balancer in each.balancers:
                yield each, balancer


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None
