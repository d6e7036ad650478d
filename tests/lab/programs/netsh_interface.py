"""netsh.exe, judged by memory.

netsh.exe, `interface ipv4` and `interface ipv6`: set|add address (ipv6: add), set|add|delete dnsservers, set|add route,
set interface dhcpstaticipcoexistence; by position or `key=value`. An adapter is named by its name or its index.
`interface set interface`: whether one is enabled.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.lab.machine.adapters import Adapter, Address, Route, Settings
from tests.lab.machine.program import Caller, Completed, Run, crlf, text

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

_ROUTE = (
    *("prefix", "interface", "nexthop", "siteprefixlength", "metric", "publish", "age", "validlifetime"),
    *("preferredlifetime", "store"),
)
# Source: Microsoft, "Netsh commands for Interface IPv4": parameters in their order.
ORDER = {
    ("set", "address"): ("name", "source", "address", "mask", "gateway", "gwmetric", "type", "subinterface", "store"),
    ("add", "address"): ("name", "address", "mask", "gateway", "gwmetric", "type", "subinterface", "store"),
    ("set", "dnsservers"): ("name", "source", "address", "register", "validate"),
    ("add", "dnsservers"): ("name", "address", "index", "validate"),
    ("delete", "dnsservers"): ("name", "address", "validate"),
    ("add", "route"): _ROUTE,
    ("set", "route"): _ROUTE,
    ("set", "interface"): ("interface", "dhcpstaticipcoexistence"),
}
# Source: Microsoft, "Netsh commands for Interface IPv6".
ORDER6 = {
    **{key: value for key, value in ORDER.items() if key[1] in {"dnsservers", "route"}},
    ("add", "address"): ("interface", "address", "type", "validlifetime", "preferredlifetime", "store"),
}
Given = dict[str, str]
FAMILY = "(family)"
"""Beside what is given: `ipv4` or `ipv6`."""


class ArgumentError(Exception):
    """What netsh says about its arguments."""


def main(node: SimulatedNode, argv: list[str], caller: Caller) -> Run:
    """argv from the program's own path on; the second and third word are `interface ipv4` or `interface ipv6`."""
    yield 0.2
    six = argv[2].lower() == "ipv6"
    order, changes = (ORDER6, _CHANGES6) if six else (ORDER, _CHANGES)
    words = [item.lower() for item in argv[3:5]]
    what = (words[0], {"dns": "dnsservers", "dnsserver": "dnsservers"}.get(words[-1], words[-1])) if words else ("", "")
    if what not in order:
        return text(1, f"The lab does not simulate netsh {' '.join(argv[1:])}.\r\n")
    try:
        given = {**_read(order[what], argv[5:]), FAMILY: argv[2].lower()}
        adapter = _adapter(node, given.get("name") or given.get("interface", ""))
        if adapter is None or adapter.settings is None:
            raise ArgumentError("The filename, directory name, or volume label syntax is incorrect.")
        if not caller.elevated:
            raise ArgumentError("The requested operation requires elevation (Run as administrator).")
        adapter.settings = changes[what](adapter, adapter.settings, given)
    except (ArgumentError, ValueError) as error:
        said = str(error) if isinstance(error, ArgumentError) else "The parameter is incorrect."
        return text(1, crlf("", said, ""))
    yield 1.0
    return text(0, crlf(""))


def _adapter(node: SimulatedNode, name: str) -> Adapter | None:
    if name.isdigit():
        return next((one for one in node.adapters.all() if one.index == int(name)), None)
    return node.adapters.named(name)


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


def _server(address: str, given: Given) -> str:
    kind = ipaddress.IPv6Address if given[FAMILY] == "ipv6" else ipaddress.IPv4Address
    return str(kind(address))


def _set_dns(adapter: Adapter, settings: Settings, given: Given) -> Settings:
    source = given.get("source", "static").lower()
    wanted = given.get("address", "none")
    if source == "dhcp" or wanted.lower() == "none":
        return replace(settings, dns=())
    return replace(settings, dns=(_server(wanted, given),))


