# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits for logs that nothing else keeps small: nssm rotates but deletes nothing, containerd does neither.

AKS has a daily task for the same (AgentBaker staging/cse/windows/provisioningscripts/windowslogscleanup.ps1: it keeps
the newest five). Ours starts the runner each hour; the runner follows logs.json (docs/protocol.md, section 7).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ..engine import windows_path
from ..engine.batch import Op, as_base64
from ..engine.reading import Query, Reading, file_key, file_query
from ..engine.resource import Change, Refused
from ..engine.resources.file import write_ops
from . import runner_task
from .layout import Layout
from .options import option

TASK = r"\winkube\logs"
ABOUT = "Keeps the logs of Kubernetes' services on this machine within limits, for winkube.node."
SINCE, EVERY = "2026-01-01T00:00:00Z", "PT1H"
SPARE = 64 * 1024
"""Under nssm a log exceeds its limit by what is written at once; then nssm rotates it, and it must not be emptied."""
READ_LIMIT = 16 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLimitOptions:
    """Limits for logs of services that nothing else limits."""

    max_mb: int = option(
        "Megabytes at which containerd's log is copied aside and emptied.", default=10, variable="winkube_log_max_mb"
    )
    keep_files: int = option(
        "The number of older files that stay of each log. V(0) removes the task, and no file is deleted.",
        default=10,
        variable="winkube_log_keep_files",
    )
    keep_days: int = option("Days after which older files are removed.", default=14, variable="winkube_log_keep_days")


def limits(wanted: LogLimitOptions) -> LogLimitOptions | None:
    """The same; None if `keep_files` is 0: then older files are not ours. Refused for invalid numbers."""
    if wanted.max_mb < 1 or wanted.keep_days < 1 or wanted.keep_files < 0:
        raise Refused(
            f"log: max_mb is {wanted.max_mb}, keep_files {wanted.keep_files} and keep_days {wanted.keep_days}; max_mb "
            "and keep_days have to be 1 or more, keep_files 0 (nothing is removed) or more."
        )
    return wanted if wanted.keep_files else None


@dataclass(frozen=True, slots=True)
class LogLimits:
    """The services' `logs`, and the one that containerd holds open, stay within `limits`; None removes the task.
    `backup` is the batch's folder that keeps the old files for the undo."""

    layout: Layout
    limits: LogLimitOptions | None
    logs: tuple[str, ...]
    backup: str

    @property
    def label(self) -> str:
        return "limits of logs"

    def reads(self) -> tuple[Query, ...]:
        """The present logs.json, and the task."""
        return (file_query(self._path("logs.json"), content_limit=READ_LIMIT), _task())

    def change(self, reading: Reading) -> Change | None:
        """Write logs.json and make the task, or remove both."""
        present = reading.text(self._path("logs.json"))
        there = reading.parts.get(_task().key) or {}
        task = bool(there.get("exists"))
        wanted = self._build_desired_state()
        if wanted is None:
            return self._away(present, task) if present is not None or task else None
        if present is not None and _document(present) == wanted and task and there.get("enabled"):
            return None
        text = json.dumps(wanted, indent=1)
        made = runner_task.create(TASK, self._path("logs.xml")).with_undo(
            *(() if task else (runner_task.delete(TASK),))
        )
        return Change(
            text=f"limit logs of services to {self._words()}, by the task {TASK}",
            before=present or "none\n",
            after=f"{text}\n",
            prepare=(
                *write_ops(self._path("logs.json"), text.encode(), self.backup, there=present is not None),
                self._xml(stays=task),
                made,
            ),
            predicted={
                _task().key: {"exists": True, "enabled": True, "state": "ready"},
                file_key(self._path("logs.json")): {
                    "exists": True,
                    "kind": "file",
                    "content": as_base64(text.encode()),
                },
            },
            state=self.reads(),
        )

    def _away(self, present: str | None, task: bool) -> Change:
        ops: list[Op] = []
        if task:
            ops.append(runner_task.delete(TASK).with_undo(runner_task.create(TASK, self._path("logs.xml"))))
        if present is not None:
            content = as_base64(present.encode())
            back = Op("write", {"path": self._path("logs.json"), "content": content})
            ops.append(Op("remove", {"path": self._path("logs.json")}).with_undo(back))
        return Change(
            text=f"remove the task {TASK}, which limits logs",
            before=present or "the task alone\n",
            after="none\n",
            prepare=tuple(ops),
            predicted={_task().key: {"exists": False}, file_key(self._path("logs.json")): {"exists": False}},
            state=self.reads(),
        )

    def _build_desired_state(self) -> dict[str, Any] | None:
        if self.limits is None:
            return None
        found = self.limits
        each = {
            "keep_files": found.keep_files,
            "keep_days": found.keep_days,
            "max_bytes": found.max_mb * 1024 * 1024 + SPARE,
        }
        own = self.layout.containerd_log
        logs = [{"path": own, "empty": True, **each}]
        logs += [{"path": path, "empty": False, **each} for path in self.logs if not windows_path.is_same(path, own)]
        return {"schema": 1, "logs": logs}

    def _words(self) -> str:
        found = self.limits or LogLimitOptions()
        return f"{found.max_mb} MB each, {found.keep_files} older files and {found.keep_days} days"

    def _xml(self, *, stays: bool) -> Op:
        """The task's XML, the same for each node with this state folder. It stays if the task existed before."""
        path, xml = self._path("logs.xml"), runner_task.xml(self.layout.state_dir, ABOUT, since=SINCE, every=EVERY)
        write = Op("write", {"path": path, "content": as_base64(xml)})
        return write if stays else write.with_undo(Op("remove", {"path": path}))

    def _path(self, name: str) -> str:
        return windows_path.join(self.layout.state_dir, name)


def _task() -> Query:
    return Query("task:logs", "task", (("path", TASK),))


def _document(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
