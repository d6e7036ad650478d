"""A service's security descriptor as Windows keeps it in the registry. Source: [MS-DTYP] 2.4.6, 2.5.1."""

from __future__ import annotations

import re
import struct

from tests.lab.machine.security import sid_of

_ACE = re.compile(r"\((A|D);;(0x[0-9a-fA-F]+|[A-Z]+);;;([A-Z]{2}|S-[0-9-]+)\)")
_RIGHTS = {
    "CC": 0x1,
    "DC": 0x2,
    "LC": 0x4,
    "SW": 0x8,
    "RP": 0x10,
    "WP": 0x20,
    "DT": 0x40,
    "LO": 0x80,
    "CR": 0x100,
    "SD": 0x10000,
    "RC": 0x20000,
    "WD": 0x40000,
    "WO": 0x80000,
}


def encode(sddl: str) -> bytes:
    """`D:(A;;CCLC;;;AU)..` -> the descriptor, of SYSTEM. ValueError for anything else, as sc.exe refuses it."""
    body = sddl.removeprefix("D:")
    if body == sddl or _ACE.sub("", body):
        raise ValueError(f"no security descriptor: {sddl}")
    entries = b""
    for kind, rights, sid in _ACE.findall(body):
        who = _sid(sid_of(sid))
        mask = int(rights, 16) if rights.startswith("0x") else sum(_RIGHTS[pair] for pair in re.findall("..", rights))
        entries += struct.pack("<BBHI", 0 if kind == "A" else 1, 0, 8 + len(who), mask) + who
    system = _sid("S-1-5-18")
    acl = struct.pack("<BBHHH", 2, 0, 8 + len(entries), len(_ACE.findall(body)), 0) + entries
    head = struct.pack("<BBHIIII", 1, 0, 0x8004, 20 + len(acl), 20 + len(acl), 0, 20)
    return head + acl + system


def _sid(text: str) -> bytes:
    _, revision, authority, *parts = text.split("-")
    head = struct.pack("<BBHI", int(revision), len(parts), 0, 0)[:2] + int(authority).to_bytes(6, "big")
    return head + b"".join(struct.pack("<I", int(part)) for part in parts)
