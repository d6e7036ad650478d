"""What flanneld and pods leave in HNS when they have gone the wrong way."""

from __future__ import annotations

from tests.lab.machine.node import SimulatedNode

NETWORK = "cbr0"
RANGE, GATEWAY = "10.244.1.0/24", "10.244.1.1"
SETTLES_S = 60.0


def occupy(node: SimulatedNode) -> None:
    """flannel's network, which makes a virtual switch, an endpoint that nothing uses any more, its policy list."""
    subnet = {"AddressPrefix": RANGE, "GatewayAddress": GATEWAY}
    wanted = {"Name": NETWORK, "Type": "L2Bridge", "NetworkAdapterName": node.nic.name, "Subnets": [subnet]}
    network = node.hns.create_network(wanted)
    endpoint = node.hns.create_endpoint({"Name": "left", "VirtualNetwork": network["ID"]})
    policy = {"Type": "ELB", "Protocol": 6, "InternalPort": 80, "ExternalPort": 80, "VIPs": ["10.96.0.9"]}
    node.hns.create_policy_list({"References": [f"/endpoints/{endpoint['ID']}"], "Policies": [policy]})
