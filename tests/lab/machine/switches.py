"""Virtual switches on physical NICs: the first network makes one, the last takes it away, and both cut every
connection of the machine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.lab.machine.adapters import Adapter, Settings
from tests.lab.machine.hns_errors import ADAPTER_NOT_FOUND, INVALID, HnsError

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode


HALF_MADE_S = 5.0
"""How long Windows lists the new adapter before it can say all about it (unverified)."""


@dataclass(eq=False)
class Switch:
    """nic: under it, without IPv4 of its own; host: `vEthernet (<nic>)`, with the NIC's MAC; kind: the type that all
    of its networks have; networks: their ids.
    """

    nic: Adapter
    host: Adapter
    kind: str
    networks: set[str] = field(default_factory=set)


class Switches:
    def __init__(self, node: SimulatedNode) -> None:
        self._node = node
        self._switches: list[Switch] = []

    def all(self) -> list[Switch]:
        return list(self._switches)

    def of_network(self, network: str) -> Switch | None:
        return next((switch for switch in self._switches if network in switch.networks), None)

    def join(self, network: str, kind: str, adapter: str) -> Switch:
        """Puts a network on the NIC (`adapter` empty: the first one), making its switch if it has none.

        Errors: 0x803b0006, also for a switch's own `vEthernet (..)` (Azure/azure-container-networking#184);
        0x80070057 where the switch's
        networks are of another type (unverified).
        """
        nic = self._find(adapter)
        there = next((switch for switch in self._switches if switch.nic is nic), None)
        if there is not None:
            if there.kind.lower() != kind.lower():
                raise HnsError(INVALID)
            there.networks.add(network)
            return there
        return self._make(nic, kind, network)

    def _find(self, name: str) -> Adapter:
        physical = [item for item in self._node.adapters.all() if item.physical and item.up]
        found = [item for item in physical if not name or item.name.lower() == name.lower()]
        if not found:
            raise HnsError(ADAPTER_NOT_FOUND)
        return found[0]

    def _make(self, nic: Adapter, kind: str, network: str) -> Switch:
        node = self._node
        settings, nic.settings = nic.settings, None
        lost = node.faults.lost_static_address and settings is not None and not settings.dhcp
        name = f"vEthernet ({nic.name})"
        carried = settings.carried if settings is not None else None
        host = node.adapters.add(name, nic.mac, Settings(dhcp=True) if lost else carried)
        host.half_until = node.clock.now() + HALF_MADE_S
        host.category = node.adapters.recognised.get(nic.mac, "Public")
        switch = Switch(nic, host, kind, {network})
        self._switches.append(switch)
        self._blip(host)
        return switch

    def leave(self, network: str) -> None:
        """A network is gone; with the last one the switch, and its settings are the NIC's again."""
        switch = self.of_network(network)
        if switch is None:
            return
        switch.networks.discard(network)
        if not switch.networks:
            self._remove(switch)
            self._blip(switch.nic)

    def _remove(self, switch: Switch) -> None:
        self._switches.remove(switch)
        self._node.adapters.remove(switch.host)
        held = switch.host.settings
        switch.nic.settings = held.carried if held is not None else None

    def _blip(self, adapter: Adapter) -> None:
        """Every connection dies, and the other side is not told; the adapter has no address for 5 to 60 s."""
        node = self._node
        seconds = node.faults.blip_s
        if seconds is None:
            seconds = round(node.random.uniform(15.0, 45.0), 1)
        adapter.settled = False

        def settle() -> None:
            adapter.settled = True

        node.clock.call_later(seconds, settle)
        node.cut_connections(told=False)

    def boot(self, networks: set[str]) -> None:
        """After a restart only these networks are left. What is missing is gone without a blip of its own."""
        for switch in self.all():
            switch.networks &= networks
            if not switch.networks:
                self._remove(switch)
