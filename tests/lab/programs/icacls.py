"""icacls.exe, judged by memory.

/inheritance, /grant[:r], /deny, /remove, /setowner, /reset, /T, /C, /Q; trustees by SID (`*S-1-...`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.lab.machine.errors import WinError
from tests.lab.machine.program import Caller, Completed, Run, crlf, text
from tests.lab.machine.security import Ace, Security

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

# Source: Microsoft, icacls: simple rights.
RIGHTS = {"F": "FA", "M": "0x1301bf", "RX": "0x1200a9", "R": "FR", "W": "0x100116", "D": "0x110000"}
NAMES = {
    "system": "S-1-5-18",
    "administrators": "S-1-5-32-544",
    "users": "S-1-5-32-545",
    "authenticated users": "S-1-5-11",
    "everyone": "S-1-1-0",
}
_GRANT = re.compile(r"^(?P<who>.+):(?P<flags>(?:\((?:OI|CI|IO|NP)\))*)\(?(?P<rights>F|M|RX|R|W|D)\)?$", re.IGNORECASE)
Change = Callable[[Security], Security]


class ArgumentError(Exception):
    """One argument that icacls does not take."""


def trustee(name: str) -> str:
    if name.startswith("*S-1-"):
        return name[1:]
    found = NAMES.get(name.rpartition("\\")[2].lower())
    if found is None:
        raise ArgumentError(name)
    return found


def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
    yield 0.05
    if len(argv) < 3:
        return text(87, crlf("ICACLS name /grant[:r] Sid:perm ..."))
    path = argv[1]
    try:
        changes, tree = _read(argv[2:])
    except (ArgumentError, IndexError) as error:
        return text(87, "", crlf(f'Invalid parameter "{error}"'))
    if node.drive.kind(path) is None:
        return text(
            2,
            crlf("Successfully processed 0 files; Failed processing 1 files"),
            crlf(f"{path}: The system cannot find the file specified."),
        )
    if not caller.elevated:
        return text(
            5, crlf("Successfully processed 0 files; Failed processing 1 files"), crlf(f"{path}: Access is denied.")
        )
    return _apply(node, _paths(node, path) if tree else [path], changes)


def _paths(node: SimulatedNode, path: str) -> list[str]:
    found = [path]
    if node.drive.kind(path) == "directory":
        for name in node.drive.listdir(path):
            found += _paths(node, f"{path}\\{name}")
    return found


def _apply(node: SimulatedNode, paths: list[str], changes: list[Change]) -> Completed:
    try:
        for path in paths:
            for change in changes:
                node.drive.set_security(path, change)
    except WinError as error:
        return text(error.code, "", crlf(str(error)))
    lines = [f"processed file: {path}" for path in paths]
    return text(0, crlf(*lines, f"Successfully processed {len(paths)} files; Failed processing 0 files"))


def _read(arguments: list[str]) -> tuple[list[Change], bool]:
    changes: list[Change] = []
    rest, tree = list(arguments), False
    while rest:
        option = rest.pop(0)
        name, _, detail = option.lower().partition(":")
        if name in {"/t", "/c", "/q", "/l"}:
            tree = tree or name == "/t"
        elif name == "/inheritance":
            changes.append(_inheritance(detail, option))
        elif name in {"/grant", "/deny"}:
            changes.append(_grant(rest.pop(0), "A" if name == "/grant" else "D", detail == "r"))
            while rest and not rest[0].startswith("/"):
                changes.append(_grant(rest.pop(0), "A" if name == "/grant" else "D", detail == "r"))
        elif name == "/remove":
            changes.append(_remove(trustee(rest.pop(0))))
            while rest and not rest[0].startswith("/"):
                changes.append(_remove(trustee(rest.pop(0))))
        elif name == "/setowner":
            owner = trustee(rest.pop(0))
            changes.append(lambda security, owner=owner: replace(security, owner=owner))  # type: ignore[misc]
        elif name == "/reset":
            changes.append(lambda security: replace(security, protected=False, aces=()))
        else:
            raise ArgumentError(option)
    return changes, tree


def _inheritance(detail: str, option: str) -> Change:
    if detail == "e":
        return lambda security: replace(security, protected=False)
    if detail == "r":
        return lambda security: replace(
            security, protected=True, aces=tuple(ace for ace in security.aces if not ace.inherited)
        )
    if detail == "d":
        return lambda security: replace(
            security, protected=True, aces=tuple(replace(ace, flags=ace.flags - {"ID"}) for ace in security.aces)
        )
    raise ArgumentError(option)


def _grant(item: str, kind: str, instead: bool) -> Change:
    found = _GRANT.match(item)
    if found is None:
        raise ArgumentError(item)
    sid = trustee(found["who"])
    flags = frozenset(re.findall(r"OI|CI|IO|NP", found["flags"].upper()))
    new = Ace(kind, flags, RIGHTS[found["rights"].upper()], sid)

    def change(security: Security) -> Security:
        kept = tuple(
            ace
            for ace in security.aces
            if ace != new and not (instead and ace.sid == sid and ace.kind == kind and not ace.inherited)
        )
        return replace(security, aces=(new, *kept) if kind == "D" else (*kept, new))

    return change


def _remove(sid: str) -> Change:
    return lambda security: replace(
        security, aces=tuple(ace for ace in security.aces if ace.sid != sid or ace.inherited)
    )
