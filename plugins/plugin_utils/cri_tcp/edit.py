# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Edits config.toml so that CRI over TCP is open or closed; the rest of the file stays as it was."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Iterator, Mapping
from copy import deepcopy
from dataclasses import astuple, dataclass
from difflib import SequenceMatcher
from typing import Any, TypeGuard

from ..components.containerd.containerd_toml import Document, NotTomlError, is_same_value
from ..engine import windows_path
from ..engine.resource import Refused
from ..facts import cri_tcp as facts
from ..facts.containerd import SERVER_TCP, Place

MISSING_TOMLKIT = (
    "containerd_config_tcp edits config.toml with the Python library tomlkit, which is missing on the controller: "
    "pip install tomlkit into the Python that runs Ansible."
)
_HEADER = 2
"""The version set in a file without one; containerd 1.4 to 2.4 read it."""
_GONE = object()
"""Instead of a value: remove the key."""
_KEY_INDENT = re.compile(r"^[ \t]*")


@dataclass(frozen=True, slots=True)
class Address:
    """Where containerd listens: an IP address of the node and a port."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        """Parse `127.0.0.1:8888` or `[::1]:8888`. Refused for names, other forms, and ports outside 1 to 65535."""
        host, colon, port = text.rpartition(":")
        bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
        try:
            address = ipaddress.ip_address(bare)
            number = int(port) if port.isascii() and port.isdigit() else 0
            if not colon or not 1 <= number <= 65535 or (address.version == 6) != (bare != host):
                raise ValueError
        except ValueError:
            raise Refused(
                f"tcp_address '{text}' is not an IP address with a port from 1 to 65535; write it as 127.0.0.1:8888 or "
                "[::1]:8888."
            ) from None
        return cls(str(address), number)

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether only programs on the node can reach it."""
        return ipaddress.ip_address(self.host).is_loopback

    @property
    def is_any(self) -> bool:
        """Whether it stands for every address of the node, including future ones."""
        return ipaddress.ip_address(self.host).is_unspecified

    @property
    def near(self) -> str:
        """The address at which programs on the node reach it."""
        if not self.is_any:
            return self.host
        return "::1" if ":" in self.host else "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Tls:
    """Files on the node: the authority for client certificates, and the server's certificate and key."""

    ca: str
    cert: str
    key: str


@dataclass(frozen=True, slots=True)
class Listener:
    """CRI at `address`. Without `tls` the certificates in the file stay as they are."""

    address: Address
    tls: Tls | None = None


@dataclass(frozen=True, slots=True)
class Effective:
    """The effective configuration: the address (empty if containerd does not listen), whether CRI answers there, and
    whether clients need a certificate (`clients_proven`) or at least get the server's (`encrypted`)."""

    address: str
    serves_cri: bool
    encrypted: bool = False
    clients_proven: bool = False


def edit(text: str, wanted: Listener | None, where: str = "config.toml", made: Collection[str] = ()) -> str:
    """Open CRI over TCP as `wanted`, or close it for None. A text that is already right comes back unchanged.
    `made` are the certificate files that we made. A closed file names none of them: containerd 2.2 loads them even with
    an empty address and does not start without them.

    Compares values, not spelling. Other keys, comments and the order stay; the keys are checked at the end. Refused
    with a sentence that begins with `where` if the file cannot be changed.
    """
    document = _document(text, where)
    version = _version(document, where) if wanted else _version_to_close(document, where)
    header = wanted is not None and document.get(("version",)) is None
    found = [*_changes(document, version, wanted), *(_forget_certificates(document, made) if wanted is None else ())]
    if not found and not header:
        return text
    if wanted is not None:
        _check_tables(document, [place for place, _value in found], where)
    crlf = 2 * text.count("\r\n") > text.count("\n") > 0
    plain = text.replace("\r\n", "\n") if crlf else text
    changes = ([(("version",), _HEADER)] if header else []) + found
    result = _set(f"version = {_HEADER}\n{plain}" if header else plain, found)
    _check_result(result, document.data, changes, where)
    return _with_ends_of(text, result) if crlf else result


