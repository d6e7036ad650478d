# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who may do what to a file, as SDDL; parsed only as far as the engine needs it.

Source: learn.microsoft.com, "Security Descriptor String Format", "ACE Strings", "SID Strings".
"""

from __future__ import annotations

import re
from dataclasses import dataclass

SYSTEM = "SY"
ADMINISTRATORS = "BA"
ADMINS_ONLY = "O:BAG:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"
"""Owner Administrators; SYSTEM and Administrators full control, no one else; nothing inherited."""
ADMINS_WRITE = "O:BAG:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)"
"""As ADMINS_ONLY, and Users may read and execute: for folders that services run programs from."""

_TRUSTED_INSTALLER = "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464"
_MAY_READ = {SYSTEM, "S-1-5-18", ADMINISTRATORS, "S-1-5-32-544"}
_MAY_WRITE = {*_MAY_READ, _TRUSTED_INSTALLER}
_MAY_OWN = _MAY_WRITE
# CREATOR OWNER entries apply only to what a user makes; the other entries say who may make something.
_PLACEHOLDERS = {"CO", "S-1-3-0"}
_ACE = re.compile(r"\((?P<kind>[^;]*);(?P<flags>[^;]*);(?P<rights>[^;]*);[^;]*;[^;]*;(?P<sid>[^;)]*)[^)]*\)")
_WRITE_NAMES = {"FA", "FW", "GA", "GW", "DC", "LC", "RP", "DT", "CR", "SD", "WD", "WO"}
# FILE_WRITE_DATA, APPEND_DATA, WRITE_EA, DELETE_CHILD, WRITE_ATTRIBUTES, DELETE, WRITE_DAC, WRITE_OWNER,
# GENERIC_ALL, GENERIC_WRITE
_WRITE_BITS = 0x2 | 0x4 | 0x10 | 0x40 | 0x100 | 0x10000 | 0x40000 | 0x80000 | 0x10000000 | 0x40000000


@dataclass(frozen=True, slots=True)
class Ace:
    """One entry of a DACL: `kind` (A = allow, D = deny), `flags`, `rights`, `sid` (two letters or S-1-...)."""

    kind: str
    flags: str
    rights: str
    sid: str

    @property
    def writes(self) -> bool:
        """Whether the rights allow any change."""
        if self.rights.lower().startswith("0x"):
            return bool(int(self.rights, 16) & _WRITE_BITS)
        names = {self.rights[i : i + 2] for i in range(0, len(self.rights), 2)}
        return bool(names & _WRITE_NAMES)


def owner(sddl: str) -> str:
    """The owner in `sddl`, two letters or a SID; empty if it has none."""
    match = re.match(r"O:(S-[\d-]+|[A-Z]{2})", sddl)
    return match.group(1) if match else ""


def entries(sddl: str) -> tuple[Ace, ...]:
    """The DACL's entries in `sddl`."""
    dacl = sddl.split("D:", 1)[1] if "D:" in sddl else ""
    dacl = dacl.split("S:", 1)[0] if "S:(" in dacl or "S:P" in dacl or "S:A" in dacl else dacl
    return tuple(Ace(*match.group("kind", "flags", "rights", "sid")) for match in _ACE.finditer(dacl))


def strangers_who_write(sddl: str) -> tuple[str, ...]:
    """The SIDs that may change a folder with this descriptor, except SYSTEM, Administrators and TrustedInstaller."""
    found = (ace.sid for ace in entries(sddl) if ace.kind == "A" and ace.writes and ace.sid not in _PLACEHOLDERS)
    return tuple(dict.fromkeys(sid for sid in found if sid not in _MAY_WRITE))


def foreign_owner(sddl: str) -> str | None:
    r"""The owner unless it is SYSTEM, Administrators or TrustedInstaller: any user can make C:\k first and own it."""
    found = owner(sddl)
    return None if not found or found in _MAY_OWN else found


def strangers_who_read(sddl: str) -> tuple[str, ...]:
    """The SIDs, other than SYSTEM and Administrators, that are allowed anything with a secret."""
    return tuple(sid for sid in readers(sddl) if sid not in _MAY_READ | _PLACEHOLDERS)


def readers(sddl: str) -> tuple[str, ...]:
    """All SIDs in allow entries of the DACL, in order."""
    return tuple(dict.fromkeys(ace.sid for ace in entries(sddl) if ace.kind == "A"))
