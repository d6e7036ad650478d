# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
r"""Folders that services run programs from, with every folder above them.

On a fresh Windows any user may make folders in `C:\`, and rename those that inherit from there: whoever may rename
`C:\run` puts another `C:\run\flannel` in the place of the protected one. So it takes the whole way up to the drive.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..engine import security, windows_path
from ..engine.resources.directory import Directory, with_parents

_WINDOWS_OWN = frozenset({"program files", "program files (x86)", "programdata", "users", "windows"})
"""Folders right below the drive whose access lists Windows itself has set, and that are never touched."""


def guarded(*paths: str) -> tuple[Directory, ...]:
    """`paths` and what is above them: only administrators write there. Below Windows' own folders the access list is
    what those hand down."""
    everything = [path for given in paths for path in _upwards(given)]
    return with_parents(*(_guarded(path) for path in everything))


def guarded_always(*paths: str) -> tuple[Directory, ...]:
    """As `guarded`, and `paths` themselves have an access list of their own wherever they lie."""
    above = [path for given in paths for path in _upwards(windows_path.parent(given))]
    own = (Directory(path, sddl=security.ADMINS_WRITE) for path in paths)
    return with_parents(*(_guarded(path) for path in above), *own)


def _guarded(path: str) -> Directory:
    return Directory(path, sddl=None if _is_windows_own(path) else security.ADMINS_WRITE)


def _is_windows_own(path: str) -> bool:
    return windows_path.key(path).split("\\")[1] in _WINDOWS_OWN


def _upwards(path: str) -> Iterator[str]:
    """`path` and what is above it, without the drive."""
    while windows_path.parent(path) != path:
        yield path
        path = windows_path.parent(path)
