# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one rule of the Windows firewall that lets named machines reach CRI over TCP."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..engine.batch import Op
from ..engine.reading import CONFIDENTIAL, Query, Reading
from ..engine.resource import Change, Refused
from ..engine.tools import SYSTEM32, run
from ..facts import cri_tcp as facts

NETSH = SYSTEM32 + r"\netsh.exe"

NO_RULE = 1
"""What netsh ends with when there is no rule of that name to delete."""

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def sources(given: Iterable[str]) -> tuple[Network, ...]:
    """The machines and networks in `allowed_sources`, in order and each once. Refused for names, and for a network that
    is everybody."""
    found: dict[Network, None] = {}
    problems: list[str] = []
    for text in given:
        try:
            network = ipaddress.ip_network(text)
        except ValueError:
            problems.append(
                f"allowed_sources: '{text}' is neither an IP address nor a network such as 10.0.0.0/24; the Windows "
                "firewall knows no names."
            )
            continue
        if network.prefixlen == 0:
            problems.append(f"allowed_sources: '{text}' is everybody; name the machines that shall reach the port.")
        found[network] = None
    if problems:
        raise Refused(*problems)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Rule:
    """What matters of one rule: `port` and who may connect; `exact` if it says nothing else that we would not write."""

    port: str
    networks: frozenset[Network]
    exact: bool

    @classmethod
    def parse(cls, value: str) -> Rule | None:
        """A value of the registry; None if it is another rule."""
        pairs = [field.split("=", 1) for field in value.split("|") if "=" in field]
        fields = {key.casefold(): text for key, text in pairs}
        if fields.get("name", "").casefold() != facts.RULE:
            return None
        addresses = [text for key, text in pairs if key.casefold() in ("ra4", "ra6")]
        try:
            networks = frozenset(ipaddress.ip_network(text) for text in addresses)
        except ValueError:  # a range, or LocalSubnet: somebody has changed it
            networks = frozenset()
        active = (fields.get("action"), fields.get("active"), fields.get("dir"), fields.get("protocol"))
        return cls(fields.get("lport", ""), networks, exact=active == ("Allow", "TRUE", "In", "6") and bool(networks))


@dataclass(frozen=True, slots=True)
class FirewallRule:
    """Lets `networks` reach `port`; with none of them, the rule is not there."""

    port: int
    networks: tuple[Network, ...]

    @property
    def label(self) -> str:
        """The rule by name."""
        return f"firewall rule {facts.RULE}"

    def reads(self) -> tuple[Query, ...]:
        """All rules: Windows gives each a random name in the registry. They stay in the task."""
        return (Query(f"{CONFIDENTIAL}firewall-rules", "registry", (("path", facts.RULES_KEY),)),)

    def confides(self, reading: Reading) -> tuple[Query, ...]:
        """Nothing."""
        return ()

    def change(self, reading: Reading) -> Change | None:
        """Take away what there is of that name, and add the rule if one is wanted."""
        (query,) = self.reads()
        present = _ours(reading.parts[query.key])
        wanted = [Rule(str(self.port), frozenset(self.networks), exact=True)] if self.networks else []
        if present == wanted:
            return None
        delete = run(NETSH, "advfirewall", "firewall", "delete", "rule", f"name={facts.RULE}", ok_exit=(0, NO_RULE))
        again = [_add(rule.port, sorted(rule.networks, key=str)) for rule in present if rule.exact]
        ops = [delete.undone_by(delete, *again)] if present else []
        if self.networks:
            ops.append(_add(str(self.port), self.networks).undone_by(delete))
        who = ", ".join(map(shown, self.networks))
        return Change(
            text=f"let {who} reach TCP port {self.port} ({self.label})" if self.networks else f"remove {self.label}",
            before="".join(_line(rule) for rule in present) or "absent\n",
            after="".join(_line(rule) for rule in wanted) or "absent\n",
            prepare=tuple(ops),
        )


def _ours(key: Mapping[str, object]) -> list[Rule]:
    values = key.get("values")
    texts = [str(entry.get("value")) for entry in values.values()] if isinstance(values, Mapping) else []
    return [rule for text in texts if (rule := Rule.parse(text)) is not None]


def _add(port: str, networks: Iterable[Network]) -> Op:
    words = {
        "name": facts.RULE,
        "dir": "in",
        "action": "allow",
        "protocol": "TCP",
        "localport": port,
        "remoteip": ",".join(map(shown, networks)),
    }
    return run(NETSH, "advfirewall", "firewall", "add", "rule", *(f"{key}={value}" for key, value in words.items()))


def shown(network: Network) -> str:
    """As one writes it: a machine without the length of its prefix."""
    return str(network.network_address) if network.prefixlen == network.max_prefixlen else str(network)


def _line(rule: Rule) -> str:
    return f"TCP {rule.port} from {', '.join(sorted(map(shown, rule.networks))) or 'others'}\n"
