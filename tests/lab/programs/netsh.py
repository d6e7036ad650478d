"""netsh.exe, judged by memory.

`advfirewall firewall add|delete|set|show rule`; adding a name twice gives two rules. `interface ipv4` and `ipv6` are in
netsh_interface.py, `trace` in netsh_trace.py.
"""

from __future__ import annotations

import ipaddress
import uuid
from typing import TYPE_CHECKING

from tests.lab.machine.firewall import RULES
from tests.lab.machine.program import Caller, Completed, Run, crlf, text
from tests.lab.programs import netsh_interface, netsh_trace

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

_PROTOCOLS = {"tcp": "6", "udp": "17", "any": "256", "icmpv4": "1"}
_KEYS = {
    "name",
    "dir",
    "action",
    "protocol",
    "localport",
    "remoteport",
    "remoteip",
    "localip",
    "program",
    "service",
    "enable",
    "profile",
    "description",
}


def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
    yield 0.1
    words = [item.lower() for item in argv[1:3]]
    if words in (["interface", "ipv4"], ["interface", "ip"], ["interface", "ipv6"]):
        return (yield from netsh_interface.main(node, argv, caller))
    if [item.lower() for item in argv[1:4]] == ["interface", "set", "interface"]:
        return netsh_interface.enable(node, argv[4:], caller)
    if words[:1] == ["trace"]:
        return netsh_trace.main(node, argv, caller)
    if words != ["advfirewall", "firewall"] or len(argv) < 5 or argv[4].lower() != "rule":
        return text(1, f"The lab does not simulate netsh {' '.join(argv[1:])}.\r\n")
    if argv[3].lower() == "set":
        return _set(node, argv[5:], caller)
    given = dict(item.split("=", 1) for item in argv[5:] if "=" in item)
    given = {key.lower(): value for key, value in given.items()}
    unknown = [item for item in argv[5:] if "=" not in item or item.split("=", 1)[0].lower() not in _KEYS]
    if unknown or "name" not in given:
        return text(1, crlf("", "A specified value is not valid.", ""))
    if argv[3].lower() == "show":
        return _show(node, given["name"])
    if not caller.elevated:
        return text(1, crlf("The requested operation requires elevation (Run as administrator).", ""))
    return _add(node, given) if argv[3].lower() == "add" else _delete(node, given["name"])


def named(node: SimulatedNode, name: str) -> list[str]:
    """The registry values of the rules of that name."""
    wanted = f"|name={name.lower()}|"
    return [
        value.name
        for value in node.registry.values(RULES)
        if isinstance(value.data, str) and wanted in value.data.lower()
    ]


def _add(node: SimulatedNode, given: dict[str, str]) -> Completed:
    if given.get("dir", "").lower() not in {"in", "out"} or given.get("action", "").lower() not in {"allow", "block"}:
        return text(1, crlf("", "A required parameter is missing: dir= and action=.", ""))
    fields = [
        "v2.31",
        f"Action={given['action'].capitalize()}",
        f"Active={'FALSE' if given.get('enable', 'yes').lower() == 'no' else 'TRUE'}",
        f"Dir={given['dir'].capitalize()}",
    ]
    if "protocol" in given:
        fields.append(f"Protocol={_PROTOCOLS.get(given['protocol'].lower(), given['protocol'])}")
    for key, name in (("localport", "LPort"), ("remoteport", "RPort")):
        for part in filter(None, given.get(key, "").split(",")):  # [MS-GPFAS] 2.2.2.19: ranges have a key of their own
            fields.append(f"{name}{'2_10' if '-' in part else ''}={part}")
    fields += [f"Profile={part.capitalize()}" for part in given.get("profile", "any").split(",") if part != "any"]
    fields += [_remote(part) for part in given.get("remoteip", "").split(",") if part and part != "any"]
    fields += [f"App={given['program']}"] if "program" in given else []
    fields.append(f"Name={given['name']}")
    fields += [f"Desc={given['description']}"] if "description" in given else []
    identity = "{" + str(uuid.UUID(int=node.random.getrandbits(128), version=4)).upper() + "}"
    node.registry.set(RULES, identity, "string", "|".join(fields) + "|")
    return text(0, crlf("Ok.", ""))


def _remote(text: str) -> str:
    """A subnet is kept with its mask: [MS-GPFAS] 4.2; a single address, a range or a word as it was given."""
    try:
        network = ipaddress.ip_network(text, strict=False)
    except ValueError:
        return f"RA4={text}"
    if network.version == 6:
        return f"RA6={text}"
    single = network.prefixlen == network.max_prefixlen
    return f"RA4={network.network_address if single else network.with_netmask}"


def _set(node: SimulatedNode, words: list[str], caller: Caller) -> Completed:
    """`name=X new enable=yes|no`: all rules of that name."""
    name, enable = (words[0], words[-1]) if len(words) == 3 and words[1] == "new" else ("", "")
    if not name.startswith("name=") or enable not in {"enable=yes", "enable=no"}:
        return text(1, f"The lab does not simulate netsh advfirewall firewall set rule {' '.join(words)}.\r\n")
    if not caller.elevated:
        return text(1, crlf("The requested operation requires elevation (Run as administrator).", ""))
    found = named(node, name.removeprefix("name="))
    if not found:
        return text(1, crlf("", "No rules match the specified criteria.", ""))
    active = "TRUE" if enable == "enable=yes" else "FALSE"
    for value in found:
        rule = next(str(one.data) for one in node.registry.values(RULES) if one.name == value)
        fields = [f"Active={active}" if field.startswith("Active=") else field for field in rule.split("|")]
        node.registry.set(RULES, value, "string", "|".join(fields))
    return text(0, crlf("", f"Updated {len(found)} rule(s).", "Ok.", ""))


def _delete(node: SimulatedNode, name: str) -> Completed:
    found = named(node, name)
    if not found:
        return text(1, crlf("", "No rules match the specified criteria.", ""))
    for value in found:
        node.registry.delete_value(RULES, value)
    return text(0, crlf("", f"Deleted {len(found)} rule(s).", "Ok.", ""))


def _show(node: SimulatedNode, name: str) -> Completed:
    found = named(node, name)
    if not found:
        return text(1, crlf("", "No rules match the specified criteria.", ""))
    return text(0, crlf("", *(f"Rule Name:                            {name}" for _ in found), "Ok.", ""))
