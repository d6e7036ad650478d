"""hns_network, hns_network_remove, hns_remove, addresses, computer_name; and what the waits for the network look at."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import re
from collections.abc import Generator
from typing import Any

from tests.lab.machine import image
from tests.lab.machine.adapters import Adapter, Address
from tests.lab.machine.builds import identify
from tests.lab.machine.errors import WinError
from tests.lab.machine.hns_errors import HnsError
from tests.lab.machine.network import NetworkError
from tests.lab.twin import dotnet
from tests.lab.twin.state import StateFolder
from tests.lab.twin.work import Args, OpError, OpRun, Work

NETSH = "C:\\Windows\\System32\\netsh.exe"
RECORD = "networks.json"
AFTER_NETSH_S = 15.0
START_S = 30.0
POLL_S = 0.5
# Source: Microsoft, "Naming conventions in Active Directory for computers": NetBIOS and DNS host names.
COMPUTER_NAME = re.compile(r"^(?!\d+$)[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$")
NETBIOS = 15


# -- HNS networks --------------------------------------------------------------------------------------------------


def hns_network(work: Work, args: Args) -> OpRun:
    yield 0.1
    name, request = str(args["name"]), str(args.get("request") or "")
    if not work.node.hns.available:
        raise OpError("There is no Host Network Service; install the Windows feature Containers and restart.")
    yield from _start(work)
    there, made = _network(work, name), _recorded(work)
    if there is not None:
        if made.get(name.lower()) == "":
            _record(work, {**made, name.lower(): str(there["ID"])})
        return {"changed": False, "id": there["ID"], "existed": True}
    # Noted before it is made: what was cut in between is still known as ours.
    _record(work, {**made, name.lower(): ""})
    work.seam("noted")
    if not request:
        return {"changed": False, "id": "", "existed": False}
    yield 1.0
    answer = json.loads(work.node.hns.call("POST", "/networks/", request))
    if not answer["Success"]:
        with contextlib.suppress(WinError):  # What HNS said is the one to be told; the undo strikes it out again.
            _record(work, made)
        raise OpError(
            f"HNS did not make the network {name}: {str(answer['Error']).strip()} ({answer['ErrorCode']:#010x})",
            code=answer["ErrorCode"],
        )
    work.seam("made")
    identity = str(answer["Output"]["ID"])
    _record(work, {**made, name.lower(): identity})
    return {"changed": True, "id": identity, "existed": False}


def hns_network_remove(work: Work, args: Args) -> OpRun:
    yield 0.1
    name, given = str(args["name"]), str(args.get("id") or "")
    yield from _start(work)
    made = _recorded(work)
    rest = {key: value for key, value in made.items() if key != name.lower()}
    there = _network(work, name)
    if there is None:
        if rest != made:
            _record(work, rest)
        return {"changed": False}
    identity = str(there["ID"])
    if str(there["Type"]).lower() == "nat":
        raise OpError(f"The HNS network {name} is of type nat; such a network is not removed.")
    if made.get(name.lower(), None) not in {"", identity} and given.lower() != identity.lower():
        raise OpError(f"The HNS network {name} ({identity}) was not made here, nor was its id given; it is left.")
    carried = [
        str(item.get("Name") or item["ID"])
        for item in work.node.hns.endpoints_of(identity)
        if str(item.get("Name")).lower() != f"{name.lower()}_ep"
    ]
    if carried:
        raise OpError(
            f"The HNS network {name} carries {len(carried)} endpoints ({', '.join(carried[:5])}); it is not removed."
        )
    work.seam("removing")
    yield 1.0
    answer = json.loads(work.node.hns.call("DELETE", f"/networks/{identity}"))
    if not answer["Success"]:
        raise OpError(
            f"HNS did not remove the network {name}: {str(answer['Error']).strip()} ({answer['ErrorCode']:#010x})",
            code=answer["ErrorCode"],
        )
    work.seam("removed")
    if rest != made:
        _record(work, rest)
    return {"changed": True}


def hns_remove(work: Work, args: Args) -> OpRun:
    yield 0.1
    objects, ids = str(args["objects"]), [str(item) for item in args["ids"]]
    if objects not in {"endpoints", "policylists"}:
        raise OpError(f"Of HNS's objects endpoints and policylists are removed, not '{objects}'.")
    if not work.node.hns.available:
        return {"changed": False}
    yield from _start(work)
    try:
        there = {str(item["ID"]).lower() for item in work.node.hns.objects(objects)}
    except HnsError as error:
        raise OpError(f"HNS did not list its {objects}: {error}", code=error.code) from error
    changed = False
    for identity in ids:
        if identity.lower() in there:
            work.seam("removing")
            yield 0.1
            answer = json.loads(work.node.hns.call("DELETE", f"/{objects}/{identity}"))
            if not answer["Success"]:
                said = f"{str(answer['Error']).strip()} ({answer['ErrorCode']:#010x})"
                raise OpError(f"HNS did not remove {identity} of its {objects}: {said}", code=answer["ErrorCode"])
            changed = True
    return {"changed": changed}


def _start(work: Work) -> Generator[float | None, None, None]:
    """Starts the service if it is stopped; whoever calls HNS does so on Windows."""
    services, end = work.node.services, work.node.clock.now() + START_S
    if services.state("hns") == "stopped":
        yield from services.start("hns")
    while services.state("hns") not in {"running", "absent"} and work.node.clock.now() < end:
        yield 0.2


def _network(work: Work, name: str) -> dict[str, Any] | None:
    """HNS's network of this name; None where there is no HNS, too."""
    hns = work.node.hns
    if not hns.available:
        return None
    try:
        return next((item for item in hns.networks if item["Name"].lower() == name.lower()), None)
    except HnsError as error:
        raise OpError(f"HNS did not list its networks: {error}", code=error.code) from error


