# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of the cluster's machines must reach a node's ports, and the rules of the Windows firewall for them."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from ..cluster.client import Cluster
from ..cluster.error import FORBIDDEN, ClusterError
from ..cluster.records import ENDPOINT_SLICE, SLICES_OF_API
from ..engine.resource import Refused
from ..engine.resources.firewall_rule import ANY, FirewallRule, Network, sources
from ..facts.flannel import PORT
from ..facts.windows import KUBE_PROXY_RULE, KUBELET_PORT, KUBELET_RULE, NODE_PORTS, VXLAN_RULE
from .networks import Management, list_own_networks, ranges

PORTS = 65536
WHAT = "winkube_firewall_sources"
HEALTH_CHECKS = "winkube_health_check_sources"


def addresses(cluster: Cluster) -> tuple[str, ...] | None:
    """The addresses of the cluster's nodes and API servers (which may not be nodes), found out once for all nodes of a
    task; None without the right to list them."""
    try:
        return tuple(cluster.find_out("addresses", lambda: {"addresses": _list_addresses(cluster)})["addresses"])
    except ClusterError as error:
        if error.status == FORBIDDEN:
            return None
        raise


def _list_addresses(cluster: Cluster) -> list[str]:
    nodes, slices = cluster.nodes(), cluster.read_all(SLICES_OF_API, ENDPOINT_SLICE)
    own = [
        str(each.get("address"))
        for node in nodes
        for each in (node.get("status") or {}).get("addresses") or ()
        if each.get("type") == "InternalIP"
    ]
    return [*own, *(one for each in slices if each.service == "kubernetes" for ends in each.endpoints for one in ends)]


def scope(
    given: Iterable[str], management: Management, cluster: str, known: Iterable[str] | None
) -> tuple[Network, ...]:
    """Who may connect: `given`, else the pods' networks (`cluster`) and the node's own if these contain all `known`
    addresses. Empty means everyone: a machine left out could reach nothing.

    Refused for a text that is not a network; `any` in `given` means everyone.
    """
    named = tuple(given)
    if named:
        return () if ANY in named else sources(named, WHAT)
    wanted = (*ranges(cluster, "winkube_cluster_cidr"), *list_own_networks(management, cluster))
    if known is None or not all(_lies_in(each, wanted) for each in known):
        return ()
    return wanted


def kubelet(networks: tuple[Network, ...] = (), port: int = KUBELET_PORT) -> FirewallRule:
    """The rule that lets them reach the kubelet."""
    return FirewallRule(KUBELET_RULE, "TCP", port, networks, adopts=True)


def health_checks(given: Iterable[str] = (ANY,), port: str = "", node_ports: str = NODE_PORTS) -> FirewallRule:
    """The rule for load balancers: `port` (empty for none) for kube-proxy's health, and a Service's healthCheckNodePort
    for its endpoints here. An empty `given` removes the rule.

    Refused for a text that is not a network or a range of ports.
    """
    named = tuple(given)
    first, _dash, last = node_ports.partition("-")
    if not (first.isdigit() and last.isdigit() and 0 < int(first) <= int(last) < PORTS):
        raise Refused(
            f"winkube_node_port_range: '{node_ports}' is not a range of ports such as {NODE_PORTS}, the API server's "
            "--service-node-port-range."
        )
    networks = () if ANY in named else sources(named, HEALTH_CHECKS)
    ports = ",".join(each for each in (port, node_ports) if each)
    return FirewallRule(KUBE_PROXY_RULE, "TCP", ports, networks, wanted=bool(named), adopts=True)


def vxlan(networks: tuple[Network, ...] = (), *, wanted: bool = True) -> FirewallRule:
    """The rule that lets them reach flannel's port for overlay networks."""
    return FirewallRule(VXLAN_RULE, "UDP", PORT, networks, wanted=wanted, adopts=True)


def _lies_in(address: str, networks: Iterable[Network]) -> bool:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        raise Refused(f"The cluster says that a node has the address '{address}', which is not an address.") from None
    return any(found in each for each in networks if each.version == found.version)
