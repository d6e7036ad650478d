"""Network adapters: what they are set to, and what they have at the moment."""

from __future__ import annotations

import ipaddress
import zlib
from dataclasses import asdict, dataclass, replace
from typing import Any

from tests.lab.machine.errors import WinError


@dataclass(frozen=True)
class Address:
    """An address and the length of its prefix."""

    address: str
    prefix: int

    @property
    def link_local(self) -> bool:
        """169.254.x.y: what Windows takes when nobody gave it an address."""
        return ipaddress.ip_address(self.address).is_link_local


@dataclass(frozen=True)
class Route:
    """A static route of an adapter, `prefix` as `169.254.169.254/32`; not `persistent`: gone with the next boot."""

    prefix: str
    next_hop: str
    metric: int = 1
    persistent: bool = True


@dataclass(frozen=True)
class Family:
    """What somebody set for IPv4 or IPv6 on an adapter. metric, mtu: 0 is Windows' own choice."""

    dhcp: bool = True
    metric: int = 0
    mtu: int = 0
    dns: tuple[str, ...] = ()


@dataclass(frozen=True)
class ByHand:
    """What an adapter has beside its IPv4 addresses, gateways and servers because somebody set it.

    A new virtual switch carries none of it over, and none of it comes back when the switch goes. Source:
    ovn-kubernetes/ovn-kubernetes#512 (routes, and "properties from the interface on which we create the HNS network"),
    its DuplicatePersistentIPRoutes ("a limitation in the Windows HNS service"); kubernetes-sigs/sig-windows-tools#36.
    IPv6, suffix, registration and metric: as the same move of the IP binding has it, unverified one by one.
    """

    routes: tuple[Route, ...] = ()
    ipv6: tuple[Address, ...] = ()
    six: Family = Family()
    metric: int = 0
    mtu: int = 0
    suffix: str = ""
    register: bool = True
    register_suffix: bool = False


@dataclass(frozen=True)
class Settings:
    """What an adapter is set to. With `dhcp` addresses and gateways are empty: they come with the lease; `dns` are
    servers that somebody set, which count before the lease's."""

    dhcp: bool = True
    addresses: tuple[Address, ...] = ()
    gateways: tuple[str, ...] = ()
    dns: tuple[str, ...] = ()
    by_hand: ByHand = ByHand()

    @property
    def carried(self) -> Settings:
        """What is still there when a virtual switch was put on the adapter, or taken off it."""
        return Settings(self.dhcp, self.addresses, self.gateways)


@dataclass(eq=False)
class Adapter:
    """category: of the network that it is on (`Public`, `Private`, `Domain`), None while Windows finds that out. A new
    virtual adapter's is Public (learn.microsoft.com, Network List Manager: a network that nobody has named).

    settings None: IPv4 is not bound to it (a NIC under a virtual switch). settled: False while it gets its addresses
    anew; mac: `00-15-5D-EB-40-00`.
    """

    name: str
    description: str
    index: int
    mac: str
    settings: Settings | None
    up: bool = True
    enabled: bool = True
    mtu: int = 1500
    physical: bool = False
    settled: bool = True
    half_until: float = 0.0
    """Clock seconds until which Windows knows the adapter, but not all about it."""
    category: str | None = "Public"


class Adapters:
    """All adapters of a machine. `leases`: what the DHCP server of the LAN gives out, by MAC."""

    def __init__(self) -> None:
        self.leases: dict[str, Settings] = {}
        self.recognised: dict[str, str] = {}
        """MAC -> the category that somebody gave its network; Windows knows a network again, by its gateway."""
        self._adapters: list[Adapter] = []
        self._next = 4

    def add(
        self,
        name: str,
        mac: str,
        settings: Settings | None,
        *,
        description: str = "Hyper-V Virtual Ethernet Adapter",
        physical: bool = False,
    ) -> Adapter:
        """A new adapter, with an index that none had before."""
        self._next += 1
        adapter = Adapter(name, description, self._next, mac, settings, physical=physical)
        adapter.category = "Private" if physical else "Public"
        self._adapters.append(adapter)
        return adapter

    def set_category(self, adapter: Adapter, category: str) -> None:
        """What Set-NetConnectionProfile does: Windows knows the network again by what it was set to.

        Error 5: "The NetworkCategory cannot be changed from 'DomainAuthenticated'", as it says, nor to it.
        """
        if "Domain" in {adapter.category, category}:
            raise WinError(5, adapter.name)
        adapter.category = self.recognised[adapter.mac] = category

    def remove(self, adapter: Adapter) -> None:
        if adapter in self._adapters:
            self._adapters.remove(adapter)

    def all(self) -> list[Adapter]:
        return sorted(self._adapters, key=lambda adapter: adapter.index)

    def named(self, name: str) -> Adapter | None:
        return next((item for item in self._adapters if item.name.lower() == name.lower()), None)

    # -- what they have ------------------------------------------------------------------------------------------

    def current(self, adapter: Adapter) -> Settings:
        """What the adapter has now: nothing while it is down, unbound or not settled; with DHCP its lease, without a
        lease an address of 169.254.0.0/16.
        """
        settings = adapter.settings
        if settings is None:
            return Settings(dhcp=False)
        if not (adapter.up and adapter.settled):
            return Settings(dhcp=settings.dhcp)
        if not settings.dhcp:
            return settings
        lease = self.leases.get(adapter.mac)
        if lease is not None:
            return replace(settings, addresses=lease.addresses, gateways=lease.gateways, dns=settings.dns or lease.dns)
        number = zlib.crc32(adapter.mac.encode()) % (254 * 254)
        own = Address(f"169.254.{1 + number // 254}.{1 + number % 254}", 16)
        return replace(settings, addresses=(own,), gateways=())

    def addresses(self, adapter: Adapter) -> tuple[Address, ...]:
        return self.current(adapter).addresses

    def holder(self, address: str) -> Adapter | None:
        """The adapter that has this address now."""
        for adapter in self.all():
            if any(item.address == address for item in self.addresses(adapter)):
                return adapter
        return None

    @property
    def connected(self) -> bool:
        """Whether any adapter reaches the LAN: has an address that is not 169.254, and a gateway."""
        found = [self.current(adapter) for adapter in self._adapters]
        return any(one.gateways and any(not item.link_local for item in one.addresses) for one in found)

    def mtu(self, adapter: Adapter) -> int:
        """Of IPv4."""
        return (adapter.settings.by_hand.mtu if adapter.settings else 0) or adapter.mtu

    def settle(self) -> None:
        """At boot: every adapter has what it is set to; routes that were not persistent are gone."""
        for adapter in self._adapters:
            adapter.settled = True
            if adapter.settings is not None:
                by_hand = adapter.settings.by_hand
                kept = tuple(route for route in by_hand.routes if route.persistent)
                adapter.settings = replace(adapter.settings, by_hand=replace(by_hand, routes=kept))

    def dump(self) -> list[dict[str, Any]]:
        """For comparing before and after; without the index, which a new adapter gets anew."""
        result = []
        for adapter in self.all():
            now = self.current(adapter)
            result.append(
                {
                    "name": adapter.name,
                    "mac": adapter.mac,
                    "dhcp": adapter.settings.dhcp if adapter.settings else None,
                    "ipv4": [f"{item.address}/{item.prefix}" for item in now.addresses],
                    "gateways": list(now.gateways),
                    "dns": list(now.dns),
                    "by_hand": asdict(adapter.settings.by_hand) if adapter.settings else None,
                }
            )
        return result
