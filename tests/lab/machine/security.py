"""Owners and access lists of files, as SDDL, with Windows' inheritance from folder to file."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, replace

# Source: Microsoft, "SID Strings" and "Well-known SIDs".
ALIASES: dict[str, str] = {
    "SY": "S-1-5-18",
    "BA": "S-1-5-32-544",
    "BU": "S-1-5-32-545",
    "AU": "S-1-5-11",
    "WD": "S-1-1-0",
    "CO": "S-1-3-0",
    "LS": "S-1-5-19",
    "NS": "S-1-5-20",
    "BG": "S-1-5-32-546",
}
_BY_SID = {sid: alias for alias, sid in ALIASES.items()}
_RIGHTS = {"0x1f01ff": "FA", "0x120089": "FR", "0x120116": "FW", "0x1200a0": "FX"}
_ACE = re.compile(r"\(([^()]*)\)")
_SDDL = re.compile(
    r"^(?:O:(?P<owner>[A-Z]{2}|S-[0-9-]+))?(?:G:(?:[A-Z]{2}|S-[0-9-]+))?(?:D:(?P<flags>[A-Z]*)(?P<aces>(?:\([^()]*\))*))?$"
)


def sid_of(name: str) -> str:
    """`SY` or a SID -> the SID."""
    return ALIASES.get(name, name)


def short_sid(sid: str) -> str:
    """As SDDL prints it: the alias if there is one."""
    return _BY_SID.get(sid, sid)


@dataclass(frozen=True)
class Ace:
    """kind `A` (allow) or `D` (deny); flags a set of `OI CI IO NP ID`; rights as SDDL prints them."""

    kind: str
    flags: frozenset[str]
    rights: str
    sid: str

    @property
    def inherited(self) -> bool:
        return "ID" in self.flags

    def text(self) -> str:
        flags = "".join(flag for flag in ("OI", "CI", "NP", "IO", "ID") if flag in self.flags)
        return f"({self.kind};{flags};{self.rights};;;{short_sid(self.sid)})"


@dataclass(frozen=True)
class Security:
    owner: str
    protected: bool = False
    aces: tuple[Ace, ...] = ()

    def sddl(self) -> str:
        """Owner and access list, as `GetSecurityDescriptorSddlForm("Owner, Access")` gives them."""
        return f"O:{short_sid(self.owner)}D:{'P' if self.protected else ''}AI{''.join(ace.text() for ace in self.aces)}"

    def inheriting(self, parent: Security | None, directory: bool) -> Security:
        """The same with its inherited entries taken anew from `parent`."""
        own = tuple(ace for ace in self.aces if not ace.inherited)
        if self.protected or parent is None:
            return replace(self, aces=own)
        return replace(self, aces=own + inherited(parent, directory))


def _ace(text: str) -> Ace:
    fields = text.split(";")
    if len(fields) != 6 or fields[0] not in {"A", "D"} or len(fields[1]) % 2:
        raise ValueError(f"not an access control entry: ({text})")
    flags = frozenset(fields[1][i : i + 2] for i in range(0, len(fields[1]), 2))
    return Ace(fields[0], flags, _RIGHTS.get(fields[2].lower(), fields[2]), sid_of(fields[5]))


@functools.lru_cache(maxsize=1024)
def parse_sddl(text: str) -> tuple[str | None, bool, tuple[Ace, ...] | None]:
    """SDDL -> owner's SID (None: not said), protected, explicit and inherited entries (None: no access list said)."""
    found = _SDDL.match(text)
    if not found:
        raise ValueError(f"not an SDDL string: {text!r}")
    owner = sid_of(found["owner"]) if found["owner"] else None
    if found["aces"] is None:
        return owner, False, None
    flags = found["flags"] or ""
    return owner, flags.startswith("P"), tuple(_ace(item) for item in _ACE.findall(found["aces"]))


@functools.lru_cache(maxsize=1024)
def inherited(parent: Security, directory: bool) -> tuple[Ace, ...]:
    """The entries that a new child of `parent` gets."""
    result: list[Ace] = []
    for ace in parent.aces:
        objects, containers = "OI" in ace.flags, "CI" in ace.flags
        if not directory:
            if objects:
                result.append(replace(ace, flags=frozenset({"ID"})))
            continue
        if "NP" in ace.flags:
            if containers:
                result.append(replace(ace, flags=frozenset({"ID"})))
        elif containers:
            result.append(replace(ace, flags=(ace.flags | {"ID"}) - {"IO"}))
        elif objects:
            result.append(replace(ace, flags=ace.flags | {"ID", "IO"}))
    return tuple(result)


def applied(current: Security, sddl: str, parent: Security | None, directory: bool) -> Security:
    """What a file's security is after `sddl` has been set on it (owner and access list, those that are said)."""
    owner, protected, aces = parse_sddl(sddl)
    result = current if owner is None else replace(current, owner=owner)
    if aces is None:
        return result
    own = tuple(ace for ace in aces if not ace.inherited)
    return replace(result, protected=protected, aces=own).inheriting(parent, directory)
