# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where new files wait until they are renamed in: always on the drive that they are for.

A rename cannot cross drives; what Windows does instead is a copy under the real name, half a file if it is cut.
Source: Microsoft, MoveFileEx, MOVEFILE_COPY_ALLOWED. In its new folder a file gets what that hands on (op `move`).
"""

from __future__ import annotations

from . import windows_path
from .batch import Op
from .security import ADMINS_ONLY

FOLDER = ".winkube-staging"


def staging(state_dir: str, destination: str, name: str) -> str:
    """The folder `name` for what shall become `destination`: in the state folder, or beside it on its drive."""
    if destination[:2].casefold() == state_dir[:2].casefold():
        return windows_path.join(state_dir, "staging", name)
    return windows_path.join(windows_path.parent(destination), FOLDER, name)


def make(folder: str) -> tuple[Op, ...]:
    """The folder that `staging` names; outside of the state folder it is one that only administrators can write."""
    ops = [Op("mkdir", {"path": folder}).undone_by(Op("remove", {"path": folder, "recurse": True}))]
    if above := _above(folder):
        closed = Op("mkdir", {"path": above, "sddl": ADMINS_ONLY})
        ops.insert(0, closed.undone_by(Op("remove", {"path": above, "only_if_empty": True})))
    return tuple(ops)


def drop(folder: str) -> tuple[Op, ...]:
    """Take it away with what is left in it."""
    ops = [Op("remove", {"path": folder, "recurse": True, "in_use_ok": True})]
    if above := _above(folder):
        ops.append(Op("remove", {"path": above, "only_if_empty": True}))
    return tuple(ops)


def _above(folder: str) -> str:
    """The folder around it that `make` closes, empty if the state folder is around it."""
    above = windows_path.parent(folder)
    return above if windows_path.name(above) == FOLDER else ""
