# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who may do what to a file or folder, told from its SDDL. What is not understood here counts as a stranger's full
control, so that a form that Windows has and this module lacks can only cause a rewrite, never hide an opening.

Sources: learn.microsoft.com, "Security Descriptor String Format", "ACE Strings", "SID Strings", "File Access Rights
Constants"; [MS-DTYP] 2.5.1.1 (a right is a name, hexadecimal, octal or decimal).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

ADMINS_ONLY_FILE = "O:BAG:BAD:PAI(A;;FA;;;SY)(A;;FA;;;BA)"
"""For a file. Owner Administrators; SYSTEM and Administrators full control, no one else; nothing inherited."""
ADMINS_ONLY = "O:BAG:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"
"""The same for a folder and what is made in it."""
ADMINS_WRITE = "O:BAG:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)"
"""As ADMINS_ONLY, and Users may read and execute: for folders that services run programs from."""

_TRUSTED_INSTALLER = "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464"
_MAY_READ = frozenset({"SY", "S-1-5-18", "BA", "S-1-5-32-544"})
_MAY_WRITE = _MAY_READ | {_TRUSTED_INSTALLER}
# Entries for CREATOR OWNER apply only to what somebody makes; the other entries say who may make something. Those for
# OWNER RIGHTS apply to the owner, who is judged by himself.
_PLACEHOLDERS = frozenset({"CO", "S-1-3-0", "OW", "S-1-3-4"})

_WRITES = 0x2 | 0x4 | 0x10 | 0x40 | 0x100 | 0x10000 | 0x40000 | 0x80000 | 0x10000000 | 0x40000000
"""FILE_WRITE_DATA, APPEND_DATA, WRITE_EA, DELETE_CHILD, WRITE_ATTRIBUTES, DELETE, WRITE_DAC, WRITE_OWNER,
GENERIC_ALL, GENERIC_WRITE."""
_READ_AND_RUN = 0x1 | 0x8 | 0x20 | 0x80 | 0x20000 | 0x100000 | 0x20000000 | 0x80000000
"""FILE_READ_DATA, READ_EA, EXECUTE, READ_ATTRIBUTES, READ_CONTROL, SYNCHRONIZE, GENERIC_EXECUTE, GENERIC_READ."""
_RIGHTS = {
    "GA": 0x10000000,
    "GR": 0x80000000,
    "GW": 0x40000000,
    "GX": 0x20000000,
    "RC": 0x20000,
    "SD": 0x10000,
    "WD": 0x40000,
    "WO": 0x80000,
    "CC": 0x1,
    "DC": 0x2,
    "LC": 0x4,
    "SW": 0x8,
    "RP": 0x10,
    "WP": 0x20,
    "DT": 0x40,
    "LO": 0x80,
    "CR": 0x100,
    "FA": 0x1F01FF,
    "FR": 0x120089,
    "FW": 0x120116,
    "FX": 0x1200A0,
    "KA": 0xF003F,
    "KR": 0x20019,
    "KW": 0x20006,
    "KX": 0x20019,
}
"""The bits that a name stands for. The names of other objects' rights (K: registry keys, the two letters of directory
services) are printed for files too, wherever the bits are the same."""

_SID = r"[A-Z]{2}|S-1-(?:\d+|0x[0-9A-Fa-f]+)(?:-\d+)+"
_DESCRIPTOR = re.compile(rf"(?:O:(?P<owner>{_SID}))?(?:G:(?:{_SID}))?(?:D:(?P<flags>(?:P|AI|AR)*)(?P<dacl>.*))?")
_ENTRY = re.compile(rf"(?P<kind>A|D);(?:CI|OI|NP|IO|ID)*;(?P<rights>[0-9A-Za-z]*);;;(?P<sid>{_SID})")
_NUMBER = re.compile(r"0x[0-9A-Fa-f]{1,8}|0[0-7]*|[1-9][0-9]*")
SHOWN = 80
"""Characters of an entry that is not understood, for a sentence."""


@dataclass(frozen=True, slots=True)
class Access:
    """Who has what besides SYSTEM and Administrators. `owner` is a foreign owner, empty for SYSTEM, Administrators and
    TrustedInstaller; `writers` and `readers` are SIDs, or entries in parentheses that are not understood. A right of
    any kind makes a reader. TrustedInstaller may be a reader, never a writer."""

    owner: str = ""
    writers: tuple[str, ...] = ()
    readers: tuple[str, ...] = ()

    def complain(self, *, private: bool = False) -> str:
        """Who else owns it or may change it, or, if it is `private`, do anything with it: "is owned by ...", "can be
        changed by ...". Empty if nobody."""
        if self.owner:
            return f"is owned by {self.owner}, not by SYSTEM or Administrators"
        if self.writers:
            return f"can be changed by {', '.join(self.writers)}"
        if private and self.readers:
            return f"can be read by {', '.join(self.readers)}"
        return ""


