# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Addresses as they may be shown: in steps, errors, receipts and journals. Pure.

User and password, every value of a query, a fragment, and a path's own parameters (`;token=..`) become `***`. No
list of names decides which value of a query is a secret: each store of files has its own (sig, token, ..).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

HIDDEN = "***"

_LEAD = re.compile(r"(?i)(?:[a-z][a-z0-9+.-]*:)?//")
_HOST = re.compile(r"(?:\[[0-9a-fA-F:.%]+\]|[^\s:@/?#\[\]]*)(?::\d*)?")
_PATH = re.compile(r"[A-Za-z]:[\\/]|~?/(?!/)")
_VALUE = re.compile(r"(?<==)[^&;]+")
_PARAMETER = re.compile(r";[^/]*")
_ADDRESS = re.compile(r"(?i)\b[a-z][a-z0-9+.-]*://[^\s\"'<>]*[^\s\"'<>.,:;)\]]")
_SHORT = 4
"""Characters: a part of an address that is shorter would be found in words."""


def mask(address: str) -> str:
    """The address without what may be a secret. One that is malformed, too: everything before its last @ goes."""
    if _PATH.match(address):
        return address
    lead, user, rest = _split(address)
    path, mark, fragment = rest.partition("#")
    path, query_mark, query = path.partition("?")
    named = _VALUE.sub(HIDDEN, query) if "=" in query else HIDDEN if query else ""
    at = f"{HIDDEN}@" if user and f":{HIDDEN}" not in rest else ""
    return f"{lead}{at}{_PARAMETER.sub(f';{HIDDEN}', path)}{query_mark}{named}{mark}{HIDDEN if fragment else ''}"


def mask_in(text: object, *addresses: str | None) -> str:
    """A text, such as an error's, in which every address is `mask`, and in which the secret parts of `addresses` stand
    nowhere else either: urllib says of a port that is none `nonnumeric port: 'PASSWORD@host'`."""
    said = str(text)
    for address in addresses:
        if address:
            said = said.replace(address, mask(address))
    said = _ADDRESS.sub(lambda match: mask(match[0]), said)
    parts = {part for address in addresses if address for part in _secrets(address)}
    for part in sorted(parts, key=len, reverse=True):
        said = said.replace(part, HIDDEN)
    return said


def _split(address: str) -> tuple[str, str, str]:
    """What stands before user and password, these, and what stands behind."""
    found = _LEAD.match(address)
    lead = found[0] if found else ""
    rest = address[len(lead) :]
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    if "@" in rest and not _HOST.fullmatch(authority):
        # A password in which a / or ? is written as such ends the authority for every parser.
        end = authority.rfind("@") if "@" in authority else rest.rfind("@")
        return lead, rest[:end], rest[end + 1 :]
    if not _HOST.fullmatch(authority):
        # No @ at all: what stands where a port should is most likely a password.
        name, _colon, password = authority.partition(":")
        return lead, password, f"{name}:{HIDDEN}{rest[len(authority) :]}"
    return lead, "", rest


def _secrets(address: str) -> Iterator[str]:
    _lead, user, rest = _split(address)
    path, _mark, fragment = rest.partition("#")
    path, _query_mark, query = path.partition("?")
    found = [user, user.partition(":")[2], query, fragment, *_VALUE.findall(query)]
    found += [match[0][1:] for match in _PARAMETER.finditer(path)]
    for part in found:
        yield from (form for form in (part, unquote(part)) if len(form) >= _SHORT)
