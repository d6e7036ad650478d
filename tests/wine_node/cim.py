"""What CIM answers in the place of Windows', which PowerShell on Wine has not (modules/*): from the lab's machine.

The machine has one adapter with an address; on Wine that is this computer's. Whatever index a script asks for is that
adapter's: the lab's own numbers, and the names that its virtual switches give, stay in here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tests.lab.machine.adapters import Adapter, Family, Settings
from tests.lab.machine.errors import WinError
from tests.lab.machine.image import COMPUTER_NAME, TCPIP, rename_computer
from tests.wine_node.machine import Machine

IPV4, IPV6 = 2, 23
MANUAL, NET_MGMT = 1, 3
"""PrefixOrigin of an address and Protocol of a route that somebody set."""
CATEGORIES = ("Public", "Private", "DomainAuthenticated")
GUID = "{6B29FC40-CA47-1067-B31D-00DD010662DA}"
"""Of the adapter."""
_CLASS = re.compile(r"^SELECT\s+.+?\s+FROM\s+(?P<name>\w+)(?:\s+WHERE\s+(?P<where>.+))?$", re.IGNORECASE)
_NAME = re.compile(r"Name='((?:[^'\\]|\\.)*)'")
Row = dict[str, Any]


class Cim:
    """`count` is called with the class of each question."""

    def __init__(self, node: Machine, count: Callable[[str], None]) -> None:
        self._node, self._count = node, count
        self._queried: dict[str, Callable[[str], list[Row]]] = {
            "win32_service": self._services,
            "win32_computersystem": lambda _where: [{"Name": node.name.upper()}],
            "win32_encryptablevolume": self._volumes,
            "msft_netadapter": self._adapters,
            "msft_netconnectionprofile": self._profiles,
        }
        self._stored: dict[str, Callable[[bool], list[Row]]] = {
            "MSFT_NetIPInterface": self._interfaces,
            "MSFT_NetIPAddress": self._addresses,
            "MSFT_NetRoute": self._routes,
            "MSFT_DNSClient": self._clients,
        }
        self._set: dict[str, Callable[[Row], None]] = {
            "MSFT_NetConnectionProfile": self._set_profile,
            "MSFT_NetIPInterface": self._set_interface,
            "MSFT_DNSClient": self._set_client,
        }

    def answer(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """What becomes an object of PowerShell's; {error} as from a machine that does not know such a class."""
        match = _CLASS.match(asked.get("query") or f"SELECT * FROM {asked['class']}")
        name, where = (match["name"], match["where"] or "") if match else ("?", "")
        self._count(name)
        try:
            with self._node.lock:
                return {"class": name, **self._answer(asked, name, where)}
        except KeyError:
            return {"error": f"Invalid class {name}"}
        except WinError as error:
            return {"error": str(error)}

    def _answer(self, asked: Mapping[str, Any], name: str, where: str) -> dict[str, Any]:
        if asked["what"] == "query":
            return {"rows": self._queried[name.lower()](where)}
        if asked["what"] == "store":
            return {"rows": self._stored[name](asked["store"] == "PersistentStore")}
        if asked["what"] == "method":
            return {"ReturnValue": {("Win32_ComputerSystem", "Rename"): self._rename}[name, asked["method"]](asked)}
        self._set[name](asked["values"])
        self.show()
        return {}

    # -- services, volumes, the machine --------------------------------------------------------------------------

    def _services(self, where: str) -> list[Row]:
        wanted = {found.replace("\\\\", "\\").replace("\\'", "'").lower() for found in _NAME.findall(where)}
        return [
            {
                "Name": service["name"],
                "ProcessId": service["pid"],
                "ExitCode": service["exit"],
                "ServiceSpecificExitCode": service["specific"],
            }
            for service in self._node.witness.ask("services")
            if not wanted or service["name"].lower() in wanted
        ]

    def _volumes(self, _where: str) -> list[Row]:
        states = {"off": 0, "on": 1}
        return [
            {"DriveLetter": volume, "ProtectionStatus": states.get(state, 2)}
            for volume, state in self._node.encryption.items()
        ]

    def _rename(self, asked: Mapping[str, Any]) -> int:
        rename_computer(self._node.registry, asked["values"]["Name"])
        for key, value in ((f"{COMPUTER_NAME}\\ComputerName", "ComputerName"), (TCPIP, "NV Hostname")):
            self._registry(key, value, self._node.registry.text(key, value))
        return 0

    # -- the adapter ---------------------------------------------------------------------------------------------

    @property
    def adapter(self) -> Adapter:
        """The one that has the address, or will when it has settled: a virtual switch's, where there is one."""
        node = self._node
        return node.adapters.named(f"vEthernet ({node.nic.name})") or node.adapters.named(node.nic.name) or _none()

    def _settings(self) -> Settings:
        return self.adapter.settings or Settings()

    def _adapters(self, _where: str) -> list[Row]:
        self.show()
        return [{"Name": self._node.nic.name, "InterfaceGuid": GUID}]

    def _profiles(self, _where: str) -> list[Row]:
        category = {"Domain": "DomainAuthenticated"}.get(self.adapter.category or "", self.adapter.category)
        if category is None:
            return []
        return [{"InterfaceAlias": self._node.nic.name, "NetworkCategory": CATEGORIES.index(category)}]

    def _interfaces(self, persistent: bool) -> list[Row]:
        now = self._settings()
        families = ((IPV4, Family(now.dhcp, now.by_hand.metric, now.by_hand.mtu)), (IPV6, now.by_hand.six))
        return [
            {
                "AddressFamily": number,
                "NlMtu": family.mtu or (0 if persistent else self.adapter.mtu),
                "AutomaticMetric": int(family.metric == 0),
                "InterfaceMetric": family.metric or 25,
                "Dhcp": int(family.dhcp),
            }
            for number, family in families
        ]

    def _addresses(self, _persistent: bool) -> list[Row]:
        now = self._settings()
        return [
            {"IPAddress": one.address, "PrefixLength": one.prefix, "PrefixOrigin": MANUAL}
            for one in (*(() if now.dhcp else now.addresses), *now.by_hand.ipv6)
        ]

    def _routes(self, persistent: bool) -> list[Row]:
        return [
            {
                "DestinationPrefix": one.prefix,
                "NextHop": one.next_hop,
                "RouteMetric": one.metric,
                "Protocol": NET_MGMT,
                "ValidLifetime": None,
            }
            for one in self._settings().by_hand.routes
            if one.persistent or not persistent
        ]

    def _clients(self, _persistent: bool) -> list[Row]:
        by_hand = self._settings().by_hand
        return [
            {
                "RegisterThisConnectionsAddress": by_hand.register,
                "UseSuffixWhenRegistering": by_hand.register_suffix,
            }
        ]

    def _set_profile(self, values: Row) -> None:
        category = CATEGORIES[values["NetworkCategory"]]
        self._node.adapters.set_category(self.adapter, category.removesuffix("Authenticated"))

    def _set_interface(self, values: Row) -> None:
        now = self._settings()
        six = values["AddressFamily"] == "IPv6"
        family = now.by_hand.six if six else Family(now.dhcp, now.by_hand.metric, now.by_hand.mtu, now.dns)
        if "Dhcp" in values:
            family = replace(family, dhcp=values["Dhcp"] == "Enabled")
        if "NlMtuBytes" in values:
            family = replace(family, mtu=values["NlMtuBytes"])
        if "AutomaticMetric" in values:
            family = replace(family, metric=values.get("InterfaceMetric", 0))
        if six:
            by_hand = replace(now.by_hand, six=family)
        else:
            now = replace(now, dhcp=family.dhcp)
            by_hand = replace(now.by_hand, metric=family.metric, mtu=family.mtu)
        self.adapter.settings = replace(now, by_hand=by_hand)

    def _set_client(self, values: Row) -> None:
        now = self._settings()
        by_hand = replace(
            now.by_hand,
            suffix=values["ConnectionSpecificSuffix"],
            register=values["RegisterThisConnectionsAddress"],
            register_suffix=values["UseSuffixWhenRegistering"],
        )
        self.adapter.settings = replace(now, by_hand=by_hand)

    def named(self, argument: str) -> str:
        """An argument of netsh's with the lab's name of the adapter, which a script knows by another or a number."""
        name = re.escape(self._node.nic.name)
        found = re.fullmatch(rf"(interface|name)=(\d+|{name}|vEthernet \({name}\))", argument)
        return f"{found[1]}={self.adapter.name}" if found else argument

    def show(self) -> None:
        """Servers and suffix of the adapter, in Wine's registry, where the scripts read them."""
        now = self._settings()
        for service, dns in (("Tcpip", now.dns), ("Tcpip6", now.by_hand.six.dns)):
            key = f"HKLM\\SYSTEM\\CurrentControlSet\\Services\\{service}\\Parameters\\Interfaces\\{GUID}"
            self._registry(key, "NameServer", ",".join(dns))
            if service == "Tcpip":
                self._registry(key, "Domain", now.by_hand.suffix)

    def _registry(self, key: str, name: str, text: str) -> None:
        path = key.removeprefix("HKLM\\")
        self._node.witness.ask("set", path=path, name=name, type="string", data=text)


def _none() -> Adapter:
    raise WinError(2, "the machine has no adapter")
