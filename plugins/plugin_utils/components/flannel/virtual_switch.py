# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The external vSwitch on a node's adapter, made explicitly, with the adapter's addresses saved.

A placeholder network `External` of flannel's type makes the switch and keeps it. flanneld's own network then comes and
goes without losing connections, also after a reboot, which removes flannel's vxlan network. A flanneld whose vxlan
names the adapter (facts/flannel.py, NAMES_ADAPTER_FROM) does not work beside it: there flanneld makes the switch
itself, in a batch that waits for the addresses and removes the network if they do not come back.

Source: rancher/rke2 pkg/windows (createHnsNetwork), flannel-io/flannel#1111; for overlay unverified on a real node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...engine.batch import Batch, Op
from ...engine.reading import Expectation, Query, Reading, system_query
from ...engine.resource import Refused
from ...engine.resources.hns_network import Addresses, HnsNetwork, NoHnsNetwork
from ...facts.flannel import BACKENDS, NAMES_ADAPTER_FROM
from ...facts.version import Version
from .. import networks
from ..networks import Management

NAME = "External"
"""The placeholder. Source: microsoft/SDN Kubernetes/windows (the same name)."""

PREFIX, GATEWAY = "192.168.255.0/30", "192.168.255.1"
VSID = 9999
WAIT_S = 120

QUERIES: tuple[Query, ...] = (networks.adapters_query(), networks.hns_query())


@dataclass(frozen=True, slots=True)
class ApiServer:
    """The address of the cluster's API for the node."""

    host: str
    port: int

    @classmethod
    def of(cls, address: str) -> ApiServer | None:
        """From `https://api.example.com:6443` or `10.0.0.1:6443`; None for an empty text. Refused for anything else."""
        if not address:
            return None
        rest = address.partition("://")[2] or address
        host, colon, port = rest.split("/", 1)[0].rpartition(":")
        if not colon:
            host, port = rest.split("/", 1)[0], "443" if address.startswith("https://") else ""
        if not host or not port.isdigit():
            raise Refused(f"api_server: '{address}' is not an address such as 10.0.0.1:6443.")
        return cls(host.strip("[]"), int(port))


def request(mode: str, adapter: str) -> dict[str, Any]:
    """The body of the POST to HNS that makes the placeholder."""
    subnet: dict[str, Any] = {"AddressPrefix": PREFIX, "GatewayAddress": GATEWAY}
    if mode == "overlay":
        subnet["Policies"] = [{"Type": "VSID", "VSID": VSID}]
    return {"Name": NAME, "Type": BACKENDS[mode].hns_type, "NetworkAdapterName": adapter, "Subnets": [subnet]}


def names_adapter(mode: str, version: Version) -> bool:
    """Whether this flanneld asks HNS for a network on the interface with its address."""
    return mode == "overlay" and version >= NAMES_ADAPTER_FROM


def networks_of(
    mode: str, management: Management, reading: Reading, version: Version, own: str, server: ApiServer | None
) -> tuple[HnsNetwork | NoHnsNetwork, ...]:
    """The network that makes the first switch: the placeholder, or flanneld's network `own`, which allows no
    placeholder. Refused as in `network`, and where another network would make HNS refuse flanneld's."""
    placeholder = network(mode, management, reading)
    if not names_adapter(mode, version):
        return (placeholder,)
    adapter = management.adapter.physical
    there = networks.list_adapter_networks(networks.hns_networks(reading) or (), adapter)
    old = next((each for each in there if _is_placeholder(each)), None)
    others = [each for each in there if each is not old]
    if others and not any(each.name.casefold() == own.casefold() for each in others):
        raise Refused(
            f"The adapter '{adapter}' has the HNS network '{others[0].name}', so its address is on the virtual "
            f"switch's adapter, and flanneld {version} would ask HNS for a network on that, which HNS refuses. "
            f"Remove that network (its pods first), or take a flannel before {NAMES_ADAPTER_FROM}."
        )
    gone = NoHnsNetwork(
        name=old.name if old else NAME,
        id=old.id if old else "",
        request=request(mode, adapter),
        adapter=adapter,
        addresses=placeholder.addresses,
        last=not others,
        queries=QUERIES,
        wait_s=WAIT_S,
    )
    api = (Op("wait", {"for": "tcp", "host": server.host, "port": server.port, "timeout_s": WAIT_S}),) if server else ()
    made = HnsNetwork(
        name=own,
        request=None,
        adapter=adapter,
        addresses=placeholder.addresses,
        wanted=not others and (old is not None or not management.adapter.is_virtual),
        queries=QUERIES,
        gate=(*api, wait_network(own, WAIT_S)),
        wait_s=WAIT_S,
        maker="flanneld",
    )
    return (gone, made)


def _is_placeholder(network: networks.Network) -> bool:
    return network.name.casefold() == NAME.casefold() and network.prefixes == (PREFIX,)


def network(mode: str, management: Management, reading: Reading) -> HnsNetwork:
    """The placeholder, wanted only if the adapter has no network yet.

    Refused without HNS, and if the adapter has a network of another type: a virtual switch has one type.
    """
    known = networks.hns_networks(reading)
    if known is None and not reading.predicted:
        raise Refused(
            "This node has no HNS (no service hns, no vmcompute.dll) and so no container network: the "
            "Windows feature Containers is missing, or the machine was not restarted since. The role host installs it."
        )
    adapter = management.adapter.physical
    there = networks.list_adapter_networks(known or (), adapter)
    kind = BACKENDS[mode].hns_type
    others = [each for each in there if each.type.casefold() != kind.casefold()]
    if others:
        raise Refused(
            f"The adapter '{adapter}' has the HNS network '{others[0].name}' of type {others[0].type}; "
            f"winkube_network_mode {mode} needs {kind}, and the virtual switch of an adapter has one type. Remove that "
            "network (its pods first), or choose its mode."
        )
    found = management.adapter
    return HnsNetwork(
        name=NAME,
        request=request(mode, adapter),
        adapter=adapter,
        addresses=Addresses(ipv4=found.addresses, gateways=found.gateways, dns=found.dns, dhcp=found.dhcp),
        wanted=not there and not management.adapter.is_virtual,
        queries=QUERIES,
        wait_s=WAIT_S,
    )


def batch(resource: HnsNetwork, server: ApiServer | None, reading: Reading, component: str) -> Batch | None:
    """A batch of its own for the network, which the node finishes or rolls back while it is unreachable; None if the
    network exists.

    It succeeds once the adapter has its addresses, HNS a management address, and the API server answers.
    """
    change = resource.change(reading)
    if change is None:
        return None
    api = (Op("wait", {"for": "tcp", "host": server.host, "port": server.port, "timeout_s": WAIT_S}),) if server else ()
    return Batch(
        component=component,
        ops=change.prepare,
        gate=(*api, wait_network(NAME, WAIT_S)),
        pre=(Expectation(system_query(), (("machine", reading.machine), ("boot_id", reading.boot_id))),),
        state=change.state,
    )


def wait_network(name: str, timeout_s: int) -> Op:
    """A wait until the network exists and HNS has given it the node's address."""
    return Op("wait", {"for": "hns_network", "name": name, "management_ip": True, "timeout_s": timeout_s})
