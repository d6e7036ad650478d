"""What each implementation provides of what a case may need (the marks of README.md)."""

from __future__ import annotations

WINDOWS = frozenset({"windows", "registry", "services", "task", "links", "not-on-wine", "letter-case"})
"""A Windows machine, with an administrator."""
SIMULATED = (WINDOWS | {"web", "ipv6", "hns", "rename", "addresses", "drive", "mounted", "nssm"}) - {"shell"}
HERE = frozenset({"shell", "web", "ipv6"})
"""A PowerShell on this machine; ipv6 if the machine has it."""
LINUX = HERE | {"linux", "links", "letter-case"}
WINE = HERE | {"windows", "registry", "mounted", "drive"}
HOST = WINDOWS | {"shell"}
"""A Windows machine of an inventory."""
ARCHIVE = HOST | {"web", "drive"}
"""What is carried to a Windows machine, with its own server and a drive that subst.exe makes of a folder."""
PLACES = {
    "the simulated node, always": SIMULATED,
    "PowerShell 7 on Linux": LINUX,
    "PowerShell 7 for Windows on Wine 10": WINE,
    "a Windows machine of an inventory, 5.1 or 7": HOST,
    "the archive on a Windows machine, 5.1 and 7": ARCHIVE,
}
ALL = frozenset().union(*PLACES.values())
