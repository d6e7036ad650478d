"""ip_note, ip_restore: what somebody set on an adapter beside its IPv4 addresses, kept over a new virtual switch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.lab.machine.adapters import Adapter, Address, ByHand, Family, Route, Settings
from tests.lab.twin import dotnet
from tests.lab.twin.state import StateFolder
from tests.lab.twin.work import Args, OpError, OpRun, Work

FILE = "ip.json"
POLL_S = 1.0
NOTE_S = 10.0


def ip_note(work: Work, args: Args) -> OpRun:
    yield 0.5
    names = [str(item) for item in args["adapters"]]
    end = work.node.clock.now() + NOTE_S
    while (found := dotnet.first_interface(work.node, names)) is None:
        if work.node.clock.now() >= end:
            raise OpError(f"The IP settings of the adapter {' or '.join(names)} could not be read: it is not there.")
        yield POLL_S
    folder = StateFolder(work.node, work.state_dir)
    if not folder.exists():
        folder.make()
    folder.write({"schema": 1, "ip": _read(found)}, FILE)
    return {"changed": False, "adapter": found.name}


def ip_restore(work: Work, args: Args) -> OpRun:
    yield 0.5
    names = [str(item) for item in args["adapters"]]
    document = StateFolder(work.node, work.state_dir).read(FILE) or {}
    wanted = document.get("ip")
    if not isinstance(wanted, dict):
        return {"changed": False, "restored": []}
    patience = work.time_left(float(args.get("wait_s") or 60))
    end = work.node.clock.now() + patience
    restored: dict[str, bool] = {}
    while True:
        late = work.node.clock.now() >= end
        found = dotnet.first_interface(work.node, names)
        seen = "it is not there"
        if found is not None:
            missing = _missing(wanted, found)
            if not missing:
                return {"changed": bool(restored), "restored": list(restored)}
            seen = f"it has not: {', '.join(missing)}"
            if not late or not restored:
                late = False
                for what in missing:
                    work.seam("setting")
                    _set(found, what, wanted)
                    restored[what] = True
                    yield 0.5
        if late:
            who = f"The adapter {' or '.join(names)} did not get back the IP settings that it had before"
            raise OpError(f"{who} within {patience:g} s: {seen}.")
        yield POLL_S


def _read(adapter: Adapter) -> dict[str, Any]:
    """The shape of docs/protocol.md."""
    settings = adapter.settings or Settings()
    by_hand = settings.by_hand
    six = by_hand.six
    stores = [(item, True) for item in by_hand.routes if item.persistent]
    stores += [(item, False) for item in by_hand.routes if not _given(item.prefix, settings)]
    routes = [
        {"prefix": item.prefix, "next_hop": item.next_hop, "metric": item.metric, "persistent": store}
        for item, store in stores
    ]
    addresses = (*(() if settings.dhcp else settings.addresses), *by_hand.ipv6)
    return {
        "ipv4": _family(settings.dhcp, by_hand.metric, by_hand.mtu, settings.dns),
        "ipv6": _family(six.dhcp, six.metric, six.mtu, six.dns),
        "addresses": [{"address": item.address, "prefix": item.prefix} for item in addresses],
        "routes": routes,
        "suffix": by_hand.suffix,
        "register": by_hand.register,
        "register_suffix": by_hand.register_suffix,
    }


def _given(prefix: str, settings: Settings) -> bool:
    """Whether a route that is in force may be that of a lease or of a router, which gives it again."""
    return prefix == "::/0" or (prefix == "0.0.0.0/0" and settings.dhcp)


def _family(dhcp: bool, metric: int, mtu: int, dns: tuple[str, ...]) -> dict[str, Any]:
    return {"dhcp": dhcp, "metric": metric, "mtu": mtu, "dns": list(dns)}


def _missing(wanted: dict[str, Any], adapter: Adapter) -> list[str]:
    """What is not as it was, in the order in which it is set."""
    now = _read(adapter)
    found = [
        f"{family} {key}"
        for family in ("ipv4", "ipv6")
        for key in ("dhcp", "metric", "mtu", "dns")
        if wanted.get(family) is not None
        and wanted[family][key] != now[family][key]
        and not (key == "mtu" and not wanted[family][key])
    ]
    found += [f"address {_address(item)}" for item in wanted["addresses"] if item not in now["addresses"]]
    found += [f"route {_route(item)}" for item in wanted["routes"] if item not in now["routes"]]
    names = ("suffix", "register", "register_suffix")
    return [*found, *(["DNS registration"] if any(wanted[key] != now[key] for key in names) else [])]


def _address(item: dict[str, Any]) -> str:
    return f"{item['address']}/{item['prefix']}"


def _route(item: dict[str, Any]) -> str:
    store = "persistent" if item["persistent"] else "active"
    return f"{item['prefix']} by {item['next_hop']} metric {item['metric']} {store}"


def _set(adapter: Adapter, what: str, wanted: dict[str, Any]) -> None:
    settings = adapter.settings or Settings()
    by_hand = settings.by_hand
    head, _, rest = what.partition(" ")
    if head == "ipv4":
        value = wanted["ipv4"][rest]
        if rest == "dhcp":
            static = tuple(
                Address(one["address"], one["prefix"]) for one in wanted["addresses"] if ":" not in one["address"]
            )
            settings = replace(settings, dhcp=value, addresses=() if value else static)
        elif rest == "dns":
            settings = replace(settings, dns=tuple(value))
        else:
            by_hand = replace(by_hand, **{rest: value})
    elif head == "ipv6":
        value = wanted["ipv6"][rest]
        by_hand = replace(by_hand, six=_changed(by_hand.six, rest, value))
    elif head == "address":
        item = next(item for item in wanted["addresses"] if _address(item) == rest)
        made = Address(item["address"], item["prefix"])
        if ":" in made.address:
            by_hand = replace(by_hand, ipv6=(*by_hand.ipv6, made))
        else:
            settings = replace(settings, addresses=(*settings.addresses, made))
    elif head == "route":
        by_hand = replace(by_hand, routes=_routed(by_hand.routes, rest, wanted))
    else:
        by_hand = _registered(by_hand, wanted)
    adapter.settings = replace(settings, by_hand=by_hand)


def _routed(routes: tuple[Route, ...], what: str, wanted: dict[str, Any]) -> tuple[Route, ...]:
    """A persistent route is in force at once; one that is in force stays persistent if it was."""
    item = next(item for item in wanted["routes"] if _route(item) == what)
    made = Route(item["prefix"], item["next_hop"], item["metric"], item["persistent"])
    same = [one for one in routes if (one.prefix, one.next_hop) == (made.prefix, made.next_hop)]
    made = replace(made, persistent=made.persistent or any(one.persistent for one in same))
    return (*(one for one in routes if one not in same), made)


def _changed(family: Family, key: str, value: Any) -> Family:
    change: dict[str, Any] = {key: tuple(value) if key == "dns" else value}
    return replace(family, **change)


def _registered(by_hand: ByHand, wanted: dict[str, Any]) -> ByHand:
    return replace(
        by_hand,
        suffix=wanted["suffix"],
        register=wanted["register"],
        register_suffix=wanted["register_suffix"],
    )
