# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the JSON Schema cannot say: checks that the schema names with `x-check`.

Each takes a text and returns None, or what is wrong with it as the end of a sentence: "<value> ..., wanted <x-wanted>".
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

_LABEL = re.compile(r"^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$")
_HOST = re.compile(r"^[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9])?$")
_SCHEME = re.compile(r"^(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):")
_DRIVE = re.compile(r"^[A-Za-z]:[\\/]")

# What a person wrote after a backslash in double quotes, by the character that YAML made of it (YAML 1.1, section 5.7).
_ESCAPES = {
    "\0": "0", "\a": "a", "\b": "b", "\t": "t", "\n": "n", "\v": "v", "\f": "f", "\r": "r", "\x1b": "e",
    "\x85": "N", "\xa0": "_", "\u2028": "L", "\u2029": "P",
}  # fmt: skip


@dataclass(frozen=True)
class Address:
    """A host as Ansible wants it: IPv6 without brackets; port None when the text names none."""

    host: str
    port: int | None


def parse_address(text: str) -> Address:
    """Split `host:port`. Raises ValueError with the end of a sentence: what is wrong and what to do."""
    if "://" in text:
        raise ValueError("which is a URL; leave out the part before the host name and everything after the port")
    if "@" in text:
        raise ValueError("which holds a user; write it as username")
    if re.search(r"\s", text):
        raise ValueError("which holds a blank")
    if text.startswith("["):
        host, closed, rest = text[1:].partition("]")
        if not closed or (rest and not rest.startswith(":")):
            raise ValueError("which is no IPv6 address in brackets; write '[::1]:22'")
        port_text = rest[1:] if rest else None
        try:
            ipaddress.IPv6Address(host)
        except ValueError:
            raise ValueError(f"in which '{host}' is no IPv6 address") from None
    elif text.count(":") > 1:
        raise ValueError(
            "which could be an IPv6 address with or without a port; put the address in brackets and all of it in"
            " quotes: '[::1]:22'"
        )
    else:
        host, colon, port_part = text.partition(":")
        port_text = port_part if colon else None
        if re.fullmatch(r"[0-9.]+", host):
            try:
                ipaddress.IPv4Address(host)
            except ValueError:
                raise ValueError(f"in which '{host}' is no IPv4 address") from None
        elif not _HOST.match(host):
            raise ValueError(f"in which '{host}' is no host name")
    if port_text is None:
        return Address(host, None)
    if not re.fullmatch(r"[0-9]+", port_text):
        raise ValueError(f"in which the port '{port_text}' is no number")
    if not 1 <= int(port_text) <= 65535:
        raise ValueError(f"in which the port {port_text} is not between 1 and 65535")
    return Address(host, int(port_text))


def escaped(text: str) -> str | None:
    r"""The text with its control characters turned back into the escapes they came from, None if there are none.

    `"c:\bin"` in double quotes is `c:`, a backspace and `in`.
    """
    found = [char for char in text if char in _ESCAPES or ord(char) < 0x20 or ord(char) == 0x7F]
    if not found:
        return None
    return "".join(
        "\\" + _ESCAPES[char] if char in _ESCAPES else (f"\\x{ord(char):02x}" if char in found else char)
        for char in text
    )


def _address(text: str) -> str | None:
    try:
        parse_address(text)
    except ValueError as error:
        return str(error)
    return None


# What Ansible understands by itself where a host is named. Source: ansible-core inventory/data.py (the two groups that
# always exist) and constants.LOCALHOST (the controller).
_RESERVED = {
    "all": "which Ansible keeps for the group of every host",
    "ungrouped": "which Ansible keeps for the group of hosts without a group",
    "localhost": "which Ansible keeps for the machine that it runs on",
    "127.0.0.1": "which Ansible keeps for the machine that it runs on",
}


def _node_name(text: str) -> str | None:
    if text.lower() in _RESERVED:
        return _RESERVED[text.lower()]
    if any(len(part) > 63 for part in text.split(".")):
        return "in which a part is longer than 63 characters"
    bad = sorted({char for char in text if not re.match(r"[A-Za-z0-9.-]", char)})
    if bad:
        return f"in which {' '.join(bad)} is not allowed"
    if any(not _LABEL.match(part) for part in text.split(".")):
        return "in which a part is empty, or begins or ends with '-'"
    return None


def _source(text: str) -> str | None:
    if _DRIVE.match(text):
        return "which is a Windows path, but the file is taken from the controller or from a web server"
    scheme = _SCHEME.match(text)
    if not scheme:
        return None
    if scheme["scheme"] not in ("http", "https", "file"):
        return f"in which '{scheme['scheme']}' is a scheme that nothing here can fetch"
    try:
        parts = urlsplit(text)
        port_ok = parts.port is None or parts.port > 0
    except ValueError:
        return "which is no valid URL"
    if scheme["scheme"] != "file" and not (parts.hostname and port_ok):
        return "in which the host is missing"
    if scheme["scheme"] == "file" and (parts.netloc or not parts.path.startswith("/")):
        return "which is no file address; write file:/// and an absolute path"
    if parts.username or parts.password:
        return "which holds a user or a password; they would be seen in logs"
    if re.search(r"\s", text):
        return "which holds a blank; write %20"
    return None


def _windows_file(text: str) -> str | None:
    if text.endswith(("\\", "/")):
        return "which is a folder; add the file's name"
    if text.startswith(("\\\\", "//")):
        return "which is on another machine; a service's program lies on a drive of the node"
    if not _DRIVE.match(text):
        return "which is not absolute; begin with the drive"
    if "." not in re.split(r"[\\/]", text)[-1]:
        return "which looks like a folder, since its last part has no extension; add the file's name"
    return None


def _ip(text: str) -> str | None:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return "which is no IP address"
    return None


def _cidr(text: str) -> str | None:
    """One network, or two of different families with a comma between them. Whether the network mode takes two is not
    known here: `networks.range_problems` says it of a variable and of a Node YAML alike."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) == 1:
        return _network(text)
    for part in parts:
        reason = _network(part)
        if reason is not None:
            return f"in which '{part}' is one {reason}"
    if len(parts) > 2 or len({ipaddress.ip_network(part).version for part in parts}) == 1:
        return "which holds more than one network of one family"
    return None


def _network(text: str) -> str | None:
    if "/" not in text:
        return "which has no prefix length"
    try:
        ipaddress.ip_network(text)
    except ValueError as error:
        if "host bits" in str(error):
            return f"which is an address in the network {ipaddress.ip_network(text, strict=False)}; write the network"
        return "which is no network"
    return None


def _key_path(text: str) -> str | None:
    if "PRIVATE KEY-----" in text:
        return "which is a key itself; keep the key in a file and write its path"
    if text.endswith(".pub"):
        return "which is a public key; leave out .pub"
    return None


CHECKS: dict[str, Callable[[str], str | None]] = {
    "address": _address,
    "node-name": _node_name,
    "source": _source,
    "windows-file": _windows_file,
    "ip": _ip,
    "cidr": _cidr,
    "key-path": _key_path,
}