def effective(text: str) -> Effective:
    """Read CRI over TCP from the output of `containerd config dump`, or from a file without imports. ValueError if it
    is not TOML."""
    document = Document.parse(text)
    places = facts.BY_VERSION.get(document.get(("version",), _HEADER), facts.PLUGIN)
    return Effective(
        address=str(document.get(places.address, "")),
        serves_cri=document.get(places.disable, True) is False and not _cri_disabled(document),
        encrypted=bool(document.get(places.tls_cert)),
        clients_proven=bool(document.get(places.tls_cert)) and bool(document.get(places.tls_ca)),
    )


def not_effective(found: Effective, wanted: Listener | None) -> str:
    """How the effective configuration differs from `wanted`; empty if it does not."""
    if wanted is None:
        return f"it still listens on {found.address}" if found.address else ""
    if found.address != str(wanted.address):
        return f"it listens on {found.address or 'no TCP address'}, not on {wanted.address}"
    if not found.serves_cri:
        return "disable_tcp_service is true, so every CRI call over TCP answers 'unknown service'"
    if wanted.tls is not None and not found.clients_proven:
        return "it asks clients for no certificate"
    return ""


def imports(text: str) -> tuple[str, ...]:
    """The files and patterns that a config.toml imports."""
    return Document.parse(text).strings(("imports",))


def _document(text: str, where: str) -> Document:
    try:
        return Document.parse(text)
    except NotTomlError as error:
        raise Refused(f"{where}: not TOML: {error}. containerd would not start with it; put it right first.") from None


def _version(document: Document, where: str) -> int:
    version = document.get(("version",))
    if _is_number(version) and version in facts.BY_VERSION:
        return version
    old = _of_version_1(document)
    if version is None and not old:
        return _HEADER
    if version is None:
        found, place = f"it names no version and has '{'.'.join(old[0])}', so it is a file of version 1", old[0]
    elif _is_number(version) and version == 1:
        found, place = "version = 1", ("version",)
    else:
        raise _unknown(document, where)
    raise Refused(
        f"{where}: {document.at(place)}{found}, in which containerd 1.x reads no "
        '[plugins."io.containerd.grpc.v1.cri"]: the port would open, and no CRI call would work. Rewrite it as '
        "version 2 (containerd config migrate, or win_containerd)."
    )


