# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One named inbound rule of the Windows firewall, made by netsh."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..batch import Op
from ..reading import Query, Reading
from ..resource import Change, Refused
from ..tools import SYSTEM32, run

NETSH = SYSTEM32 + r"\netsh.exe"

RULES_KEY = r"HKLM\SYSTEM\CurrentControlSet\Services\SharedAccess\Parameters\FirewallPolicy\FirewallRules"
"""Each value is one rule, `v2.31|Action=Allow|Active=TRUE|Dir=In|Protocol=6|LPort=8888|RA4=10.0.0.5|Name=..|`. Source:
[MS-GPFAS] 2.2.2, Firewall Rule and the Firewall Rule Grammar Rule; the same form is kept for local rules."""

PROTOCOLS: Mapping[str, str] = {"TCP": "6", "UDP": "17"}
"""The rules' protocol numbers by name."""

NO_RULE = 1
"""netsh's exit code if there is no rule of that name to delete."""

ANY = "any"

RANGES = "lport2_10"
"""The key of port ranges in a rule, in lower case; single ports are in `lport`. Source: [MS-GPFAS] 2.2.2.19."""

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_HARMLESS = frozenset(
    {"action", "active", "dir", "protocol", "lport", "lport2_10", "ra4", "ra6", "name", "desc", "embedctxt"}
)
"""Keys with which a rule still admits everyone to the port; other keys restrict it to a program, an adapter, a
profile."""


def sources(given: Iterable[str], what: str) -> tuple[Network, ...]:
    """The machines and networks in the list `what`, in order, without duplicates. Refused for names, and for a
    network that means everyone."""
    found: dict[Network, None] = {}
    problems: list[str] = []
    for text in given:
        try:
            network = ipaddress.ip_network(text)
        except ValueError:
            problems.append(
                f"{what}: '{text}' is neither an IP address nor a network such as 10.0.0.0/24; the Windows firewall "
                "accepts no names."
            )
            continue
        if network.prefixlen == 0:
            problems.append(f"{what}: '{text}' lets everyone in; name the machines that may reach the port.")
        found[network] = None
    if problems:
        raise Refused(*problems)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Rule:
    """The relevant part of a rule: `name` in lower case, `protocol` and `ports` as in the registry, who may connect
    (empty: everyone). `open`: it is in force and has no restriction that we would not write."""

    name: str
    protocol: str
    ports: tuple[str, ...]
    networks: frozenset[Network]
    open: bool

    @classmethod
    def parse(cls, value: str) -> Rule:
        """From a value of the registry."""
        fields: dict[str, list[str]] = {}
        for key, equals, text in (field.partition("=") for field in value.split("|")):
            if equals:
                fields.setdefault(key.casefold(), []).append(text)
        addresses = [*fields.get("ra4", ()), *fields.get("ra6", ())]
        try:
            networks = frozenset(ipaddress.ip_network(text) for text in addresses)
            understood = True
        except ValueError:  # a range, or LocalSubnet
            networks, understood = frozenset(), False
        active = [fields.get(key, [""])[0].casefold() for key in ("action", "active", "dir")]
        return cls(
            fields.get("name", [""])[0].casefold(),
            fields.get("protocol", [""])[0],
            tuple(sorted((*fields.get("lport", ()), *fields.get(RANGES, ())))),
            networks,
            open=active == ["allow", "true", "in"] and understood and set(fields) <= _HARMLESS,
        )

    def lets_in(self, wanted: Rule) -> bool:
        """Whether it admits everything that `wanted` would."""
        everybody = not self.networks
        covered = all(
            any(network.version == own.version and network.subnet_of(own) for own in self.networks)  # type: ignore[arg-type]
            for network in wanted.networks
        )
        same = self.protocol == wanted.protocol and set(wanted.ports) <= set(self.ports)
        return self.open and same and (everybody or (bool(wanted.networks) and covered))


