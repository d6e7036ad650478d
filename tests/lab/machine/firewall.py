"""The Windows firewall, inbound: what no rule of the registry lets in stays out.

A blocking rule wins over an allowing one; an adapter's network category names the profile, and a profile that is off
lets everything in. Sources: [MS-GPFAS] 2.2.2 (the grammar of a rule) and 4.2 (a subnet is written with its mask);
learn.microsoft.com, Windows Firewall rules: inbound connections are blocked unless a rule allows them.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

POLICY = "HKLM\\SYSTEM\\CurrentControlSet\\Services\\SharedAccess\\Parameters\\FirewallPolicy"
RULES = f"{POLICY}\\FirewallRules"
PROFILES = {"Domain": "DomainProfile", "Private": "StandardProfile", "Public": "PublicProfile"}
NUMBERS = {"TCP": "6", "UDP": "17"}
ANY = "256"


def lets_in(node: SimulatedNode, protocol: str, port: int, source: str, category: str = "Private") -> bool:
    """Whether a packet from the address `source` to this port of the node gets in, by an adapter of this category."""
    if node.registry.number(f"{POLICY}\\{PROFILES[category]}", "EnableFirewall", 1) == 0:
        return True
    found = [
        fields["action"][0].lower()
        for value in node.registry.values(RULES)
        if isinstance(value.data, str) and _fits(fields := parsed(value.data), protocol, port, source, category)
    ]
    return "allow" in found and "block" not in found


def parsed(rule: str) -> dict[str, list[str]]:
    """`v2.31|Action=Allow|LPort=1|LPort=2|` -> the values by lower-case key."""
    found: dict[str, list[str]] = {"action": [""]}
    for part in rule.split("|"):
        key, sign, value = part.partition("=")
        if sign and key.lower() == "action":
            found["action"] = [value]
        elif sign:
            found.setdefault(key.lower(), []).append(value)
    return found


def _fits(fields: dict[str, list[str]], protocol: str, port: int, source: str, category: str) -> bool:
    if fields.get("active") != ["TRUE"] or fields.get("dir") != ["In"]:
        return False
    if fields.get("protocol", [ANY])[0] not in {NUMBERS[protocol], ANY}:
        return False
    if "profile" in fields and category not in fields["profile"]:
        return False
    ports = [*fields.get("lport", ()), *fields.get("lport2_10", ())]
    if ports and not any(_has(one, port) for one in ports):
        return False
    sources = [*fields.get("ra4", ()), *fields.get("ra6", ())]
    return not sources or any(_covers(one, source) for one in sources)


def _has(ports: str, port: int) -> bool:
    first, _, last = ports.partition("-")
    return first.isdigit() and int(first) <= port <= int(last or first)


def _covers(text: str, source: str) -> bool:
    address = ipaddress.ip_address(source)
    first, dash, last = text.partition("-")
    try:
        if dash:
            low, high = ipaddress.ip_address(first), ipaddress.ip_address(last)
            return low.version == address.version and int(low) <= int(address) <= int(high)
        return address in ipaddress.ip_network(text, strict=False)
    except ValueError:  # LocalSubnet, DNS, ...: no machine of the lab counts on them
        return False