def _recorded(work: Work) -> dict[str, str]:
    document = StateFolder(work.node, work.state_dir).read(RECORD) or {}
    found = document.get("networks")
    return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}


def _record(work: Work, networks: dict[str, str]) -> None:
    folder = StateFolder(work.node, work.state_dir)
    if not folder.exists():
        folder.make()
    folder.write({"schema": 1, "networks": networks}, RECORD)


# -- addresses -----------------------------------------------------------------------------------------------------


def addresses(work: Work, args: Args) -> OpRun:
    yield 0.05
    names = [str(item) for item in args["adapters"]]
    wanted = [Address(str(item["address"]), int(item["prefix"])) for item in args["ipv4"]]
    patience = work.time_left(float(args.get("wait_s") or 60))
    there = yield from _come(work, names, wanted, patience)
    if there is not None:
        return {"changed": False, "adapter": there.name}
    adapter = dotnet.first_interface(work.node, names)
    if adapter is not None and not bool(args["dhcp"]):
        work.seam("setting")
        gateway, dns = str(args.get("gateway") or "none"), [str(item) for item in args["dns"]]
        for line in _lines(adapter.name, wanted, gateway, dns):
            yield from _netsh(work, line)
        if there := (yield from _come(work, names, wanted, AFTER_NETSH_S)):
            return {"changed": True, "adapter": there.name}
        patience += AFTER_NETSH_S
    texts = ", ".join(f"{item.address}/{item.prefix}" for item in wanted)
    seen = _seen(work, dotnet.first_interface(work.node, names))
    raise OpError(f"The adapter {' or '.join(names)} did not get {texts} within {patience:g} s: {seen}.")


def _lines(name: str, wanted: list[Address], gateway: str, dns: list[str]) -> list[list[str]]:
    """netsh's arguments: the first address replaces what there was, the others are added; so do the DNS servers."""
    lines = []
    verb, last = ["set", "address", f"name={name}", "source=static"], [f"gateway={gateway}"]
    for item in wanted:
        mask = str(ipaddress.IPv4Network(f"0.0.0.0/{item.prefix}").netmask)
        lines.append([*verb, f"address={item.address}", f"mask={mask}", *last])
        verb, last = ["add", "address", f"name={name}"], []
    verb = ["set", "dnsservers", f"name={name}", "source=static"]
    for server in dns:
        lines.append([*verb, f"address={server}", "validate=no"])
        verb = ["add", "dnsservers", f"name={name}"]
    return [["interface", "ipv4", *line] for line in lines]


