# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of ours in a node's state folder, as kept.py and expiry.py read and write them."""

from __future__ import annotations

import base64
import json
from typing import Any

from ..engine import windows_path
from ..engine.batch import Op, as_base64
from ..engine.reading import Query, Reading

LIMIT = 512 * 1024
"""Bytes up to which one is read: it may hold a whole config.toml."""


def document(reading: Reading, query: Query) -> dict[str, Any] | None:
    """The JSON object that was read; None if there is no file, or it holds something else."""
    found = reading.parts.get(query.key) or {}
    try:
        parsed = json.loads(base64.b64decode(found.get("content") or ""))
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None


def write(path: str, data: bytes, backup: str, *, there: bool) -> Op:
    """Writes a file, with its undo.

    Args:
        path: The file.
        data: What it gets; it is shown nowhere.
        backup: The batch's folder for what it replaces.
        there: Whether there is such a file, which an undo brings back.
    """
    kept = windows_path.join(backup, windows_path.name(path))
    args = {"path": path, "content": as_base64(data)} | ({"backup": kept} if there else {})
    undo = Op("restore", {"path": path, "backup": kept}) if there else Op("remove", {"path": path})
    return Op("write", args, secrets=("content",)).with_undo(undo)


def put_aside(path: str, backup: str) -> Op:
    """Moves a file into the batch's folder, from where an undo brings it back."""
    kept = windows_path.join(backup, windows_path.name(path))
    return Op("move", {"from": path, "to": kept}).with_undo(Op("move", {"from": kept, "to": path}))
