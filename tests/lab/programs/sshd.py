"""sshd.exe, judged by PowerShell/openssh-portable a915f06c contrib/win32/win32compat/w32-sshfileperm.c.

From OpenSSH 9.4 on it ends at its start if anybody but SYSTEM and Administrators, or another owner, may write to its
folders, from 10.0 on it only logs that. What it serves is the lab's own server's.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import TYPE_CHECKING

from tests.lab.machine.builds import resource_version
from tests.lab.machine.program import Caller, Run, text

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode
    from tests.lab.machine.services import ServiceHost

FOLDERS = ("C:\\ProgramData\\ssh", "C:\\ProgramData\\ssh\\logs")
_TRUSTED = ("SY", "BA", "S-1-5-18", "S-1-5-32-544")
_ALLOWED = re.compile(r"\(A;[A-Z]*;([^;]*);;;([^)]*)\)")
_WRITING = {"FA", "FW", "GA", "GW", "CC", "SD", "WD", "WO", "DT", "CR", "RP"}
_SECURE_WRITE_MASK = 0x2 | 0x10 | 0x40 | 0x100 | 0x10000 | 0x40000 | 0x80000
"""sshfileperm.h, SSH_SECURE_WRITE_MASK: data, attributes, DELETE_CHILD, DELETE, WRITE_DAC, WRITE_OWNER."""


def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
    """From a console it does nothing."""
    yield 0.01
    return text(1)


def serve(
    node: SimulatedNode, argv: list[str], host: ServiceHost, caller: Caller
) -> Generator[float | None, None, int]:
    host.report("running")
    if refuses(node, resource_version(node.drive.read(argv[0])) or "0.0"):
        yield 0.2
        return 255
    return (yield from host.until_asked_to_stop(0.5))


def refuses(node: SimulatedNode, version: str) -> bool:
    """Whether an sshd of this version ends at its start."""
    number = tuple(int(part) for part in version.split(".")[:2])
    return (9, 4) <= number < (10, 0) and any(_writable(node, path) for path in FOLDERS if node.drive.is_dir(path))


def _writable(node: SimulatedNode, path: str) -> bool:
    sddl = node.drive.sddl(path)
    owner = re.match(r"O:([A-Z]{2}|S-[\d-]+)", sddl)
    if owner is None or owner[1] not in _TRUSTED:
        return True
    return any(who not in _TRUSTED and _writes(rights) for rights, who in _ALLOWED.findall(sddl))


def _writes(rights: str) -> bool:
    if rights.startswith("0x"):
        return bool(int(rights, 16) & _SECURE_WRITE_MASK)
    return bool(_WRITING & {rights[at : at + 2] for at in range(0, len(rights), 2)})
