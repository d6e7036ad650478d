# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HNS networks of ours that are in the way, and their removal: first what depends on them, last a wait for the
addresses.

Never removed: a network of type nat, one with a foreign name or a range outside the cluster's, or one with endpoints of
others.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..components import networks
from ..components.layout import Layout
from ..components.networks import Adapter
from ..engine import windows_path
from ..engine.batch import Op
from ..engine.reading import Query, Reading, file_key, file_query
from ..engine.resources.hns_network import Addresses, note_adapters
from ..facts.flannel import BACKENDS, VNI
from ..network.model import POD_TYPES, Endpoint, Hns, Network
from ..network.parse import identity, parse

ALL = "hns:all"
QUERIES: tuple[Query, ...] = (
    networks.adapters_query(),
    networks.hns_query(),
    replace(networks.hns_query("networks", "endpoints", "policylists", "namespaces"), key=ALL),
)
"""Everything in HNS, under its own key: a reading for the roles has only the networks."""
ENDPOINTS, POLICY_LISTS = "endpoints", "policylists"
WAIT_S = 120
RECORD_LIMIT = 64 * 1024


def record_query(layout: Layout) -> Query:
    """The networks that batches have made on this node (docs/protocol.md, section 4)."""
    return file_query(_record(layout), content_limit=RECORD_LIMIT)


def list_recorded(layout: Layout, reading: Reading) -> tuple[str, ...]:
    """Their ids; empty without a readable record."""
    if not reading.parts.get(file_key(_record(layout)), {}).get("exists"):
        return ()
    try:
        found = json.loads(reading.text(_record(layout)) or "").get("networks") or {}
        return tuple(identity(each) for each in found.values() if each)
    except (ValueError, AttributeError, TypeError, RecursionError):
        return ()


def _record(layout: Layout) -> str:
    return windows_path.join(layout.state_dir, "networks.json")


@dataclass(frozen=True, slots=True)
class Ours:
    """How to recognise our networks: `names` (`cbr0`, the overlay's, without case) with a range in `cluster` (the
    pods' network, empty where it is not known), and those whose ids are in `recorded`, the state folder's
    networks.json."""

    names: tuple[str, ...]
    cluster: str
    recorded: tuple[str, ...] = ()

    def owns(self, network: Network) -> bool:
        """Whether this collection, or the flanneld that it runs, made the network."""
        if network.type not in POD_TYPES:
            return False
        if network.id in self.recorded:
            return True
        if network.name.casefold() not in {name.casefold() for name in self.names}:
            return False
        pods = networks.list_pod_ranges(self.cluster) if self.cluster else ()
        found = [each for each in network.prefixes if isinstance(each, ipaddress.IPv4Network)]
        return bool(found) and all(any(each.subnet_of(cover) for cover in pods) for each in found)


def list_own_names(overlay: str) -> tuple[str, ...]:
    """The network names of our flanneld, in either mode: a node may have been in the other one. `overlay` is the
    wanted overlay name, empty for the default."""
    return tuple(
        dict.fromkeys((*(each.network for each in BACKENDS.values()), f"flannel.{VNI}", *filter(None, (overlay,))))
    )


def hns(reading: Reading) -> Hns:
    """HNS in the reading."""
    return parse(reading.parts.get(ALL))


def guests(found: Hns, network: Network) -> tuple[Endpoint, ...]:
    """Endpoints on it that are in use: of running pods, of other containers. Not the bridge's own `<name>_ep`, nor
    kube-proxy's remote ones, nor remains of a dead pod without namespace and container."""
    return tuple(
        each
        for each in _list_on(found, network)
        if not each.remote and not _is_bridge(each, network) and (found.is_attached(each) or each.containers)
    )


def remove(found: Hns, going: Sequence[Network], adapters: Sequence[Adapter]) -> tuple[Op, ...]:
    """Remove these networks with their policy lists and endpoints; if no virtual switch then remains on the adapter,
    restore the adapter's settings."""
    ops: list[Op] = []
    ends = [each for network in going for each in _list_on(found, network) if not _is_bridge(each, network)]
    hanging = {each.id for network in going for each in _list_on(found, network)}
    lists = [each.id for each in found.policy_lists if hanging & set(each.endpoints)]
    if lists:
        ops.append(remove_objects(POLICY_LISTS, lists))
    if ends:
        ops.append(remove_objects(ENDPOINTS, [each.id for each in ends]))
    gone = [Op("hns_network_remove", {"name": each.name, "id": each.id}) for each in going]
    held = _find_switched(found, going, adapters)
    if held is None:
        return (*ops, *gone)
    back = Addresses(ipv4=held.addresses, gateways=held.gateways, dns=held.dns, dhcp=held.dhcp)
    return (*ops, *note_adapters(held.name), *gone, *back.settle(held.physical, wait_s=WAIT_S))


def request(network: Network) -> str:
    """The request that made this network: the JSON text to POST to `/networks/`."""
    names = {"l2bridge": "L2Bridge", "overlay": "Overlay", "transparent": "Transparent", "l2tunnel": "L2Tunnel"}
    subnets = []
    for each in network.subnets:
        part: dict[str, Any] = {"AddressPrefix": each.prefix, "GatewayAddress": each.gateway}
        if each.vsid:
            part["Policies"] = [{"Type": "VSID", "VSID": each.vsid}]
        subnets.append(part)
    found: dict[str, Any] = {
        "Name": network.name,
        "Type": names[network.type],
        "NetworkAdapterName": network.adapter,
        "Subnets": subnets,
    }
    if network.flags:
        found["Flags"] = network.flags
    return json.dumps(found, separators=(",", ":"), sort_keys=True)


def remove_objects(kind: str, ids: Sequence[str]) -> Op:
    """Remove endpoints or policy lists by id. No undo: the program that made them makes them again at its start."""
    return Op("hns_remove", {"objects": kind, "ids": sorted(ids)})


def _find_switched(found: Hns, going: Sequence[Network], adapters: Sequence[Adapter]) -> Adapter | None:
    """The adapter with the node's address, if its last network goes, and with it the virtual switch: then the
    connection breaks, and the addresses return to the adapter below."""
    adapter = going[-1].adapter if going else ""
    gone = {each.id for each in going}
    if not adapter or any(each.adapter == adapter and each.id not in gone for each in found.networks):
        return None
    named = (each for each in adapters if each.physical.casefold() == adapter.casefold() and each.addresses)
    return next(named, None)


def _list_on(found: Hns, network: Network) -> tuple[Endpoint, ...]:
    return tuple(each for each in found.endpoints if each.network == network.id)


def _is_bridge(endpoint: Endpoint, network: Network) -> bool:
    """Whether it is flannel's own host-gw endpoint, which goes with its network."""
    return endpoint.name.casefold() == f"{network.name}_ep".casefold()
