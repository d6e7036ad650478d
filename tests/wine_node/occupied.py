"""What a pod leaves in HNS when it has gone the wrong way."""

from __future__ import annotations

from tests.lab.machine.node import SimulatedNode


def occupied(node: SimulatedNode, network: str) -> None:
    """`Side.occupy` on the lab's HNS, which is Wine's, too."""
    found = node.hns.network(network)
    assert found is not None
    endpoint = node.hns.create_endpoint({"Name": "left", "VirtualNetwork": found["ID"]})
    policy = {"Type": "ELB", "Protocol": 6, "InternalPort": 80, "ExternalPort": 80, "VIPs": ["10.96.0.9"]}
    node.hns.create_policy_list({"References": [f"/endpoints/{endpoint['ID']}"], "Policies": [policy]})
