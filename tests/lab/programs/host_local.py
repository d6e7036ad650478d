"""host-local.exe, judged by containernetworking/plugins v1.9.1 plugins/ipam/host-local/main.go.

ADD, DEL, CHECK and VERSION, and its files `<dataDir>\\<network>\\<ip>`.

Source: containernetworking/plugins plugins/ipam/host-local/{main.go,backend/allocator,backend/disk}.
"""

from __future__ import annotations

import ipaddress
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.lab.cluster.client import windows
from tests.lab.machine.errors import WinError
from tests.lab.machine.program import Caller, Completed, Run, text
from tests.lab.programs.cni_plugins import CODE_DECODING, CODE_ENVIRONMENT, CODE_INTERNAL, about, error, supported
from tests.lab.programs.daemon import version_of

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

DATA_DIR = "/var/lib/cni/networks"
_NEEDED = {
    "ADD": ("CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_PATH"),
    "CHECK": ("CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_PATH"),
    "DEL": ("CNI_CONTAINERID", "CNI_IFNAME", "CNI_PATH"),
    "VERSION": (),
}


class RequestError(Exception):
    """What is wrong with the configuration on standard input."""


@dataclass(frozen=True)
class Range:
    """One range of addresses to give out."""

    subnet: ipaddress.IPv4Network
    gateway: str
    first: int
    last: int


@dataclass(frozen=True)
class Request:
    version: str
    folder: str
    ranges: tuple[tuple[Range, ...], ...]
    routes: tuple[dict[str, Any], ...]


def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
    yield 0.1
    release = version_of(node, argv[0])
    environment = caller.environment
    command = environment.get("CNI_COMMAND", "")
    if not command:
        return about("host-local", release)
    if command not in _NEEDED:
        return error("", CODE_ENVIRONMENT, f"unknown CNI_COMMAND: {command}")
    if command == "VERSION":
        versions = supported(release)
        return text(0, json.dumps({"cniVersion": versions[-1], "supportedVersions": versions}) + "\n")
    missing = [name for name in _NEEDED[command] if not environment.get(name)]
    if missing:
        return error("", CODE_ENVIRONMENT, f"required env variables [{','.join(missing)}] missing")
    try:
        request = _read(stdin)
    except RequestError as problem:
        return error("", CODE_DECODING, str(problem))
    if request.version not in supported(release):
        said = f'incompatible CNI versions; config is "{request.version}", plugin supports {supported(release)}'
        return error(request.version, 1, said.replace("'", '"'))
    owner = f"{environment['CNI_CONTAINERID'].strip()}\r\n{environment['CNI_IFNAME']}"
    if command == "ADD":
        return _add(node, request, owner)
    if command == "DEL":
        for name in _held(node, request, owner):
            node.drive.delete(f"{request.folder}\\{name}")
        return text(0)
    if not _held(node, request, owner):
        return error(
            request.version, CODE_INTERNAL, f"host-local: Failed to find address added by container {owner.split()[0]}"
        )
    return text(0)


def _read(stdin: bytes) -> Request:
    try:
        document = json.loads(stdin)
    except ValueError as problem:
        raise RequestError(f"error unmarshalling network configuration: {problem}") from problem
    ipam = document.get("ipam") if isinstance(document, dict) else None
    if not isinstance(ipam, dict):
        raise RequestError("IPAM config missing 'ipam' key")
    sets = list(ipam.get("ranges") or [])
    if ipam.get("subnet"):
        sets.insert(0, [ipam])
    if not sets:
        raise RequestError("no IP ranges specified")
    ranges = tuple(tuple(_range(item) for item in one) for one in sets)
    folder = f"{windows(str(ipam.get('dataDir') or DATA_DIR), 'C:')}\\{document.get('name') or ''}".rstrip("\\")
    return Request(str(document.get("cniVersion") or "0.1.0"), folder, ranges, tuple(ipam.get("routes") or ()))


