# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the cluster says of a node's network: Services, EndpointSlices, the node's pods, the Node object."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..cluster.client import Cluster

Object = Mapping[str, Any]
"""A JSON object as the API returns it."""

SERVICE_NAME = "kubernetes.io/service-name"
"""Label of a slice. Source: kubernetes.io, EndpointSlices, Ownership."""
PROXY_NAME = "service.kubernetes.io/service-proxy-name"
HEADLESS = "service.kubernetes.io/headless"
"""Labels of Services that kube-proxy leaves alone. Source: kubernetes pkg/proxy/apis/well_known_labels.go."""

OVER = ("Succeeded", "Failed")
"""Phases of pods that have no network any more."""


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


def ask(cluster: Cluster, node_name: str) -> ClusterView:
    """Four requests. ClusterError if one is not answered."""
    return view_of(
        services=cluster.items("/api/v1/services"),
        slices=cluster.items("/apis/discovery.k8s.io/v1/endpointslices"),
        pods=cluster.items(f"/api/v1/pods?fieldSelector=spec.nodeName%3D{node_name}") if node_name else (),
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
        behind=frozenset(address for each in all_slices for end in _ends(each) for address in _ipv4(end)),
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
    if not _is_ipv4(address) or PROXY_NAME in labels or HEADLESS in labels or spec.get("type") == "ExternalName":
        return
    own = [
        each
        for each in slices_of(slices, metadata.get("namespace"), metadata.get("name"))
        if each.get("addressType", "IPv4") == "IPv4"
    ]
    for port in spec.get("ports") or ():
        protocol = str(port.get("protocol") or "TCP")
        behind = [
            address
            for each in own
            if _serves(each, port)
            for end in _ends(each)
            if is_ready(end)
            for address in _ipv4(end)
        ]
        yield ServicePort(
            service=f"{metadata.get('namespace')}/{metadata.get('name')}",
            address=address,
            port=int(port["port"]),
            protocol=protocol,
            # With internalTrafficPolicy Local only the node's own count; which those are the rule's absence tells as
            # well as its presence, so nothing is said of such a Service.
            backends=() if spec.get("internalTrafficPolicy") == "Local" else tuple(dict.fromkeys(behind)),
        )


def slices_of(slices: Iterable[Object], namespace: object, name: object) -> list[Object]:
    """The EndpointSlices of a Service."""
    return [
        each
        for each in slices
        if (metadata := each.get("metadata") or {}).get("namespace") == namespace
        and (metadata.get("labels") or {}).get(SERVICE_NAME) == name
    ]


def _serves(endpoint_slice: Object, port: Object) -> bool:
    """Whether a slice has the Service's port: ports go by name, the only one has none."""
    names = [str(each.get("name") or "") for each in endpoint_slice.get("ports") or ()]
    return not names or str(port.get("name") or "") in names


def _ends(endpoint_slice: Object) -> list[Object]:
    return [each for each in endpoint_slice.get("endpoints") or () if isinstance(each, Mapping)]


def is_ready(end: Object) -> bool:
    """Whether an endpoint is; not said means ready. Source: discovery/v1 types.go EndpointConditions."""
    return (end.get("conditions") or {}).get("ready") is not False


def _ipv4(end: Object) -> list[str]:
    return [str(each) for each in end.get("addresses") or () if _is_ipv4(str(each))]


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
        if is_host_process(each) or status.get("phase") in OVER:
            continue
        address = str(status.get("podIP") or "")
        if address:
            yield Pod(f"{metadata.get('namespace')}/{metadata.get('name')}", address)


def is_host_process(pod: Object) -> bool:
    """Whether the pod runs on the host itself, with the host's network."""
    spec = pod.get("spec") or {}
    options = (spec.get("securityContext") or {}).get("windowsOptions") or {}
    return bool(spec.get("hostNetwork") or options.get("hostProcess"))


def _is_ipv4(text: str) -> bool:
    try:
        return ipaddress.ip_address(text).version == 4
    except ValueError:
        return False
