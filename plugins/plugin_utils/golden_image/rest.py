# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two batches before sysprep. The first stops services and can be rolled back. The second deletes the collection's
notes about this machine and cannot. After an interruption the next run continues.

The state folder keeps the runner, the receipts, and the second batch's journal, which a receipt marks as the image's
own.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from ..components import registry
from ..components.layout import Layout
from ..engine import windows_path
from ..engine.batch import Op
from ..engine.reading import Query, Reading, file_key, file_query, merge_queries, service_key, services_query
from ..engine.resource import Change
from ..engine.resources.programs import RECEIPT_LIMIT
from ..engine.resources.service import RUNNING, STOPPED
from ..repair import owned, stopping
from .findings import entries, receipt_folder

NAME = "golden_image"

NOTES = ("category.json", "ip.json", "networks.json", "expired.json", "feature-containers.json")
"""Records of batches in the state folder about this machine (docs/protocol.md, section 4)."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """None of our services runs."""

    layout: Layout

    @property
    def label(self) -> str:
        return "services"

    def reads(self) -> tuple[Query, ...]:
        """The services."""
        return (services_query(registry.stop_order(self.layout)),)

    def change(self, reading: Reading) -> Change | None:
        """Stop them; the undo starts them again."""
        running = stopping.list_active(registry.stop_order(self.layout), reading)
        if not running:
            return None
        return Change(
            text=f"stop {', '.join(running)}",
            before="".join(f"service {name}: {RUNNING}\n" for name in running),
            after="".join(f"service {name}: {STOPPED}\n" for name in running),
            commit=stopping.stop(registry.stop_order(self.layout), reading),
            predicted={service_key(name): {**(reading.service(name) or {}), "state": STOPPED} for name in running},
            state=merge_queries((*self.reads(), *Cleared(self.layout, "").reads())),
        )


@dataclass(frozen=True, slots=True)
class Cleared:
    """The state folder and the logs tell of no machine. `mark` is the id of the batch."""

    layout: Layout
    mark: str

    @property
    def label(self) -> str:
        return "the past"

    def reads(self) -> tuple[Query, ...]:
        """What lies in the folders."""
        folders = (self.layout.state_dir, self._batches, self.layout.log_dir, receipt_folder(self.layout))
        return (
            *(file_query(folder, entries=True) for folder in folders),
            file_query(self.layout.containerd_log),
            *(file_query(path, content_limit=RECEIPT_LIMIT) for path in (self._receipt, self.layout.changes)),
        )

    def change(self, reading: Reading) -> Change | None:
        """Remove them. No undo."""
        past = (*self._journals(reading), *self._notes(reading), *self._logs(reading))
        if not past:
            return None
        note = {"path": self._receipt, "source": {"journal": self.mark}, "files": []}
        return Change(
            text=f"remove {len(past)} journals, notes and logs of this machine",
            before="".join(f"{path}\n" for path in past),
            commit=tuple(Op("remove", {"path": path, "recurse": True, "in_use_ok": True}) for path in past),
            finish=(Op("record", note),),
            predicted={file_key(path): {"exists": False} for path in past},
            state=self.reads(),
        )

    @property
    def _batches(self) -> str:
        return windows_path.join(self.layout.state_dir, "batches")

    @property
    def _receipt(self) -> str:
        return windows_path.join(receipt_folder(self.layout), f"{NAME}.json")

    def _journals(self, reading: Reading) -> tuple[str, ...]:
        own = self._find_own_journal(reading)
        return tuple(windows_path.join(self._batches, each) for each in entries(self._batches, reading) if each != own)

    def _find_own_journal(self, reading: Reading) -> str:
        """The journal of the batch that stopped this machine for an image before."""
        text = reading.text(self._receipt) if file_key(self._receipt) in reading.parts else None
        try:
            return str(json.loads(text or "{}").get("source", {}).get("journal") or "")
        except (ValueError, AttributeError, RecursionError):
            return ""

    def _notes(self, reading: Reading) -> tuple[str, ...]:
        folder = self.layout.state_dir
        found = tuple(windows_path.join(folder, each) for each in entries(folder, reading) if each in NOTES)
        return (*found, *((self.layout.changes,) if self._changes(reading) - {NAME} else ()))

    def _changes(self, reading: Reading) -> set[str]:
        """The components with a record of who changed them: a node would take it for its own past."""
        path = self.layout.changes
        text = reading.text(path) if file_key(path) in reading.parts else None
        try:
            return set(json.loads(text or "{}").get("components") or ())
        except (ValueError, AttributeError, TypeError, RecursionError):
            return {path}

    def _logs(self, reading: Reading) -> tuple[str, ...]:
        log = self.layout.containerd_log
        return (*((log,) if owned.is_there(log, reading) else ()), *owned.logs(self.layout, reading))