def _add_dns(adapter: Adapter, settings: Settings, given: Given) -> Settings:
    server = _server(given.get("address", ""), given)
    if server in settings.dns:
        raise ArgumentError("The object already exists.")
    place = int(given.get("index", len(settings.dns) + 1)) - 1
    return replace(settings, dns=(*settings.dns[:place], server, *settings.dns[place:]))


def _delete_dns(adapter: Adapter, settings: Settings, given: Given) -> Settings:
    wanted = given.get("address", "all").lower()
    return replace(settings, dns=tuple(item for item in settings.dns if wanted not in {"all", item}))


def _add_address6(adapter: Adapter, settings: Settings, given: Given) -> Settings:
    found = ipaddress.IPv6Interface(given["address"])
    made = Address(str(found.ip), found.network.prefixlen)
    if any(one.address == made.address for one in settings.by_hand.ipv6):
        raise ArgumentError("The object already exists.")
    return replace(settings, by_hand=replace(settings.by_hand, ipv6=(*settings.by_hand.ipv6, made)))


def _dns6(change: Change) -> Change:
    """What is done to IPv4's servers, to IPv6's."""

    def changed(adapter: Adapter, settings: Settings, given: Given) -> Settings:
        six = settings.by_hand.six
        found = change(adapter, Settings(dns=six.dns), given).dns
        return replace(settings, by_hand=replace(settings.by_hand, six=replace(six, dns=found)))

    return changed


def _route(given: Given) -> Route:
    nothing = "::" if ":" in given.get("prefix", "") else "0.0.0.0"
    prefix = str(ipaddress.ip_network(given.get("prefix", "")))
    store = given.get("store", "persistent").lower()
    if store not in {"active", "persistent"}:
        raise ArgumentError(f"{store} is not an acceptable value for store.")
    hop = str(ipaddress.ip_address(given.get("nexthop", nothing)))
    return Route(prefix, hop, int(given.get("metric", 256)), persistent=store == "persistent")


def _add_route(adapter: Adapter, settings: Settings, given: Given) -> Settings:
    """One that is persistent is in force at once; one that is in force and becomes persistent is both."""
    made = _route(given)
    same = [one for one in settings.by_hand.routes if (one.prefix, one.next_hop) == (made.prefix, made.next_hop)]
    if any(one.persistent or not made.persistent for one in same):
        raise ArgumentError("The object already exists.")
    kept = tuple(one for one in settings.by_hand.routes if one not in same)
    return replace(settings, by_hand=replace(settings.by_hand, routes=(*kept, made)))


def _set_route(adapter: Adapter, settings: Settings, given: Given) -> Settings:
    made = _route(given)
    same = [one for one in settings.by_hand.routes if (one.prefix, one.next_hop) == (made.prefix, made.next_hop)]
    if not same:
        raise ArgumentError("The system cannot find the file specified.")
    made = replace(made, persistent=made.persistent or same[0].persistent)
    kept = tuple(one for one in settings.by_hand.routes if one not in same)
    return replace(settings, by_hand=replace(settings.by_hand, routes=(*kept, made)))


def _set_interface(adapter: Adapter, settings: Settings, given: Given) -> Settings:
    """A static address beside a lease is let be."""
    if given.get("dhcpstaticipcoexistence", "").lower() not in {"enabled", "disabled"}:
        raise ArgumentError("The parameter is incorrect.")
    return settings


Change = Callable[[Adapter, Settings, Given], Settings]
_CHANGES: dict[tuple[str, str], Change] = {
    ("set", "address"): _set_address,
    ("add", "address"): _add_address,
    ("set", "dnsservers"): _set_dns,
    ("add", "dnsservers"): _add_dns,
    ("delete", "dnsservers"): _delete_dns,
    ("add", "route"): _add_route,
    ("set", "route"): _set_route,
    ("set", "interface"): _set_interface,
}
_CHANGES6: dict[tuple[str, str], Change] = {
    ("add", "address"): _add_address6,
    **{(verb, "dnsservers"): _dns6(_CHANGES[verb, "dnsservers"]) for verb in ("set", "add", "delete")},
    **{(verb, "route"): _CHANGES[verb, "route"] for verb in ("set", "add")},
}
