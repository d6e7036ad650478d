"""netsh.exe, judged by memory.

netsh.exe, `interface ipv4`: set|add address, set|add|delete dnsservers; by position or `key=value`; `interface set
interface`: whether one is enabled.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.lab.machine.adapters import Adapter, Address, Settings
from tests.lab.machine.program import Caller, Completed, Run, crlf, text

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

# Source: Microsoft, "Netsh commands for Interface IPv4": parameters in their order.
ORDER = {
    ("set", "address"): ("name", "source", "address", "mask", "gateway", "gwmetric", "type", "subinterface", "store"),
    ("add", "address"): ("name", "address", "mask", "gateway", "gwmetric", "type", "subinterface", "store"),
    ("set", "dnsservers"): ("name", "source", "address", "register", "validate"),
    ("add", "dnsservers"): ("name", "address", "index", "validate"),
    ("delete", "dnsservers"): ("name", "address", "validate"),
}
Given = dict[str, str]


class ArgumentError(Exception):
    """What netsh says about its arguments."""


def main(node: SimulatedNode, argv: list[str], caller: Caller) -> Run:
    """argv from the program's own path on; the second and third word are `interface ipv4`."""
    yield 0.2
    words = [item.lower() for item in argv[3:5]]
    what = (words[0], {"dns": "dnsservers", "dnsserver": "dnsservers"}.get(words[-1], words[-1])) if words else ("", "")
    if what not in ORDER:
        return text(1, f"The lab does not simulate netsh {' '.join(argv[1:])}.\r\n")
    try:
        given = _read(ORDER[what], argv[5:])
        adapter = node.adapters.named(given.get("name", ""))
        if adapter is None or adapter.settings is None:
            raise ArgumentError("The filename, directory name, or volume label syntax is incorrect.")
        if not caller.elevated:
            raise ArgumentError("The requested operation requires elevation (Run as administrator).")
        adapter.settings = _CHANGES[what](adapter, adapter.settings, given)
    except (ArgumentError, ValueError) as error:
        said = str(error) if isinstance(error, ArgumentError) else "The parameter is incorrect."
        return text(1, crlf("", said, ""))
    yield 1.0
    return text(0, crlf(""))


def enable(node: SimulatedNode, arguments: list[str], caller: Caller) -> Completed:
    """`interface set interface <name> admin=enabled|disabled`. Source: Microsoft, "netsh interface set interface"."""
    given = _read(("name", "admin"), arguments)
    adapter = node.adapters.named(given.get("name", ""))
    if adapter is None or given.get("admin", "").lower() not in {"enabled", "disabled"}:
        return text(1, crlf("An interface with this name is not registered with the router.", ""))
    if not caller.elevated:
        return text(1, crlf("The requested operation requires elevation (Run as administrator).", ""))
    adapter.enabled = adapter.up = given["admin"].lower() == "enabled"
    return text(0, crlf(""))


def _read(order: tuple[str, ...], arguments: list[str]) -> Given:
    given: Given = {}
    for place, item in enumerate(arguments):
        key, sign, value = item.partition("=")
        if sign and key.lower() in order:
            given[key.lower()] = value
        elif place < len(order):
            given[order[place]] = item
        else:
            raise ArgumentError(f"{item} is not an acceptable value.")
    return given


def _address(given: Given) -> Address:
    interface = ipaddress.IPv4Interface(f"{given['address']}/{given['mask']}" if "mask" in given else given["address"])
    if interface.ip.is_loopback or interface.ip.is_multicast or interface.ip.is_unspecified:
        raise ArgumentError("The parameter is incorrect.")
    return Address(str(interface.ip), interface.network.prefixlen)


def _gateways(given: Given) -> tuple[str, ...]:
    wanted = given.get("gateway", "none")
    return () if wanted.lower() == "none" else (str(ipaddress.IPv4Address(wanted)),)


def _set_address(adapter: Adapter, settings: Settings, given: Given) -> Settings:
    source = given.get("source", "static").lower()
    if source == "dhcp":
        if settings.dhcp:
            raise ArgumentError("DHCP is already enabled on this interface.")
        return replace(settings, dhcp=True, addresses=(), gateways=())
    if source != "static" or "address" not in given:
        raise ArgumentError("The syntax supplied for this command is not valid. Check help for the correct syntax.")
    return replace(settings, dhcp=False, addresses=(_address(given),), gateways=_gateways(given))


def _add_address(adapter: Adapter, settings: Settings, given: Given) -> Settings:
    address = _address(given)
    if any(item.address == address.address for item in settings.addresses):
        raise ArgumentError("The object already exists.")
    gateways = (*settings.gateways, *(item for item in _gateways(given) if item not in settings.gateways))
    return replace(settings, dhcp=False, addresses=(*settings.addresses, address), gateways=gateways)


def _set_dns(adapter: Adapter, settings: Settings, given: Given) -> Settings:
    source = given.get("source", "static").lower()
    wanted = given.get("address", "none")
    if source == "dhcp" or wanted.lower() == "none":
        return replace(settings, dns=())
    return replace(settings, dns=(str(ipaddress.IPv4Address(wanted)),))


def _add_dns(adapter: Adapter, settings: Settings, given: Given) -> Settings:
    server = str(ipaddress.IPv4Address(given.get("address", "")))
    if server in settings.dns:
        raise ArgumentError("The object already exists.")
    place = int(given.get("index", len(settings.dns) + 1)) - 1
    return replace(settings, dns=(*settings.dns[:place], server, *settings.dns[place:]))


def _delete_dns(adapter: Adapter, settings: Settings, given: Given) -> Settings:
    wanted = given.get("address", "all").lower()
    return replace(settings, dns=tuple(item for item in settings.dns if wanted not in {"all", item}))


_CHANGES: dict[tuple[str, str], Callable[[Adapter, Settings, Given], Settings]] = {
    ("set", "address"): _set_address,
    ("add", "address"): _add_address,
    ("set", "dnsservers"): _set_dns,
    ("add", "dnsservers"): _add_dns,
    ("delete", "dnsservers"): _delete_dns,
}
