"""ipconfig.exe, judged by memory.

With /all (and /allcompartments) or without: the adapters in the form for people.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from tests.lab.machine.program import Caller, Run, crlf, text

if TYPE_CHECKING:
    from tests.lab.machine.adapters import Adapter
    from tests.lab.machine.node import SimulatedNode


def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
    yield 0.1
    options = [item.lower() for item in argv[1:] if item.lower() != "/allcompartments"]
    if options not in ([], ["/all"]):
        return text(1, f"The lab does not simulate ipconfig {' '.join(argv[1:])}.\r\n")
    lines = ["", "Windows IP Configuration", ""]
    for adapter in node.adapters.all():
        if adapter.settings is not None:
            lines += [f"Ethernet adapter {adapter.name}:", "", *_lines(node, adapter, bool(options)), ""]
    return text(0, crlf(*lines))


def _lines(node: SimulatedNode, adapter: Adapter, everything: bool) -> list[str]:
    now = node.adapters.current(adapter)
    rows: list[tuple[str, str]] = []
    if everything:
        rows += [("Description", adapter.description), ("Physical Address", adapter.mac)]
        rows.append(("DHCP Enabled", "Yes" if now.dhcp else "No"))
    for item in now.addresses:
        mask = ipaddress.IPv4Network(f"0.0.0.0/{item.prefix}").netmask
        name = "Autoconfiguration IPv4 Address" if item.link_local else "IPv4 Address"
        rows += [(name, item.address), ("Subnet Mask", str(mask))]
    rows.append(("Default Gateway", ", ".join(now.gateways)))
    if everything and now.dns:
        rows.append(("DNS Servers", ", ".join(now.dns)))
    return [f"   {name} {'. ' * ((36 - len(name)) // 2)}: {value}" for name, value in rows]
