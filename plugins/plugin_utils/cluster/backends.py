# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is behind a Service, by its EndpointSlices, and which Services have more of it than a rule of HNS takes."""

from __future__ import annotations

import ipaddress
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .client import Cluster
from .error import FORBIDDEN, ClusterError
from .records import SERVICE_NAME

Object = Mapping[str, Any]

SLICES = "/apis/discovery.k8s.io/v1/endpointslices"
DESTINATIONS = 64
"""So many endpoints a rule takes without DSR. Source: microsoft/Windows-Containers#93, kubernetes/kubernetes#98680."""

PROXY_NAME = "service.kubernetes.io/service-proxy-name"
HEADLESS = "service.kubernetes.io/headless"
"""Labels of Services that kube-proxy leaves alone; their slices have them, too. Sources: kubernetes
pkg/proxy/apis/well_known_labels.go, staging/src/k8s.io/endpointslice/utils.go (setEndpointSliceLabels)."""


@dataclass(frozen=True, slots=True)
class LargeService:
    """A Service, as namespace/name, of whose ports one has more endpoints than a rule takes without DSR."""

    name: str
    endpoints: int


def read_large(cluster: Cluster) -> tuple[LargeService, ...]:
    """The cluster's: one request, and one for each of them, found out once for all nodes of a task. ClusterError."""
    known = cluster.find_out("large Services", lambda: {"counts": _count_large(cluster)})["counts"]
    return tuple(LargeService(name, count) for name, count in known)


def _count_large(cluster: Cluster) -> list[tuple[str, int]]:
    found: dict[tuple[str, str], list[Object]] = defaultdict(list)
    for each in cluster.items(SLICES):
        metadata = each.get("metadata") or {}
        labels = metadata.get("labels") or {}
        if SERVICE_NAME in labels and not {PROXY_NAME, HEADLESS} & set(labels):
            found[str(metadata.get("namespace")), str(labels[SERVICE_NAME])].append(each)
    large = {key: count for key, own in found.items() if (count := count_most(own)) > DESTINATIONS}
    return [
        (f"{space}/{name}", count)
        for (space, name), count in sorted(large.items())
        if counts_all(_ask(cluster, space, name))
    ]


def _ask(cluster: Cluster, space: str, name: str) -> Object:
    """The Service; one without anything where it may not be read."""
    try:
        return cluster.get(f"/api/v1/namespaces/{space}/services/{name}") or {}
    except ClusterError as error:
        if error.status != FORBIDDEN:
            raise
        return {}


def counts_all(service: Object) -> bool:
    """Whether a node's rule leads to all endpoints of a Service: with internalTrafficPolicy Local to its own alone."""
    return (service.get("spec") or {}).get("internalTrafficPolicy") != "Local"


def count_most(slices: Iterable[Object]) -> int:
    """How many endpoints the port of a Service has that has most of them; `slices` are the Service's own."""
    own = list(slices)
    ports = {str(port.get("name") or "") for each in own for port in each.get("ports") or ()} or {""}
    return max(len(list_backends(own, port)) for port in ports)


def list_backends(slices: Iterable[Object], port: str) -> tuple[str, ...]:
    """The IPv4 addresses behind the port of this name that are ready; `slices` are the Service's own."""
    found = (
        address
        for each in slices
        if each.get("addressType", "IPv4") == "IPv4" and _has_port(each, port)
        for end in list_ends(each)
        if is_ready(end)
        for address in list_ipv4(end)
    )
    return tuple(dict.fromkeys(found))


def slices_of(slices: Iterable[Object], namespace: object, name: object) -> list[Object]:
    """The EndpointSlices of a Service."""
    return [
        each
        for each in slices
        if (metadata := each.get("metadata") or {}).get("namespace") == namespace
        and (metadata.get("labels") or {}).get(SERVICE_NAME) == name
    ]


def _has_port(endpoint_slice: Object, name: str) -> bool:
    """Ports go by name, the only one has none."""
    names = [str(each.get("name") or "") for each in endpoint_slice.get("ports") or ()]
    return not names or name in names


def list_ends(endpoint_slice: Object) -> Iterator[Object]:
    """The endpoints of a slice."""
    return (each for each in endpoint_slice.get("endpoints") or () if isinstance(each, Mapping))


def is_ready(end: Object) -> bool:
    """Whether an endpoint is; not said means ready. Source: discovery/v1 types.go EndpointConditions."""
    return (end.get("conditions") or {}).get("ready") is not False


def list_ipv4(end: Object) -> list[str]:
    """The IPv4 addresses of an endpoint."""
    return [str(each) for each in end.get("addresses") or () if is_ipv4(str(each))]


def is_ipv4(text: str) -> bool:
    """Whether this is an IPv4 address."""
    try:
        return ipaddress.ip_address(text).version == 4
    except ValueError:
        return False
