"""flanneld.exe's networks, judged by flannel v0.28.4 pkg/backend/vxlan/vxlan_windows.go.

`cbr0` with its endpoint for host-gw, `flannel.<VNI>` for vxlan.

Sources: flannel pkg/backend/hostgw/hostgw_windows.go, pkg/backend/vxlan/{vxlan,device}_windows.go; the 45 s for the
interface from newer releases (windows.md).
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from tests.lab.machine.hns import NON_PERSISTENT
from tests.lab.machine.hns_errors import ALREADY_ATTACHED, HnsError
from tests.lab.programs.daemon import Daemon, Steps
from tests.lab.programs.lookup import NotFoundError, look_up

VNI, PORT = 4096, 4789
NAMES_ADAPTER_FROM = (0, 24, 1)
"""From this release on vxlan puts the name of the interface that --iface chose into a NetAdapterName policy. Source:
flannel pkg/backend/vxlan/{vxlan,device}_windows.go, addNetAdapterName."""
INTERFACE_S = 45.0
MANAGEMENT_IP_S = {"host-gw": 30.0, "vxlan": 5.0}
Object = dict[str, Any]


class SetupError(Exception):
    """A sentence of flanneld's."""


@dataclass(frozen=True)
class Backend:
    """kind: `host-gw` or `vxlan`; name: of the HNS network; vni: of vxlan."""

    kind: str
    name: str
    network: ipaddress.IPv4Network
    vni: int = 0
    problem: str = ""


def read_backend(data: bytes) -> Backend:
    """net-conf.json. SetupError for one that cannot be read; what is wrong with a backend is told at registration."""
    try:
        document: Any = json.loads(data)
        network = ipaddress.IPv4Network(document["Network"])
        settings: Object = document.get("Backend") or {}
        kind = str(settings.get("Type") or "udp")
        vni, port = int(settings.get("VNI", VNI)), int(settings.get("Port", PORT))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SetupError(f"error parsing subnet config: {error}") from error
    if kind == "vxlan":
        name = str(settings.get("Name") or f"flannel.{vni}")
        return Backend(kind, name, network, vni, _vxlan_problem(settings, vni, port))
    problem = "" if kind == "host-gw" else f"unknown backend type {kind}"
    return Backend(kind, str(settings.get("Name") or "cbr0"), network, 0, problem)


def _vxlan_problem(settings: Object, vni: int, port: int) -> str:
    invalid = "invalid VXLAN backend config."
    prefix = str(settings.get("MacPrefix", "0E-2A"))
    if vni < VNI:
        return f"{invalid} VNI [{vni}] must be greater than or equal to {VNI} on Windows"
    if port != PORT:
        said = f"Omit the setting to default to port {PORT}"
        return f"{invalid} Port [{port}] is not supported on Windows. {said}"
    if settings.get("DirectRouting"):
        return f"{invalid} DirectRouting is not supported on Windows"
    if settings.get("GBP"):
        return f"{invalid} GBP is not supported on Windows"
    if len(prefix) != 5 or prefix[2] != "-":
        return f"{invalid}MacPrefix [{prefix}] is invalid, prefix must be of the format xx-xx e.g. 0E-2A"
    return ""


