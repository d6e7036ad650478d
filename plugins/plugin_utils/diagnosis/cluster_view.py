# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the cluster says of a node's network: Services, EndpointSlices, the node's pods, the Node object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..cluster.backends import (
    DESTINATIONS,
    HEADLESS,
    PROXY_NAME,
    SLICES,
    LargeService,
    counts_all,
    is_ipv4,
    list_backends,
    list_ends,
    list_ipv4,
    slices_of,
)
from ..cluster.client import Cluster
from ..cluster.pods import has_own_network, pods_of

Object = Mapping[str, Any]
"""A JSON object as the API returns it."""


@dataclass(frozen=True, slots=True)
class ServicePort:
    """One address and port of a Service that kube-proxy has a rule for: the IPv4 addresses behind it that are ready."""

    service: str
    address: str
    port: int
    protocol: str
    backends: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod on this node with an address of its own (no host network)."""

    name: str
    address: str


@dataclass(frozen=True, slots=True)
class ClusterView:
    """What was asked of the cluster. `behind` are all addresses in EndpointSlices, ready or not; `addresses` those of
    Services, of whatever kind."""

    ports: tuple[ServicePort, ...] = ()
    behind: frozenset[str] = frozenset()
    addresses: frozenset[str] = frozenset()
    pods: tuple[Pod, ...] = ()
    node: Object | None = None

    @property
    def large(self) -> tuple[LargeService, ...]:
        """The Services of more endpoints than a rule takes without DSR."""
        most: dict[str, int] = {}
        for port in self.ports:
            most[port.service] = max(len(port.backends), most.get(port.service, 0))
        return tuple(LargeService(name, count) for name, count in most.items() if count > DESTINATIONS)


def ask(cluster: Cluster, node_name: str) -> ClusterView:
    """Four requests. ClusterError if one is not answered."""
    return view_of(
        services=cluster.items("/api/v1/services"),
        slices=cluster.items(SLICES),
        pods=cluster.items(pods_of(node_name)) if node_name else (),
        node=cluster.node(node_name) if node_name else None,
        node_name=node_name,
    )


def view_of(
    *,
    services: Iterable[Object],
    slices: Iterable[Object],
    pods: Iterable[Object] = (),
    node: Object | None = None,
    node_name: str = "",
) -> ClusterView:
    """The API's objects, as far as the checks need them."""
    all_services, all_slices = list(services), list(slices)
    return ClusterView(
        ports=tuple(port for each in all_services for port in _ports(each, all_slices)),
        behind=frozenset(address for each in all_slices for end in list_ends(each) for address in list_ipv4(end)),
        addresses=frozenset(address for each in all_services for address in _addresses(each)),
        pods=tuple(_pods(pods, node_name)),
        node=node,
    )


def _ports(service: Object, slices: list[Object]) -> Iterator[ServicePort]:
    """Source: kubernetes pkg/proxy/winkernel/proxier.go syncProxyRules: one policy list for each port of a Service with
    a cluster address, none where no endpoint is there."""
    metadata, spec = service.get("metadata") or {}, service.get("spec") or {}
    labels = metadata.get("labels") or {}
    address = str(spec.get("clusterIP") or "")
    if not is_ipv4(address) or PROXY_NAME in labels or HEADLESS in labels or spec.get("type") == "ExternalName":
        return
    own = slices_of(slices, metadata.get("namespace"), metadata.get("name"))
    for port in spec.get("ports") or ():
        yield ServicePort(
            service=f"{metadata.get('namespace')}/{metadata.get('name')}",
            address=address,
            port=int(port["port"]),
            protocol=str(port.get("protocol") or "TCP"),
            # With internalTrafficPolicy Local only the node's own count; which those are the rule's absence tells as
            # well as its presence, so nothing is said of such a Service.
            backends=list_backends(own, str(port.get("name") or "")) if counts_all(service) else (),
        )


def _addresses(service: Object) -> Iterator[str]:
    spec, status = service.get("spec") or {}, service.get("status") or {}
    yield from (str(each) for each in (spec.get("clusterIP"), *(spec.get("clusterIPs") or ())) if each)
    yield from (str(each) for each in spec.get("externalIPs") or ())
    yield from (str(each["ip"]) for each in (status.get("loadBalancer") or {}).get("ingress") or () if each.get("ip"))


def _pods(pods: Iterable[Object], node_name: str) -> Iterator[Pod]:
    for each in pods:
        spec, status, metadata = each.get("spec") or {}, each.get("status") or {}, each.get("metadata") or {}
        if node_name and spec.get("nodeName") != node_name:
            continue
        if not has_own_network(each):
            continue
        address = str(status.get("podIP") or "")
        if address:
            yield Pod(f"{metadata.get('namespace')}/{metadata.get('name')}", address)
