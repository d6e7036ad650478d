# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of a machine before it becomes a node, besides versions: rights, page file, secrets on disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...engine import security, windows_path
from ...engine.reading import Query, Reading, file_key, file_query
from ...facts.windows import GMSA_ENOUGH_FROM, gmsa_floor
from ...facts.windows_revisions import BadRevision, find_bad, next_good
from ..layout import Layout
from .node_fit import Machine

MEMORY = r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management"
PAGE_FILES = Query("registry:page-files", "registry", (("path", MEMORY), ("name", "PagingFiles")))
"""A multi_string of `<path> <initial MB> <maximum MB>`; without numbers or with `0 0` Windows chooses the size.

Source: learn.microsoft.com, Win32_PageFileSetting (InitialSize, MaximumSize: 0 0 is managed by the system).
"""


def reads(layout: Layout) -> tuple[Query, ...]:
    """Everything that the checks read."""
    return (PAGE_FILES, _encryption_query(layout), *(file_query(path, sddl=True) for path in _secret_folders(layout)))


def rights(system: Mapping[str, Any]) -> tuple[str, ...]:
    """A complaint unless the user is an elevated administrator: folders' owners, services and the state folder
    require it."""
    if system.get("elevated", True):
        return ()
    return (
        "The connection's user is not an administrator on this host, or has no elevated session: add it to "
        "Administrators; with SSH or WinRM, the user Administrator or a domain account is elevated at once.",
    )


def restart(system: Mapping[str, Any]) -> tuple[str, ...]:
    """A warning about a pending restart that others caused, for a run that does not restart the machine anyway."""
    if not system.get("reboot_pending"):
        return ()
    return (
        "Windows already waits for a restart, for an update, a feature or a new name. This run does not restart it for "
        "that alone.",
    )


def bad_revision(machine: Machine, own: tuple[BadRevision, ...], mode: str) -> tuple[str, ...]:
    """Known defects of this revision of Windows, one sentence, with the update that has none of them."""
    known = find_bad(machine.build, machine.revision, own, mode)
    if not known:
        return ()
    good = next_good(machine.build, machine.revision, own, mode)
    todo = f"Update Windows to {good.name} or later." if good else "No known update fixes all of it."
    return (f"{machine.name} is known to be bad: {' '.join(each.summary for each in known)} {todo}",)


def page_file(reading: Reading, wanted_mb: int) -> tuple[str, ...]:
    """Complaints about the page file. Windows has no OOM killer: memory that does not fit goes to the page file, so
    a node needs one."""
    found = reading.parts.get(PAGE_FILES.key) or {}
    value = found.get("value")
    if not found.get("exists") or not isinstance(value, list):
        return ()
    files = [entry for entry in value if str(entry).strip()]
    if not files:
        return (
            "This host has no page file. Windows needs one as a Kubernetes node: it backs the memory promised to pods; "
            "without it programs fail where Linux would kill one.",
        )
    limits = [_largest_mb(str(entry)) for entry in files]
    if 0 in limits or sum(limits) >= wanted_mb:
        return ()
    return (
        f"The page files of this host may grow to {sum(limits)} MB, which is less than winkube_page_file_min_mb "
        f"{wanted_mb}.",
    )


def _largest_mb(entry: str) -> int:
    r"""The maximum in `C:\pagefile.sys 1024 4096`; 0 if Windows chooses."""
    words = entry.split()
    return int(words[-1]) if len(words) >= 3 and words[-1].isdigit() else 0


def are_secret_folders_closed(layout: Layout, reading: Reading) -> bool:
    """Whether the folders of secrets exist and nobody else can read them, so that only the disk's encryption is
    open."""
    found = [reading.parts.get(file_key(folder)) or {} for folder in _secret_folders(layout)]
    return all(each.get("exists") and not _complain(each) for each in found)


def clear_text(layout: Layout, reading: Reading) -> str:
    """A sentence if pods' secrets lie in clear text on the disk (there is no tmpfs); empty if the volume is
    encrypted and the folders are closed."""
    volume = _volume(layout)
    state = (reading.parts.get(_encryption_query(layout).key) or {}).get("state", "unknown")
    missing = []
    if state != "on":
        is_off = "is not encrypted" if state == "off" else "is not known to be encrypted (BitLocker did not say)"
        missing.append(f"the volume {volume} {is_off}")
    for folder in _secret_folders(layout):
        if complaint := _complain(reading.parts.get(file_key(folder)) or {}):
            missing.append(f"{folder} {complaint}")
    if not missing:
        return ""
    return f"Secrets of pods are written to {layout.kubelet_dir} in clear text, and {'; '.join(missing)}."


def _complain(found: Mapping[str, Any]) -> str:
    return security.complain(found.get("sddl"), private=True)


def _encryption_query(layout: Layout) -> Query:
    volume = _volume(layout)
    return Query(f"encryption:{volume.casefold()}", "encryption", (("volume", volume),))


def _volume(layout: Layout) -> str:
    return layout.kubelet_dir[:2].upper()


def _secret_folders(layout: Layout) -> tuple[str, ...]:
    return (layout.kubernetes_dir, windows_path.join(layout.kubelet_dir, "pki"))


# Whether containers on this machine can use a group Managed Service Account (gMSA): the required Windows. Active
# Directory decides which accounts a node may use.


def gmsa_warnings(machine: Machine) -> Iterator[str]:
    """Why containerd's containers cannot reach network shares with a gMSA; one sentence each."""
    floor = gmsa_floor(machine.build)
    if floor is not None and machine.revision < floor.revision:
        yield (
            f"winkube_gmsa is true, but with containerd a gMSA cannot reach network shares on {machine.name}: it needs "
            f"{floor.update} or a later update, 10.0.{floor.build}.{floor.revision}. Update Windows."
        )
    elif floor is None and machine.build < GMSA_ENOUGH_FROM:
        yield (
            f"winkube_gmsa is true, and whether containers of containerd can reach network shares with a gMSA on "
            f"{machine.name} is not known here."
        )