def make(
    daemon: Daemon, backend: Backend, subnet: ipaddress.IPv4Network, interface: str
) -> Generator[float | None, None, str]:
    """The network for this range, made anew where it is another's; the overlay's DR MAC. SetupError, HnsError."""
    hns = daemon.node.hns
    if backend.problem:
        raise SetupError(backend.problem)
    kind = "L2Bridge" if backend.kind == "host-gw" else "Overlay"
    found = hns.network(backend.name)
    gateway = str(subnet.network_address + 1)
    if found is not None and not _fits(found, kind, str(subnet), gateway):
        hns.delete_network(found["ID"])
        daemon.log(f"Deleted stale HNSNetwork {backend.name}")
        found = None
    if found is not None:
        daemon.log(f"Found existing HNSNetwork {backend.name}")
    else:
        part: Object = {"AddressPrefix": str(subnet), "GatewayAddress": gateway}
        request: Object = {"Name": backend.name, "Type": kind, "Subnets": [part]}
        if kind == "Overlay":
            part["Policies"] = [{"Type": "VSID", "VSID": backend.vni}]
            request["Flags"] = NON_PERSISTENT
            if tuple(int(part) for part in daemon.version.partition("-")[0].split(".")) >= NAMES_ADAPTER_FROM:
                named = {"Type": "NetAdapterName", "Settings": {"NetworkAdapterName": interface}}
                request["Policies"] = [named]
        daemon.log(f"Attempting to create HNSNetwork {json.dumps(request)}")
        try:
            found = hns.create_network(request)
        except HnsError as error:
            raise SetupError(f"failed to create HNSNetwork {backend.name}: {error}") from error
        yield from _settle(daemon, backend, found["ID"])
        daemon.log(f"Created HNSNetwork {backend.name}")
    if backend.kind == "host-gw":
        yield from _bridge_endpoint(daemon, backend.name, found["ID"], str(subnet.network_address + 2))
        _enable_forwarding(daemon)
    return str(found.get("DrMacAddress") or "")


def _fits(found: Object, kind: str, prefix: str, gateway: str) -> bool:
    subnets = [(item["AddressPrefix"], item["GatewayAddress"]) for item in found["Subnets"]]
    return found["Type"] == kind and (prefix, gateway) in subnets


def _settle(daemon: Daemon, backend: Backend, identity: str) -> Steps:
    """Until the network has a management address, and an adapter has that address."""
    node = daemon.node
    daemon.log(f"Waiting to get ManagementIP from HNSNetwork {backend.name}")
    end = node.clock.now() + MANAGEMENT_IP_S[backend.kind]
    while not (address := str((node.hns.network(identity) or {}).get("ManagementIP") or "")):
        if node.clock.now() >= end:
            raise SetupError(
                f"timeout, failed to get management IP from HNSNetwork {backend.name}: timed out waiting for the "
                "condition"
            )
        yield 0.5
    daemon.log(f"Waiting to get net interface for HNSNetwork {backend.name} ({address})")
    end = node.clock.now() + INTERFACE_S
    while node.adapters.holder(address) is None:
        if node.clock.now() >= end:
            raise SetupError(f"timeout, failed to get net interface for HNSNetwork {backend.name} ({address})")
        yield 0.5


def _enable_forwarding(daemon: Daemon) -> None:
    """By powershell.exe, started by its name. Sources: flannel pkg/backend/hostgw/hostgw_windows.go,
    pkg/ip/iface_windows.go, pkg/powershell/powershell.go."""
    try:
        look_up(daemon.node.drive, daemon.caller, "powershell.exe")
    except NotFoundError as error:
        raise SetupError(f"failed to enable forwarding: error: {error} while running the command") from error


def _bridge_endpoint(daemon: Daemon, network: str, identity: str, address: str) -> Steps:
    """`<network>_ep` with the second address, in the host's own compartment."""
    hns, name = daemon.node.hns, f"{network}_ep"
    found = hns.endpoint(name)
    if found is not None and found.get("IPAddress") != address:
        hns.delete_endpoint(found["ID"])
        daemon.log(f"Deleted stale bridge HNSEndpoint {name}")
        found = None
    if found is None:
        found = hns.create_endpoint({"Name": name, "IPAddress": address, "VirtualNetwork": identity})
        daemon.log(f"Created bridge HNSEndpoint {name}")
    try:
        hns.attach_endpoint(found["ID"])
    except HnsError as error:
        if error.code != ALREADY_ATTACHED:
            raise SetupError(f"failed to hot attach bridge HNSEndpoint {name} to host compartment: {error}") from error
    daemon.log(f"Attached bridge endpoint {name} to host successfully")
    yield 0.5
