# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An HNS network, and the virtual switch that the first one on an adapter makes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..batch import Op
from ..reading import Query, Reading
from ..resource import Change


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses that an adapter must have again after its virtual switch was made: IPv4 addresses with prefix
    length, first gateway, name servers; `dhcp`: they come by themselves."""

    ipv4: tuple[tuple[str, int], ...]
    gateways: tuple[str, ...]
    dns: tuple[str, ...]
    dhcp: bool

    def op(self, *adapters: str, wait_s: int) -> Op:
        """Wait until the first existing one of `adapters` has the addresses; set them if they do not come."""
        args: dict[str, Any] = {
            "adapters": list(adapters),
            "ipv4": [{"address": address, "prefix": prefix} for address, prefix in self.ipv4],
            "dns": list(self.dns),
            "dhcp": self.dhcp,
            "wait_s": wait_s,
        }
        if self.gateways:
            args["gateway"] = self.gateways[0]
        return Op("addresses", args)

    def restore(self, *adapters: str, wait_s: int) -> tuple[Op, ...]:
        """`op`, then the rest of what was noted: the node must be reachable first."""
        return (
            self.op(*adapters, wait_s=wait_s),
            Op("ip_restore", {"adapters": list(adapters), "wait_s": wait_s}),
        )

    def settle(self, *adapters: str, wait_s: int) -> tuple[Op, ...]:
        """`back`, and the category: a new vEthernet may be on a public network, where rules for remote access do not
        apply."""
        category = Op("category_restore", {"adapters": list(adapters), "wait_s": wait_s})
        return (*self.restore(*adapters, wait_s=wait_s), category)


def note_adapters(*adapters: str) -> tuple[Op, ...]:
    """Note, before a switch is made or removed, the category of the adapter's network and what a switch does not
    carry over: routes, IPv6, name servers, DNS suffix, metric, MTU."""
    return tuple(Op(name, {"adapters": list(adapters)}) for name in ("category_note", "ip_note"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Network:
    """The network `name` on `adapter`, which must have `addresses` again within `wait_s` seconds after a virtual
    switch was made or removed; `queries` read HNS and the adapters."""

    name: str
    adapter: str
    addresses: Addresses
    queries: tuple[Query, ...]
    wait_s: int = 120

    @property
    def label(self) -> str:
        """The network by name."""
        return f"HNS network {self.name}"

    def reads(self) -> tuple[Query, ...]:
        """HNS's networks and the adapters."""
        return self.queries


@dataclass(frozen=True, slots=True, kw_only=True)
class HnsNetwork(_Network):
    """The network `name` exists, made by POSTing `request` if `wanted`; without a request the service `maker` makes it,
    which the same batch starts.

    The first network on `adapter` breaks every connection of the machine for 5 to 60 s and moves the adapter's
    addresses to `vEthernet (<adapter>)`. The node waits for them and for `gate`; if they do not come back, it removes
    the network and gives the adapter its `addresses`.
    """

    request: Mapping[str, Any] | None
    wanted: bool
    gate: tuple[Op, ...] = field(default=())
    maker: str = ""

    def change(self, reading: Reading) -> Change | None:
        """Make the network."""
        if not self.wanted:
            return None
        asked = {"request": _compact(self.request)} if self.request else {}
        make = Op("hns_network", {"name": self.name, **asked}).with_undo(
            Op("hns_network_remove", {"name": self.name}),
            *self.addresses.restore(self.adapter, wait_s=self.wait_s),
        )
        there = Op("wait", {"for": "hns_network", "name": self.name, "timeout_s": self.wait_s})
        switch = f"vEthernet ({self.adapter})"
        note = note_adapters(self.adapter)
        settle = self.addresses.settle(switch, wait_s=self.wait_s)
        who = f"have {self.maker} create" if self.maker else "create"
        return Change(
            text=f"{who} the external vSwitch on {self.adapter} (HNS network {self.name}); every connection to the "
            "machine breaks for up to a minute",
            before="absent\n",
            after=f"{json.dumps(self.request, indent=2, sort_keys=True) if self.request else self.maker}\n",
            prepare=(*note, make) if self.maker else (*note, make, *settle),
            finish=(there, *settle, *self.gate) if self.maker else (),
            state=self.queries,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NoHnsNetwork(_Network):
    """The network `name` with this `id` does not exist; an empty id: it did not exist when it was read. `request`
    made it. `last`: no other network keeps the virtual switch of `adapter`, whose connections break."""

    id: str
    request: Mapping[str, Any]
    last: bool

    def change(self, reading: Reading) -> Change | None:
        if not self.id:
            return None
        switch = f"vEthernet ({self.adapter})"
        again = Op("hns_network", {"name": self.name, "request": _compact(self.request)})
        remove = Op("hns_network_remove", {"name": self.name, "id": self.id}).with_undo(
            again, *self.addresses.restore(switch, self.adapter, wait_s=self.wait_s)
        )
        note = note_adapters(switch) if self.last else ()
        settle = self.addresses.settle(switch, self.adapter, wait_s=self.wait_s) if self.last else ()
        breaks = "; every connection to the machine breaks for up to a minute" if self.last else ""
        return Change(
            text=f"remove the HNS network {self.name}{breaks}",
            before=f"{json.dumps(self.request, indent=2, sort_keys=True)}\n",
            after="absent\n",
            prepare=(*note, remove, *settle),
            state=self.queries,
        )


def _compact(request: Mapping[str, Any]) -> str:
    return json.dumps(request, separators=(",", ":"), sort_keys=True)
