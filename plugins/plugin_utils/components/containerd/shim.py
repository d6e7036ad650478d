# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shim that runs pods. containerd takes the first of its name in Path, and the one beside containerd.exe only if
Path has none. A release is tested only with its own shim.

Source: containerd v2.3.7 core/runtime/v2/shim_manager.go (v1.7.35 and v1.6.36 runtime/v2/manager.go),
resolveRuntimePath: exec.LookPath, then the folder of os.Executable.
"""

from __future__ import annotations

from ...engine import windows_path
from ...engine.reading import Query, Reading, file_key, file_query
from ...facts.containerd import SHIM
from ..layout import Layout

ON_PATH = Query("on_path:shim", "on_path", (("name", SHIM),))

REMEDY = (
    "Remove that file, or take its folder out of the machine's Path and restart the machine: services see the Path of "
    "its last start."
)


def reads(layout: Layout) -> tuple[Query, ...]:
    """Every shim on Path, and our own."""
    return (ON_PATH, file_query(find_own(layout), sha256=True))


def find_own(layout: Layout) -> str:
    """The path of the shim beside containerd.exe."""
    return windows_path.join(layout.containerd_bin_dir, SHIM)


def stranger(layout: Layout, reading: Reading, *, leaving: str = "", comes: bool = False) -> str:
    """The path of another shim that containerd would use; empty if it uses its own, one with the same bytes, or has
    none (`comes`: it is about to get one). Shims in the folder `leaving` do not count."""
    found = reading.parts.get(ON_PATH.key)
    present = reading.parts.get(file_key(find_own(layout))) or {}
    own_hash = present.get("sha256")
    if not (present.get("exists") or comes):
        return ""
    for each in found if isinstance(found, list) else ():
        path = str(each["path"])
        if windows_path.is_same(path, find_own(layout)) or (own_hash and each.get("sha256") == own_hash):
            return ""
        if not (leaving and windows_path.is_same(windows_path.parent(path), leaving)):
            return path
    return ""


def sentence(layout: Layout, path: str) -> str:
    """What is wrong with the shim at `path`."""
    return (
        f"containerd runs pods by the first {SHIM} in the machine's Path, which is {path}, and not by its own in "
        f"{layout.containerd_bin_dir}."
    )
