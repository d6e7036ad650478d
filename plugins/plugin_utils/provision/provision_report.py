# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What became of each provisioned program, for the task's result."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ..components.layout import Layout
from ..engine import windows_path
from ..engine.batch import Batch
from ..engine.reading import Query, Reading
from ..engine.resources.programs import previous_path
from ..engine.tools import SC
from . import pe_image
from .provision import Task
from .provision_swap import find_leftovers

JOURNAL_LIMIT = 512 * 1024
JOURNAL = "journal"
"""The key of the batch's journal in an answer's state; it never gets into a reading."""

_DID = {"replace": "replaced", "unchanged": "unchanged", "skipped": "skipped"}


def journal_query(layout: Layout, batch_id: str) -> Query:
    """The journal of a batch (docs/protocol.md, section 3)."""
    path = windows_path.join(layout.state_dir, "batches", batch_id, "journal.jsonl")
    return Query(JOURNAL, "file", (("path", path), ("content_limit", JOURNAL_LIMIT)))


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds, by a service's name in lower case. `down`: from the stop order until it ran again (absent if it did not
    run before). `watched`: from then to the last reading."""

    down: Mapping[str, float] = field(default_factory=dict)
    watched: Mapping[str, float] = field(default_factory=dict)


def measure_times(batch: Batch, state: Mapping[str, Any]) -> Times:
    """From the journal's own times."""
    begun: dict[str, datetime] = {}
    up: dict[str, datetime] = {}
    seen: dict[str, datetime] = {}
    for line in _read_journal(state):
        n, event = line.get("n"), line.get("e")
        ops = batch.gate if event == "gate" else batch.ops
        if not isinstance(n, int) or event not in {"intent", "done", "gate"} or n >= len(ops):
            continue
        op, at = ops[n], datetime.fromisoformat(str(line["at"]))
        args = list(op.args.get("args") or ())
        if op.op == "run" and op.args.get("program") == SC and args[:1] == ["stop"] and event == "intent":
            begun.setdefault(str(args[1]).casefold(), at)
        is_up = op.op == "wait" and op.args.get("for") == "service" and op.args.get("state") == "running"
        if is_up and event == "done":
            up.setdefault(str(op.args["name"]).casefold(), at)
        if event == "gate" and (name := str(op.args.get("ends_with") or "").casefold()) in up:
            seen[name] = at
    return Times(
        {name: round((at - begun[name]).total_seconds(), 3) for name, at in up.items() if name in begun},
        {name: round((at - up[name]).total_seconds(), 1) for name, at in seen.items()},
    )


def _read_journal(state: Mapping[str, Any]) -> list[dict[str, Any]]:
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


def build_entries(
    tasks: Sequence[Task],
    *,
    check: bool,
    times: Times,
    transfers: Mapping[str, Mapping[str, Any]],
    reading: Reading,
) -> list[dict[str, Any]]:
    """One entry per item, in the order of the list."""
    return [
        {
            "name": task.item.name,
            "result": _name_result(task, check),
            "destination": task.item.destination,
            "service": task.item.service if task.service is not None else None,
            "sha256": {"before": task.present.get("sha256"), "after": _find_sha256(task)},
            "size": {"before": task.present.get("size"), "after": task.size or task.present.get("size")},
            "version": {
                "wanted": task.item.version or None,
                "before": task.before or None,
                "after": (task.before if task.what in {"unchanged", "skipped"} else task.version) or None,
            },
            "version_mismatch": find_mismatch(task),
            "downtime_s": _find_seconds(times.down, task),
            "watched_s": _find_seconds(times.watched, task),
            "transfer": transfers.get(task.item.name) or _report_no_transfer(task),
            "previous": _previous_program(task, check, reading),
            "left_behind": find_leftovers(task.item.destination, reading),
        }
        for task in tasks
    ]


def _find_seconds(seconds: Mapping[str, float], task: Task) -> float | None:
    return seconds.get(task.item.service.casefold()) if task.what in {"replace", "previous"} else None


def find_mismatch(task: Task) -> bool | None:
    """Whether the program that is there afterwards is of another version than the one asked for; None if no one asked,
    or nothing tells."""
    version = task.before if task.what in {"unchanged", "skipped"} else task.version
    if not task.item.version or not version:
        return None
    return pe_image.compare(task.item.version, version).kind != "same"


def describe_skipped(task: Task) -> str:
    """Why an item was left alone, and what that means for its version."""
    item = task.item
    text = f"{item.name}: {item.destination} is there and overwrite is false: it was left as it is."
    if not item.version:
        return text
    if not task.before:
        return f"{text} Whether it is version {pe_image.strip_v(item.version)} is not known."
    if find_mismatch(task):
        return f"{text} It is version {task.before}, not {pe_image.strip_v(item.version)}."
    return text


def _name_result(task: Task, check: bool) -> str:
    if task.what == "compare":
        return "unknown"
    if task.what == "replace" and task.service is None:
        return "would_copy" if check else "copied"
    word = _DID.get(task.what) or ("went_back" if task.item.previous else "replaced")
    return {"replaced": "would_replace", "went_back": "would_go_back"}.get(word, word) if check else word


def _find_sha256(task: Task) -> str | None:
    return task.present.get("sha256") if task.what in {"unchanged", "skipped"} else task.new or None


def _report_no_transfer(task: Task) -> dict[str, Any] | None:
    """For a build that is on the node already."""
    if task.origin is None or task.origin.build is None or task.what not in {"previous", "unchanged"}:
        return None
    return {"how": "unchanged", "by": None, "why": "the node has this build", "bytes_sent": 0, "seconds": 0.0}


def _previous_program(task: Task, check: bool, reading: Reading) -> str | None:
    path = previous_path(task.item.destination)
    swapped = task.what in {"replace", "previous"} and bool(task.present.get("exists")) and not check
    return path if swapped or reading.file(path).get("exists") else None


def describe_held(entry: Mapping[str, Any]) -> str:
    """What processes still hold of programs that were replaced."""
    return (
        f"{entry['name']}: processes still hold {', '.join(entry['left_behind'])}, replaced before; a later change "
        "removes it."
    )


def build_result(host: str, entries: Sequence[Mapping[str, Any]], seconds: float) -> dict[str, Any]:
    """What the task's result has besides the plan's."""
    return {"provisioners": entries, "summary": summary(host, entries, seconds)}


def summary(host: str, entries: Sequence[Mapping[str, Any]], seconds: float) -> str:
    """For one who watches, a line: what became of each program, what was sent, how long it was down and watched."""
    found = []
    for entry in entries:
        parts = [f"{entry['name']} {entry['result']}"]
        sent = entry["transfer"] or {}
        if sent.get("bytes_sent"):
            parts.append(f"{sent['how']} {sent['bytes_sent'] / 1000:.0f} KB in {sent['seconds']:.1f} s")
        if entry["downtime_s"] is not None:
            parts.append(f"down {entry['downtime_s']:.1f} s")
        if entry["watched_s"] is not None:
            parts.append(f"works since {entry['watched_s']:.0f} s")
        found.append(", ".join(parts))
    return f"{host}: {'; '.join(found)}; {seconds:.1f} s in all"


def report_nothing(calls: int) -> dict[str, Any]:
    """The result of a task without items."""
    told = {"answer": None, "outcome": None, "batch": None, "calls": calls}
    return {"changed": False, "steps": [], "provisioners": [], "summary": "nothing to do", "winkube": told}
