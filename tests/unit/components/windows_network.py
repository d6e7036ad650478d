"""Adapters and HNS networks of simulated readings."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ansible_collections.winkube.node.plugins.plugin_utils.components.flannel import flannel
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading

from .nodes import LAYOUT, bare

EXTERNAL: dict[str, Any] = {
    "ID": "9DD9",
    "Name": "External",
    "Type": "L2Bridge",
    "ManagementIP": "10.127.130.14",
    "NetworkAdapterName": "Ethernet",
    "Subnets": [{"AddressPrefix": "192.168.255.0/30", "GatewayAddress": "192.168.255.1"}],
}
CBR0 = EXTERNAL | {"ID": "AAAA", "Name": "cbr0", "Subnets": [{"AddressPrefix": "10.244.4.0/24"}]}
VXLAN = CBR0 | {"ID": "BBBB", "Name": "vxlan0", "Type": "Overlay", "Flags": 8}


def adapter(name: str = "Ethernet", address: str = "10.127.130.14", **more: Any) -> dict[str, Any]:
    """One adapter as the probe reports it."""
    return {
        "name": name,
        "description": "Intel(R) 82574L",
        "index": 4,
        "mac": "00-15-5D-EB-40-00",
        "up": True,
        "dhcp": False,
        "mtu": 1500,
        "ipv4": [{"address": address, "prefix": 24}],
        "gateways": ["10.127.130.1"],
        "dns": ["10.127.130.53"],
    } | more


def reading(
    *services: dict[str, Any],
    adapters: Sequence[dict[str, Any]] | None = None,
    networks: Sequence[dict[str, Any]] = (),
) -> Reading:
    """A node without files, with these adapters and networks."""
    answer = json.dumps({"Success": True, "Output": list(networks)})
    parts = {
        "adapters": list(adapters if adapters is not None else [adapter()]),
        "hns": {"available": True, "networks": answer},
    }
    return bare(flannel.reads(LAYOUT), *services).merge(parts)


SWITCHED = reading(adapters=[adapter("Ethernet") | {"ipv4": []}, adapter("vEthernet (Ethernet)")], networks=[EXTERNAL])
"""A node whose external vSwitch has been made."""