def judge(sddl: str | None) -> Access:
    """The access that a descriptor gives to strangers. None, where nothing was read, says nothing."""
    return _judge(sddl, _MAY_WRITE, _PLACEHOLDERS)


def judge_as_sshd(sddl: str | None) -> Access:
    """As `judge`, for a program that trusts SYSTEM and Administrators alone: neither TrustedInstaller nor an entry for
    who makes something. Source: PowerShell/openssh-portable contrib/win32/win32compat/w32-sshfileperm.c,
    check_secure_folder_permission."""
    return _judge(sddl, _MAY_READ, frozenset())


def _judge(sddl: str | None, trusted: frozenset[str], placeholders: frozenset[str]) -> Access:
    if sddl is None:
        return Access()
    match = _DESCRIPTOR.fullmatch(sddl)
    if match is None:
        whole = f"({_shorten(sddl)})"
        return Access(_NOBODY, (whole,), (whole,))
    owner = match["owner"] or _NOBODY
    entries = [_EVERYBODY] if match["dacl"] is None else list(_split(match["dacl"]))
    writers = dict.fromkeys(who for entry in entries if (who := _stranger(entry, _WRITES, trusted | placeholders)))
    readers = dict.fromkeys(who for entry in entries if (who := _stranger(entry, ~0, _MAY_READ | placeholders)))
    return Access("" if owner in trusted else owner, tuple(writers), tuple(readers))


ALIASES = {
    "AU": "S-1-5-11",
    "BA": "S-1-5-32-544",
    "BU": "S-1-5-32-545",
    "CO": "S-1-3-0",
    "IU": "S-1-5-4",
    "OW": "S-1-3-4",
    "PU": "S-1-5-32-547",
    "SY": "S-1-5-18",
    "WD": "S-1-1-0",
}
"""SIDs that are the same on each machine, by their names in a descriptor."""


def complain(sddl: str | None, *, private: bool = False) -> str:
    """`Access.complain` of a descriptor."""
    return judge(sddl).complain(private=private)


_NOBODY = "unknown"
_EVERYBODY = "everybody (there is no access list)"


def _stranger(entry: str, bits: int, trusted: frozenset[str]) -> str:
    """The SID to whom an entry gives one of `bits`; empty if it is trusted or gets none. What is not understood is
    returned as it stands."""
    match = _ENTRY.fullmatch(entry)
    if match is None:
        return entry if entry == _EVERYBODY else f"({_shorten(entry)})"
    if match["kind"] == "D" or match["sid"] in trusted:
        return ""
    rights = _mask(match["rights"])
    if rights is None:
        return f"({_shorten(entry)})"
    return match["sid"] if rights & bits else ""


def _mask(text: str) -> int | None:
    """The bits of a right: names, or a number as C reads it; None if it is neither, or has bits of no file."""
    if _NUMBER.fullmatch(text):
        bits = int(text, 8) if text.startswith("0") and text[1:].isdigit() else int(text, 0)
    elif text and len(text) % 2 == 0 and all(text[at : at + 2] in _RIGHTS for at in range(0, len(text), 2)):
        bits = 0
        for at in range(0, len(text), 2):
            bits |= _RIGHTS[text[at : at + 2]]
    else:
        return 0 if not text else None
    return bits if not bits & ~(_WRITES | _READ_AND_RUN) else None


def _split(dacl: str) -> Iterator[str]:
    """What stands in each outer pair of parentheses; a condition has its own inside, and text in quotes. What stands
    outside of them, such as NO_ACCESS_CONTROL, comes as it is."""
    depth, start, quoted = 0, 0, False
    for at, letter in enumerate(dacl):
        if letter == '"' and depth:
            quoted = not quoted
        elif quoted:
            continue
        elif letter == "(":
            if depth == 0:
                if at > start:
                    yield dacl[start:at]
                start = at + 1
            depth += 1
        elif letter == ")" and depth:
            depth -= 1
            if depth == 0:
                yield dacl[start:at]
                start = at + 1
    if start < len(dacl):
        yield dacl[start:]


def _shorten(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."
