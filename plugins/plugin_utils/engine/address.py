# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Addresses without their secrets, for steps, errors, receipts and journals. Pure.

User and password, every value of a query, a fragment, and a path's own parameters (`;token=..`) become `***`. No list
of names decides which value of a query is secret: each file store has its own (sig, token, ..).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from .secret import HIDDEN, Secret, hide

_LEAD = re.compile(r"(?i)(?:[a-z][a-z0-9+.-]*:)?//")
_HOST = re.compile(r"(?:\[[0-9a-fA-F:.%]+\]|[^\s:@/?#\[\]]*)(?::\d*)?")
_PATH = re.compile(r"[A-Za-z]:[\\/]|~?/(?!/)")
_VALUE = re.compile(r"(?<==)[^&;]+")
_PARAMETER = re.compile(r";[^/]*")
_ADDRESS = re.compile(r"(?i)\b[a-z][a-z0-9+.-]*://[^\s\"'<>]*[^\s\"'<>.,:;)\]]")


def mask(address: str | Secret[str]) -> str:
    """The address without anything that may be secret. Of a malformed one, everything before its last @ is masked."""
    if isinstance(address, Secret):
        return mask(address.reveal())
    if _PATH.match(address):
        return address
    lead, user, rest = _split_address(address)
    path, mark, fragment = rest.partition("#")
    path, query_mark, query = path.partition("?")
    named = _VALUE.sub(HIDDEN, query) if "=" in query else HIDDEN if query else ""
    at = f"{HIDDEN}@" if user and f":{HIDDEN}" not in rest else ""
    return f"{lead}{at}{_PARAMETER.sub(f';{HIDDEN}', path)}{query_mark}{named}{mark}{HIDDEN if fragment else ''}"


def mask_in(text: object, *addresses: str | None) -> str:
    """A text, such as an error's, with every address masked and without the secret parts of `addresses` anywhere:
    urllib reports an invalid port as `nonnumeric port: 'PASSWORD@host'`."""
    said = str(text)
    for address in addresses:
        if address:
            said = said.replace(address, mask(address))
    said = _ADDRESS.sub(lambda match: mask(match[0]), said)
    said, _count = hide(said, (part for address in addresses if address for part in list_secrets(address)))
    return said


def _split_address(address: str) -> tuple[str, str, str]:
    """The parts before, inside and after user and password."""
    found = _LEAD.match(address)
    lead = found[0] if found else ""
    rest = address[len(lead) :]
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    if "@" in rest and not _HOST.fullmatch(authority):
        # An unescaped / or ? in a password ends the authority for every parser.
        end = authority.rfind("@") if "@" in authority else rest.rfind("@")
        return lead, rest[:end], rest[end + 1 :]
    if not _HOST.fullmatch(authority):
        # No @ at all: the text in place of a port is most likely a password.
        name, _colon, password = authority.partition(":")
        return lead, password, f"{name}:{HIDDEN}{rest[len(authority) :]}"
    return lead, "", rest


def list_secrets(address: str) -> Iterator[Secret[str]]:
    """The parts of an address that may be secret, as they are written and as they are meant."""
    _lead, user, rest = _split_address(address)
    path, _mark, fragment = rest.partition("#")
    path, _query_mark, query = path.partition("?")
    found = [user, user.partition(":")[2], query, fragment, *_VALUE.findall(query)]
    found += [match[0][1:] for match in _PARAMETER.finditer(path)]
    for part in found:
        yield from (Secret(part), Secret(unquote(part)))
