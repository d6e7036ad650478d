"""The adapter that this computer is reached by: Wine shows it as its own."""

from __future__ import annotations

import fcntl
import ipaddress
import socket
import struct
from pathlib import Path

from tests.lab.machine.image import Nic

SIOCGIFADDR, SIOCGIFNETMASK = 0x8915, 0x891B


def name() -> str:
    """That of the default route."""
    routes = (line.split() for line in Path("/proc/net/route").read_text(encoding="ascii").splitlines()[1:])
    return next((route[0] for route in routes if int(route[1], 16) == 0), "lo")


def nic() -> Nic:
    """The same, for the lab's machine."""
    found = name()
    address, mask = (_asked(found, request) for request in (SIOCGIFADDR, SIOCGIFNETMASK))
    return Nic(found, address, ipaddress.IPv4Network(f"0.0.0.0/{mask}").prefixlen)


def _asked(interface: str, request: int) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
        found = fcntl.ioctl(door.fileno(), request, struct.pack("256s", interface.encode()))
    return socket.inet_ntoa(found[20:24])
