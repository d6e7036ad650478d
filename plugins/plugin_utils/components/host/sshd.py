# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether sshd would start again after a restart of the machine: it looks at the access lists of its folders."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...engine import security, windows_path
from ...engine.reading import Query, Reading, file_key, file_query, services_query
from ...facts.openssh import ENDS_SINCE, FOLDERS, LOGS_SINCE, PROGRAMS, SERVICE
from ...facts.windows import DISABLED


@dataclass(frozen=True, slots=True)
class OpenFolder:
    """A folder of sshd's that others own or may write to: what is wrong with it, and the commands that mend it."""

    path: str
    complaint: str
    commands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sshd:
    """`version` is that of its program; `ends`: whether it ends at its next start; `folders` are those that are
    open."""

    version: str
    ends: bool
    folders: tuple[OpenFolder, ...]

    @property
    def sentence(self) -> str:
        """What is wrong and what mends it, for a person on the node."""
        what = " and ".join(f"{each.path} {each.complaint}" for each in self.folders)
        commands = "; ".join(command for each in self.folders for command in each.commands)
        does = "would not start again (error 1067)" if self.ends else "writes it to its log"
        return f"sshd {self.version} {does}: {what}, and it trusts SYSTEM and Administrators alone. Run: {commands}"


def reads() -> tuple[Query, ...]:
    """What `look` needs."""
    return (
        services_query((SERVICE,)),
        *(file_query(path, sddl=True) for path in FOLDERS),
        *(Query(file_key(path), "file", (("path", path), ("version", True))) for path in PROGRAMS),
    )


def look(reading: Reading) -> Sshd | None:
    """What is open of an sshd that starts with the machine; None without one, and where nothing is open."""
    service = reading.service(SERVICE) if "services" in reading.parts else None
    if service is None or service.get("start") == DISABLED:
        return None
    # Not split: Windows takes a path with blanks without quotes, too.
    image = str(service.get("image_path") or "").lstrip('"')
    program = next((path for path in PROGRAMS if windows_path.is_same(path, image[: len(path)])), PROGRAMS[0])
    version = str((reading.parts.get(file_key(program)) or {}).get("version") or "")
    number = _number(version)
    folders = tuple(_open_folders(reading))
    if not folders or (number is not None and number < ENDS_SINCE):
        return None
    return Sshd(version or "of an unknown release", number is None or number < LOGS_SINCE, folders)


def _open_folders(reading: Reading) -> Iterator[OpenFolder]:
    for path in FOLDERS:
        found = reading.parts.get(file_key(path)) or {}
        access = security.judge_as_sshd(found.get("sddl") if found.get("exists") else None)
        if complaint := access.complain():
            yield OpenFolder(path, complaint, tuple(_commands(path, access)))


def _commands(path: str, access: security.Access) -> Iterator[str]:
    """By SID, since names are localised. An entry that is inherited is made the folder's own before it is taken
    away."""
    if access.owner:
        yield f"icacls.exe {path} /setowner *{security.ALIASES['BA']}"
    if access.writers:
        sids = " ".join(f"*{security.ALIASES.get(who, who)}" for who in access.writers if not who.startswith("("))
        yield f"icacls.exe {path} /inheritance:d /remove:g {sids}" if sids else f"icacls.exe {path} /reset"


def _number(version: str) -> tuple[int, int] | None:
    parts = version.split(".")
    return (int(parts[0]), int(parts[1])) if len(parts) >= 2 and parts[0].isdigit() and parts[1].isdigit() else None
