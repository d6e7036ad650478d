# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What became of each provisioned program, for the task's result."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from ..components.layout import Layout
from ..engine import windows_path
from ..engine.batch import Batch
from ..engine.reading import Query, Reading
from ..engine.tools import SC
from . import version_output
from .provision import Task
from .provision_swap import left_behind, previous_of

JOURNAL_LIMIT = 512 * 1024
JOURNAL = "journal"
"""The key of the batch's journal in an answer's state; it never gets into a reading."""

_DID = {"replace": "replaced", "unchanged": "unchanged", "skipped": "skipped"}


def journal_query(layout: Layout, batch_id: str) -> Query:
    """The journal of a batch (docs/protocol.md, section 3)."""
    path = windows_path.join(layout.state_dir, "batches", batch_id, "journal.jsonl")
    return Query(JOURNAL, "file", (("path", path), ("content_limit", JOURNAL_LIMIT)))


def downtimes(batch: Batch, state: Mapping[str, Any]) -> dict[str, float]:
    """Seconds from the order to stop each service until it ran again, by its name in lower case, from the journal's own
    times; nothing for a service that did not run before."""
    begun: dict[str, datetime] = {}
    found: dict[str, float] = {}
    for line in _lines(state):
        n = line.get("n")
        if not isinstance(n, int) or line.get("e") not in {"intent", "done"} or n >= len(batch.ops):
            continue
        op, at = batch.ops[n], datetime.fromisoformat(str(line["at"]))
        args = list(op.args.get("args") or ())
        if op.op == "run" and op.args.get("program") == SC and args[:1] == ["stop"] and line["e"] == "intent":
            begun.setdefault(str(args[1]).casefold(), at)
        is_up = op.op == "wait" and op.args.get("for") == "service" and op.args.get("state") == "running"
        name = str(op.args.get("name") or "").casefold()
        if is_up and line["e"] == "done" and name in begun and name not in found:
            found[name] = round((at - begun[name]).total_seconds(), 3)
    return found


def _lines(state: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = (state.get(JOURNAL) or {}).get("content")
    if not content:
        return []
    found = []
    for row in base64.b64decode(content).decode("utf-8", errors="replace").splitlines():
        try:
            line = json.loads(row)
        except ValueError:  # the line that a power loss cut
            continue
        if isinstance(line, dict):
            found.append(line)
    return found


def items(
    tasks: Sequence[Task],
    *,
    check: bool,
    downtime: Mapping[str, float],
    transfers: Mapping[str, Mapping[str, Any]],
    reading: Reading,
) -> list[dict[str, Any]]:
    """One entry per item, in the order of the list."""
    return [
        {
            "name": task.item.name,
            "result": _result(task, check),
            "destination": task.item.destination,
            "service": task.item.service if task.service is not None else None,
            "sha256": {"before": task.present.get("sha256"), "after": _after(task)},
            "size": {"before": task.present.get("size"), "after": task.size or task.present.get("size")},
            "version": {
                "wanted": task.item.version or None,
                "before": task.before or None,
                "after": (task.before if task.what in {"unchanged", "skipped"} else task.version) or None,
            },
            "version_mismatch": mismatch(task),
            "downtime_s": downtime.get(task.item.service.casefold()) if task.what in {"replace", "previous"} else None,
            "transfer": transfers.get(task.item.name) or _no_transfer(task),
            "previous": _kept(task, check, reading),
            "left_behind": left_behind(task.item.destination, reading),
        }
        for task in tasks
    ]


def mismatch(task: Task) -> bool | None:
    """Whether the program that is there afterwards is of another version than the one asked for; None if nobody asked,
    or nothing tells."""
    version = task.before if task.what in {"unchanged", "skipped"} else task.version
    if not task.item.version or not version:
        return None
    return version_output.compare(task.item.version, version).kind != "same"


def skipped_sentence(task: Task) -> str:
    """Why an item was left alone, and what that means for its version."""
    item = task.item
    text = f"{item.name}: {item.destination} is there and overwrite is false: it was left as it is."
    if not item.version:
        return text
    if not task.before:
        return f"{text} Whether it is version {version_output.plain(item.version)} is not known."
    if mismatch(task):
        return f"{text} It is version {task.before}, not {version_output.plain(item.version)}."
    return text


def _result(task: Task, check: bool) -> str:
    if task.what == "compare":
        return "unknown"
    if task.what == "replace" and task.service is None:
        return "would_copy" if check else "copied"
    word = _DID.get(task.what) or ("went_back" if task.item.previous else "replaced")
    return {"replaced": "would_replace", "went_back": "would_go_back"}.get(word, word) if check else word


def _after(task: Task) -> str | None:
    return task.present.get("sha256") if task.what in {"unchanged", "skipped"} else task.new or None


def _no_transfer(task: Task) -> dict[str, Any] | None:
    """For a build that is on the node already."""
    if task.origin is None or task.origin.build is None or task.what not in {"previous", "unchanged"}:
        return None
    return {"how": "unchanged", "by": None, "why": "the node has this build", "bytes_sent": 0, "seconds": 0.0}


def _kept(task: Task, check: bool, reading: Reading) -> str | None:
    path = previous_of(task.item.destination)
    swapped = task.what in {"replace", "previous"} and bool(task.present.get("exists")) and not check
    return path if swapped or reading.file(path).get("exists") else None


def held_sentence(entry: Mapping[str, Any]) -> str:
    """What processes still hold of programs that were replaced."""
    return (
        f"{entry['name']}: processes still hold {', '.join(entry['left_behind'])}, replaced before; a later change "
        "removes it."
    )
