"""calico-node.exe on Windows, judged by projectcalico/calico v3.32.1 node/pkg/lifecycle/startup/startup_windows.go.

node-service.ps1 and the program that it starts: the switch, the block of addresses, the network Calico and the host's
endpoint on it, which has kube-proxy's source VIP. A node's block has nothing to do with its podCIDR, if it has one: it
is the last free one of the pool, and its tunnel's address stands in an annotation of the Node.

Sources: calico v3.32.1 node/windows-packaging/CalicoWindows/node/node-service.ps1,
cni-plugin/pkg/dataplane/windows/dataplane_windows.go (SetupVxlanNetwork), libcalico-go/lib/ipam/ipam.go (the sentence
about strict affinity).
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any

from tests.lab.cluster.client import MERGE, NodeClient, RefusedError, UnreachableError, load, windows
from tests.lab.cluster.kubeconfig import BadKubeconfigError
from tests.lab.machine.hns_errors import HnsError
from tests.lab.machine.program import Caller, Run
from tests.lab.programs.daemon import Steps

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

NETWORK, ENDPOINT, SWITCH = "Calico", "Calico_ep", "External"
RETRY_S = 1.0
GROUP = "/apis/crd.projectcalico.org/v1"
TUNNEL = "projectcalico.org/IPv4VXLANTunnelAddr"
NO_AFFINITY = "global strict affinity should not be false for Windows node"


class StartupError(Exception):
    """Initialisation failed, and is tried again."""


def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
    yield 1.0
    environment = caller.environment
    while True:
        try:
            yield from _start(node, environment, caller)
            break
        except (StartupError, UnreachableError, RefusedError, BadKubeconfigError) as error:
            caller.process.facts["failed"] = str(error)
            caller.log(f"Calico node initialisation failed, will retry... {error}")
        except HnsError as error:
            caller.process.facts["failed"] = str(error)
        yield RETRY_S
    caller.process.facts.pop("failed", None)
    while True:  # it watches the kubelet from now on
        yield None


def _start(node: SimulatedNode, environment: dict[str, str], caller: Caller) -> Steps:
    # Without it vxlan: node/windows-packaging/CalicoWindows/config-hpc.ps1.
    if environment.get("CALICO_NETWORKING_BACKEND", "vxlan") != "vxlan":
        raise StartupError("invalid backend configuration")
    hns = node.hns
    if hns.network(SWITCH) is None:
        hns.create_network(_overlay(SWITCH, "192.168.255.0/30", "192.168.255.1", 9999))
    while not (hns.network(SWITCH) or {}).get("ManagementIP"):
        yield 1.0
    api = NodeClient(node, load(node, windows(environment["KUBECONFIG"], "C:\\")))
    block = _block(api, environment["NODENAME"])
    vni = int(environment.get("VXLAN_VNI") or 4096)
    if vni < 4096:
        raise StartupError("Windows does not support VXLANVNI < 4096")
    gateway = str(block.network_address + 1)
    found = hns.network(NETWORK)
    if found is not None and found["Subnets"][0]["AddressPrefix"] != str(block):
        hns.delete_network(found["ID"])
        found = None
    if found is None:
        found = hns.create_network(_overlay(NETWORK, str(block), gateway, vni))
    while not (hns.network(NETWORK) or {}).get("ManagementIP"):
        yield 1.0
    if hns.endpoint(ENDPOINT) is None:
        address = str(block.network_address + 2)
        made = hns.create_endpoint({"VirtualNetwork": found["ID"], "Name": ENDPOINT, "IPAddress": address})
        hns.attach_endpoint(made["ID"])
    caller.log(f"Calico node initialisation succeeded; block {block}")


def _overlay(name: str, prefix: str, gateway: str, vni: int) -> dict[str, Any]:
    policies = [{"Type": "VSID", "VSID": vni}]
    subnet = {"AddressPrefix": prefix, "GatewayAddress": gateway, "Policies": policies}
    return {"Name": name, "Type": "Overlay", "Subnets": [subnet]}


def _block(api: NodeClient, name: str) -> ipaddress.IPv4Network:
    config = api.find(f"{GROUP}/ipamconfigs/default") or {}
    if not (config.get("spec") or {}).get("strictAffinity"):
        raise StartupError(NO_AFFINITY)
    pools = [item["spec"] for item in api.get(f"{GROUP}/ippools")["items"]]
    fit = [pool for pool in pools if pool.get("vxlanMode") == "Always" and ":" not in pool["cidr"]]
    if not fit:
        raise StartupError("no configured Calico pools for VXLAN")
    blocks = list(ipaddress.IPv4Network(fit[0]["cidr"]).subnets(new_prefix=int(fit[0].get("blockSize") or 26)))
    nodes = api.get("/api/v1/nodes")["items"]
    taken = {
        str(node["metadata"]["name"]): ipaddress.IPv4Address(found)
        for node in nodes
        if (found := (node["metadata"].get("annotations") or {}).get(TUNNEL))
    }
    if name in taken:
        return next(block for block in blocks if taken[name] in block)
    block = next(block for block in reversed(blocks) if not any(one in block for one in taken.values()))
    annotations = {TUNNEL: str(block.network_address + 2)}
    api.send("PATCH", f"/api/v1/nodes/{name}", {"metadata": {"annotations": annotations}}, MERGE)
    return block


def range_of(node: SimulatedNode) -> str:
    """The block from which a pod on this node gets its address; empty where Calico has made no network."""
    found = node.hns.network(NETWORK)
    return str(found["Subnets"][0]["AddressPrefix"]) if found else ""