def _range(item: dict[str, Any]) -> Range:
    try:
        subnet = ipaddress.IPv4Network(str(item.get("subnet")), strict=False)
    except ValueError as problem:
        raise RequestError(f"invalid range set 0: {problem}") from problem
    if subnet.prefixlen > 30:
        raise RequestError(f"invalid range set 0: Network {subnet} too small to allocate from")
    base = int(subnet.network_address)
    gateway = str(item.get("gateway") or ipaddress.IPv4Address(base + 1))
    first = int(ipaddress.IPv4Address(str(item["rangeStart"]))) if item.get("rangeStart") else base + 1
    last = (
        int(ipaddress.IPv4Address(str(item["rangeEnd"]))) if item.get("rangeEnd") else base + subnet.num_addresses - 2
    )
    return Range(subnet, gateway, first, last)


def _held(node: SimulatedNode, request: Request, owner: str) -> list[str]:
    """The files of this container and interface; also those of old releases, which held the container alone."""
    wanted = {owner.strip(), owner.partition("\r\n")[0]}
    if not node.drive.is_dir(request.folder):
        return []
    names = [name for name in node.drive.listdir(request.folder) if name != "lock" and "last_reserved" not in name]
    return [name for name in names if node.drive.read(f"{request.folder}\\{name}").decode().strip() in wanted]


def _add(node: SimulatedNode, request: Request, owner: str) -> Completed:
    container = owner.partition("\r\n")[0]
    if _held(node, request, owner):
        said = f"failed to allocate for range 0: {_held(node, request, owner)[0]} has been allocated to {container}, "
        return error(request.version, CODE_INTERNAL, f"{said}duplicate allocation is not allowed")
    node.drive.mkdir(request.folder)
    node.drive.write(f"{request.folder}\\lock", b"")
    taken: list[tuple[Range, str]] = []
    for index, one in enumerate(request.ranges):
        shown = ", ".join(f"{ipaddress.IPv4Address(item.first)}-{ipaddress.IPv4Address(item.last)}" for item in one)
        problem = f"no IP addresses available in range set: {shown}"
        try:
            found = _allocate(node, request, one, index, owner)
        except WinError as failure:  # a full disk
            found, problem = None, f"write {failure}"
        if found is None:
            for _, address in taken:
                node.drive.delete(f"{request.folder}\\{address}")
            return error(request.version, CODE_INTERNAL, f"failed to allocate for range {index}: {problem}")
        taken.append(found)
    return text(0, json.dumps(_result(request, taken), indent=4) + "\n")


def _allocate(
    node: SimulatedNode, request: Request, ranges: tuple[Range, ...], index: int, owner: str
) -> tuple[Range, str] | None:
    """The next free address after the one that was given out last."""
    last_file = f"{request.folder}\\last_reserved_ip.{index}"
    last = node.drive.read(last_file).decode().strip() if node.drive.is_file(last_file) else ""
    order = [(one, str(ipaddress.IPv4Address(number))) for one in ranges for number in range(one.first, one.last + 1)]
    start = next((place + 1 for place, (_, address) in enumerate(order) if address == last), 0)
    for one, address in order[start:] + order[:start]:
        path = f"{request.folder}\\{address}"
        if address == one.gateway or node.drive.exists(path):
            continue
        try:
            node.drive.write(path, owner.encode())
        except WinError:
            node.drive.delete(path)
            raise
        node.drive.write(last_file, address.encode())
        return one, address
    return None


def _result(request: Request, taken: list[tuple[Range, str]]) -> dict[str, Any]:
    """In the form of the cniVersion that was asked for."""
    version = tuple(int(part) for part in request.version.split("."))
    one, address = taken[0]
    if version < (0, 3, 0):
        ip4 = {"ip": f"{address}/{one.subnet.prefixlen}", "gateway": one.gateway, "routes": list(request.routes)}
        return {"cniVersion": request.version, "ip4": ip4 if request.routes else {**ip4, "routes": None}, "dns": {}}
    ips = [
        {"address": f"{found}/{item.subnet.prefixlen}", "gateway": item.gateway, "interface": None}
        if version >= (1, 0, 0)
        else {"version": "4", "address": f"{found}/{item.subnet.prefixlen}", "gateway": item.gateway}
        for item, found in taken
    ]
    ips = [{key: value for key, value in item.items() if value is not None} for item in ips]
    found_routes = {"routes": list(request.routes)} if request.routes else {}
    return {"cniVersion": request.version, "ips": ips, **found_routes, "dns": {}}