def _is_number(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _version_to_close(document: Document, where: str) -> int:
    """Version 1 has the address at the same place, so it can be closed."""
    version = document.get(("version",), 1)
    if not _is_number(version) or version not in (1, *facts.BY_VERSION):
        raise _unknown(document, where)
    return max(version, _HEADER)


def _unknown(document: Document, where: str) -> Refused:
    return Refused(
        f"{where}: {document.at(('version',))}version = {document.get(('version',))!r} is not supported; "
        "2, 3 and 4 are."
    )


def _of_version_1(document: Document) -> list[Place]:
    """Plugin names of version 1; since version 2 they have the form io.containerd.TYPE.vN.ID."""
    plugins = document.get(("plugins",), {})
    names = [("plugins", name) for name in plugins if name.count(".") < 3] if isinstance(plugins, Mapping) else []
    lists = [
        (key, str(name))
        for key in ("disabled_plugins", "required_plugins")
        for name in document.strings((key,))
        if name.count(".") < 3
    ]
    return [*names, *lists]


def _cri_disabled(document: Document) -> bool:
    return any(name in facts.DISABLED_NAMES for name in document.strings(("disabled_plugins",)))


def _changes(document: Document, version: int, wanted: Listener | None) -> Iterator[tuple[Place, Any]]:
    """The keys to change. Closing adds no keys."""
    places = [facts.BY_VERSION[version]]
    if facts.PLUGIN not in places and document.has(("plugins", SERVER_TCP)):
        places.append(facts.PLUGIN)  # containerd 2.3 on then reads the table, 2.2 and before the old key
    if wanted is None:
        settings = [(place.address, "") for place in places if document.has(place.address)]
        closed = [(places[0].disable, True)] if document.has(places[0].disable) else []
        yield from (change for change in (*settings, *closed) if _differs(document, *change))
        return
    for place in places:
        values: list[tuple[Place, Any]] = [(place.address, str(wanted.address))]
        if wanted.tls is not None:
            values += zip(place.tls, astuple(wanted.tls), strict=True)
        yield from (change for change in values if _differs(document, *change))
    if _differs(document, places[0].disable, False):
        yield places[0].disable, False


def _forget_certificates(document: Document, made: Collection[str]) -> Iterator[tuple[Place, Any]]:
    """Take out the certificates' keys where one of them names a file that we made."""
    for place in (facts.GRPC, facts.PLUGIN):
        keys = [key for key in place.tls if document.has(key)]
        if any(windows_path.is_same(str(document.get(key)), path) for key in keys for path in made):
            yield from ((key, _GONE) for key in keys)


def certificate_files(text: str) -> dict[str, str]:
    """The certificate files that a config.toml names, by key with its line."""
    document = Document.parse(text)
    places = (*facts.GRPC.tls, *facts.PLUGIN.tls)
    return {f"{document.at(key)}{key[-1]}": str(document.get(key)) for key in places if document.get(key)}


def _with_ends_of(before: str, after: str) -> str:
    """Give the lines of `after` their line ends from `before`; new lines get CRLF."""
    lines = before.splitlines(keepends=True)
    ends = [("\n" if line.endswith("\n") and not line.endswith("\r\n") else "\r\n") for line in lines]
    bare = [line.rstrip("\r\n") for line in lines]
    new = after.split("\n")
    found = ["\r\n"] * len(new)
    for block in SequenceMatcher(None, bare, new, autojunk=False).get_matching_blocks():
        found[block.b : block.b + block.size] = ends[block.a : block.a + block.size]
    return "".join(f"{line}{end}" for line, end in zip(new[:-1], found, strict=False)) + new[-1]


def _differs(document: Document, place: Place, value: Any) -> bool:
    found = document.get(place)
    return type(found) is not type(value) or found != value


def _check_tables(document: Document, places: list[Place], where: str) -> None:
    """Refused if another value is in the place of a table, or if CRI is disabled altogether."""
    for place in places:
        for length in range(1, len(place)):
            found = document.get(place[:length])
            if found is not None and not isinstance(found, Mapping):
                raise Refused(
                    f"{where}: {document.at(place[:length])}{'.'.join(place[:length])} should be a table, but is "
                    f"{found!r}."
                )
    if _cri_disabled(document):
        raise Refused(
            f"{where}: {document.at(('disabled_plugins',))}disabled_plugins names the CRI plugin: this containerd "
            "does not serve CRI at all, and no kubelet can use it."
        )


def _set(text: str, changes: list[tuple[Place, Any]]) -> str:
    try:
        import tomlkit.items  # the controller needs this library only here
    except ImportError:
        raise Refused(MISSING_TOMLKIT) from None
    document = tomlkit.parse(text)
    for place, value in changes:
        table: Any = document
        if value is _GONE:
            for name in place[:-1]:
                table = table[name]
            table.remove(place[-1])
            continue
        for depth, name in enumerate(place[:-1]):
            if name not in table:
                table[name] = tomlkit.table(is_super_table=depth < len(place) - 2)
            table = table[name]
        if isinstance(table, tomlkit.items.Table) and table.is_super_table():
            # tomlkit would copy the comment of its first table to the new header.
            table.trivia.comment_ws = table.trivia.comment = ""
        item = tomlkit.item(value)
        if place[-1] not in table:
            item.trivia.indent = _indent(table)
        table[place[-1]] = item
    return tomlkit.dumps(document)


def _indent(table: Any) -> str:
    """The indentation of the keys of a table."""
    keys = (value for value in table.values() if not isinstance(value, Mapping))
    found = (_KEY_INDENT.match(value.trivia.indent) for value in keys if hasattr(value, "trivia"))
    return max((match[0] for match in found if match), key=len, default="")


def _check_result(text: str, before: Mapping[str, Any], changes: list[tuple[Place, Any]], where: str) -> None:
    """Refused unless the text has the values of `before` with exactly these changes."""
    wanted: Any = deepcopy(dict(before))
    for place, value in changes:
        table = wanted
        for name in place[:-1]:
            table = table.setdefault(name, {})
        if value is _GONE:
            table.pop(place[-1])
        else:
            table[place[-1]] = value
    try:
        right = is_same_value(Document.parse(text).data, wanted)
    except NotTomlError:
        right = False
    if not right:
        raise Refused(
            f"{where}: the nesting of its tables does not allow a change without touching other keys; set "
            f"{', '.join('.'.join(place) for place, _value in changes)} by hand, or have win_containerd write the file."
        )