def _netsh(work: Work, arguments: list[str]) -> Generator[float | None, None, None]:
    """Its exit code says little (an address that is there already is 1): what counts is what there is afterwards."""
    node = work.node
    process, _ = node.start_program(NETSH, arguments, parent=work.process.pid)
    yield from node.processes.wait(process, 60.0)


def _come(
    work: Work, names: list[str], wanted: list[Address], seconds: float
) -> Generator[float | None, None, Adapter | None]:
    """The adapter, as soon as it has all addresses; None when the time is up."""
    end = work.node.clock.now() + seconds
    while True:
        adapter = dotnet.first_interface(work.node, names)
        if adapter is not None and set(wanted) <= set(work.node.adapters.addresses(adapter)):
            return adapter
        if work.node.clock.now() >= end:
            return None
        yield min(POLL_S, max(0.01, end - work.node.clock.now()))


def _seen(work: Work, adapter: Adapter | None) -> str:
    try:
        dotnet.interfaces(work.node)
    except NetworkError as error:
        return f"the adapters could not be listed: {error}"
    if adapter is None:
        return "it is not there"
    now = work.node.adapters.current(adapter)
    have = ", ".join(f"{item.address}/{item.prefix}" for item in now.addresses)
    return f"it is {'up' if adapter.up else 'down'} and has {have or 'no IPv4 address'}"


# -- the computer's name -------------------------------------------------------------------------------------------


def computer_name(work: Work, args: Args) -> OpRun:
    yield 0.1
    name, registry = str(args["name"]), work.node.registry
    if not COMPUTER_NAME.match(name):
        raise OpError(f"The machine could not be renamed to {name}: error 123, that is no such name.", code=123)
    short = registry.text(f"{image.COMPUTER_NAME}\\ComputerName", "ComputerName")
    whole = registry.text(image.TCPIP, "NV Hostname") if len(name) > NETBIOS else short
    if short.lower() == name.lower()[:NETBIOS] and whole.lower() == name.lower():
        return {"changed": False}
    work.seam("renaming")
    image.rename_computer(registry, name)
    return {"changed": True}


# -- what waits look at --------------------------------------------------------------------------------------------


def file_there(work: Work, args: Args) -> tuple[bool, str]:
    path, drive = str(args["path"]), work.node.drive
    kind = drive.kind(path)
    if kind != "file":
        return False, "it is not there" if kind is None else f"it is a {kind}"
    size = drive.stat(path).size
    wanted = args.get("version")
    if size and wanted:
        build = identify(drive.read(path))
        found = (build.resource if build else None) or ""
        return not found or bool(re.match(rf"{re.escape(str(wanted))}(?!\d)", found)), f"it is of version {found}"
    return size > 0, f"it has {size} bytes"


def tcp(work: Work, args: Args) -> tuple[bool, str]:
    host, port = str(args["host"]).strip("[]"), int(args["port"])
    try:
        dotnet.connect(work.node, host, port, 3.0, family=work.node.network.family(host, port))
    except NetworkError as error:
        return False, f"there is no connection: {error}"
    return True, "it takes connections"


def tcp_closed(work: Work, args: Args) -> tuple[bool, str]:
    """A name without an address is no port that is closed."""
    host = str(args["host"]).strip("[]")
    so, seen = tcp(work, args)
    return not so and not work.node.network.is_unknown(host, int(args["port"])), seen


def adapter_there(work: Work, args: Args) -> tuple[bool, str]:
    adapters, name, wanted = work.node.adapters, str(args["name"]), args.get("address")
    found = dotnet.first_interface(work.node, [name])
    if found is None:
        return False, _seen(work, None)
    now = adapters.addresses(found)
    so = any(item.address == wanted if wanted else not item.link_local for item in now)
    return so and found.up, _seen(work, found)


def network_there(work: Work, args: Args) -> tuple[bool, str]:
    try:
        found = _network(work, str(args["name"]))
    except OpError as error:
        return False, str(error).rstrip(".")
    if found is None:
        return False, "it is not there"
    if args.get("management_ip") and not found["ManagementIP"]:
        return False, "it is there without one"
    return True, "it is there"