@dataclass(frozen=True, slots=True)
class FirewallRule:
    """The rule `name` lets `networks` (empty: everyone) reach `port`, which may be several in netsh's form
    (`10256,30000-32767`). Not `wanted`: it does not exist.

    `adopts`: another's rule that admits all of them is enough.
    """

    name: str
    protocol: str = "TCP"
    port: int | str = 0
    networks: tuple[Network, ...] = ()
    wanted: bool = True
    adopts: bool = False

    @property
    def label(self) -> str:
        """The rule by name."""
        return f"firewall rule {self.name}"

    def reads(self) -> tuple[Query, ...]:
        """Rules of that name or for that port. Windows gives each rule a random name in the registry, and has
        hundreds."""
        ports = [f"|{'LPort2_10' if '-' in each else 'LPort'}={each}|" for each in self._ports()]
        texts = (f"|Name={self.name}|", *(ports if self.adopts else ()))
        return (Query(f"firewall:{self.name}", "registry", (("path", RULES_KEY), ("containing", texts))),)

    def change(self, reading: Reading) -> Change | None:
        """Delete the rules of that name, and add the wanted one."""
        (query,) = self.reads()
        rules = _rules(reading.parts[query.key])
        present = [rule for rule in rules if rule.name == self.name.casefold()]
        wanted = [self._build_desired_rule()] if self.wanted else []
        if present == wanted:
            return None
        if self.adopts and not present and any(rule.lets_in(each) for rule in rules for each in wanted):
            return None
        delete = run(NETSH, "advfirewall", "firewall", "delete", "rule", f"name={self.name}", ok_exit=(0, NO_RULE))
        again = [
            self._add(rule, sorted(rule.networks, key=str))
            for rule in present
            if rule.open and rule.protocol in PROTOCOLS.values()
        ]
        ops = [delete.with_undo(delete, *again)] if present else []
        ops += [self._add(rule, self.networks).with_undo(delete) for rule in wanted]
        who = ", ".join(map(show_network, self.networks)) or "everybody"
        return Change(
            text=(
                f"allow {who} to reach {self.protocol} port {', '.join(self._ports())} ({self.label})"
                if self.wanted
                else f"remove {self.label}"
            ),
            before="".join(_line(rule) for rule in present) or "absent\n",
            after="".join(_line(rule) for rule in wanted) or "absent\n",
            prepare=tuple(ops),
            state=(query,),
        )

    def _build_desired_rule(self) -> Rule:
        number = PROTOCOLS[self.protocol]
        return Rule(self.name.casefold(), number, tuple(sorted(self._ports())), frozenset(self.networks), open=True)

    def _ports(self) -> list[str]:
        return str(self.port).split(",")

    def _add(self, rule: Rule, networks: Iterable[Network]) -> Op:
        protocol = next(name for name, number in PROTOCOLS.items() if number == rule.protocol)
        words = {
            "name": self.name,
            "dir": "in",
            "action": "allow",
            "protocol": protocol,
            "localport": ",".join(rule.ports),
            "remoteip": ",".join(map(show_network, networks)) or ANY,
        }
        return run(NETSH, "advfirewall", "firewall", "add", "rule", *(f"{key}={value}" for key, value in words.items()))


def show_network(network: Network) -> str:
    """The network as people write it: a single machine without its prefix length."""
    return str(network.network_address) if network.prefixlen == network.max_prefixlen else str(network)


def _rules(key: Mapping[str, object]) -> list[Rule]:
    values = key.get("values")
    return [Rule.parse(str(entry.get("value"))) for entry in values.values()] if isinstance(values, Mapping) else []


def _line(rule: Rule) -> str:
    protocol = next(
        (name for name, number in PROTOCOLS.items() if number == rule.protocol), f"protocol {rule.protocol}"
    )
    who = ", ".join(sorted(map(show_network, rule.networks))) or ("everybody" if rule.open else "others")
    return f"{protocol} {','.join(rule.ports)} from {who}\n"
