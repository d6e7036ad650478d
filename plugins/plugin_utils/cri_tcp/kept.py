# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps the config.toml from before the port was opened on the node. Closing restores it byte for byte, unless the file
has changed since."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from typing import Any

from ..components.layout import Layout
from ..engine import windows_path
from ..engine.batch import Op, as_base64
from ..engine.reading import CONFIDENTIAL, Query, Reading
from ..engine.resource import Change
from ..engine.resources.file import write_ops
from ..engine.secret import Secret
from .edit import Listener, edit

NAME = "cri-tcp-before.json"
LIMIT = 512 * 1024
"""Read limit in bytes for our files in the state folder, which may hold a whole config.toml."""


def document(reading: Reading, query: Query) -> dict[str, Any] | None:
    """The JSON object in one of our files; None if the file is missing or holds anything else."""
    found = reading.parts.get(query.key) or {}
    try:
        parsed = json.loads(base64.b64decode(found.get("content") or ""))
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None


def query(layout: Layout) -> Query:
    """Confidential, so kept out of facts: config.toml may hold secrets such as a registry password."""
    path = windows_path.join(layout.state_dir, NAME)
    return Query(f"{CONFIDENTIAL}cri-tcp-before", "file", (("path", path), ("content_limit", LIMIT)))


def before(layout: Layout, reading: Reading) -> str | None:
    """The text from before the port was opened; None if none is kept or the file has changed since."""
    found = document(reading, query(layout))
    present = reading.file(layout.containerd_config).get("sha256")
    if found is None or not present or found.get("opened") != present:
        return None
    try:
        return base64.b64decode(str(found.get("before"))).decode("utf-8")
    except ValueError:
        return None


def is_closed(text: str) -> bool:
    """Whether closing would change nothing in the file."""
    return edit(text, None) == text


@dataclass(frozen=True, slots=True)
class Kept:
    """`opened` is the config.toml with the open port; None closes it."""

    layout: Layout
    backup: str
    opened: str | None

    @property
    def label(self) -> str:
        return "config.toml from before"

    def reads(self) -> tuple[Query, ...]:
        """The kept file."""
        return (query(self.layout),)

    def change(self, reading: Reading) -> Change | None:
        """Keep the present file, keep the earlier one, or forget it."""
        there = document(reading, query(self.layout))
        wanted = self._desired_state(reading)
        if wanted == there:
            return None
        asked, path = query(self.layout), windows_path.join(self.layout.state_dir, NAME)
        if wanted is None:
            removed = {asked.key: {"exists": False, "kind": None}}
            return Change(text="", finish=(Op("remove", {"path": path}),), predicted=removed, state=(asked,))
        data = json.dumps(wanted).encode()
        left = {"exists": True, "kind": "file", "size": len(data), "content": as_base64(data)}
        return Change(
            text="",
            prepare=write_ops(path, Secret(data), self.backup, there=there is not None),
            predicted={asked.key: left},
            state=(asked,),
        )

    def _desired_state(self, reading: Reading) -> dict[str, Any] | None:
        if self.opened is None:
            return None
        config = reading.file(self.layout.containerd_config)
        present = reading.text(self.layout.containerd_config)
        there = document(reading, query(self.layout))
        valid = there is not None and there.get("opened") == config.get("sha256")
        if present == self.opened:
            return there if valid else None
        content = (there or {}).get("before") if valid else None
        if content is None and present is not None and is_closed(present):
            content = config.get("content")
        if content is None:
            return None
        opened = hashlib.sha256(self.opened.encode()).hexdigest()
        return {"schema": 1, "opened": opened, "before": content}


def close(text: str, listener: Listener | None, layout: Layout, reading: Reading, made: tuple[str, ...]) -> str:
    """The file with the port opened or closed. `text` is the present one."""
    if listener is None and (kept := before(layout, reading)) is not None:
        return kept
    return edit(text, listener, layout.containerd_config, made)
