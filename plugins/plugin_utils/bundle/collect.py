# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is fetched from a node and put into its bundle: files, what the probe reads, what programs say.

A few at a time, so that each answer fits; what cannot be had is named in the bundle and holds up nothing else.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..components import networks
from ..engine import windows_path
from ..engine.batch import Op
from ..engine.reading import Query, Reading, file_key, file_query
from ..node.link import NodeError
from .contents import AT_ONCE, HNS_OBJECTS, Command, sized
from .redact import name_in_bundle
from .store import HEAD, LIMIT, TAIL, Store, decoded, joined, whole_lines

STATE = {"network/adapters": networks.ADAPTERS, "system/machine": "system"}
ONE_ANSWER = 600_000
"""Bytes of files that are asked for at once: base64 makes 800 KB of them, an answer may have 1 MB."""
GROWTH = 64 * 1024


@dataclass(frozen=True, slots=True)
class Node:
    """The node, as far as it is asked: `probe` reads, `apply` runs ops in one batch and gives the node's answer, `said`
    makes a sentence of one that is not done. The first two raise NodeError."""

    probe: Callable[[Sequence[Query]], Mapping[str, Any]]
    apply: Callable[[Sequence[Op]], Mapping[str, Any]]
    said: Callable[[Mapping[str, Any]], str]


def put_files(node: Node, store: Store, paths: Iterable[str], there: Reading) -> None:
    """Fetch what is not there yet, a few at once; what is too long as its beginning and its end."""
    waiting: dict[str, tuple[int, str]] = {}
    for path in paths:
        name, found = f"files/{name_in_bundle(path)}", sized(there, path)
        if found is None:
            store.leave_out(name, "it is not on the node")
        elif not store.has(name, *found):
            waiting[path] = found
    for group in grouped(waiting):
        answer = node.probe([_content_query(path, waiting[path][0]) for path in group])
        for path in group:
            size, changed = waiting[path]
            name, text = f"files/{name_in_bundle(path)}", _text(answer.get(file_key(path)) or {}, size)
            if text is None:
                store.leave_out(name, str((answer.get(file_key(path)) or {}).get("error") or "it has changed"))
            else:
                store.put(name, text, source=path, size=size, changed=changed)
        store.save()


def put_state(store: Store, reading: Reading) -> None:
    """What the probe itself reads: HNS's own JSON, adapters, services (variables as fingerprints), the machine."""
    hns = reading.parts.get(networks.HNS) or {}
    for name in HNS_OBJECTS:
        found = hns.get(name) if hns.get("available") else "HNS is not there"
        text = found if isinstance(found, str) else json.dumps(found, indent=1)
        store.put(f"network/hns-{name}.json", text + "\n", source=f"HNS, GET /{name}")
    parts = {name: reading.parts.get(key) for name, key in STATE.items()}
    parts["services/all"] = [
        found for name in reading.parts.get("services") or () if (found := reading.service(str(name))) is not None
    ]
    for name, value in parts.items():
        text = json.dumps(value, indent=1, sort_keys=True)
        store.put(f"{name}.json", text + "\n", source="node_probe")
    store.save()


def put_outputs(node: Node, store: Store, commands: Sequence[Command], there: Reading) -> tuple[dict[str, str], str]:
    """Run the programs, a few at once: their output by file, and why the others were not run (empty: all were). One
    that fails does not hold up the others."""
    waiting = []
    for command in commands:
        if there.file(command.program).get("exists"):
            waiting.append(command)
        else:
            store.leave_out(command.file, f"{windows_path.name(command.program)} is not on the node")
    outputs: dict[str, str] = {}
    why = ""
    while waiting and not why:
        now, waiting = waiting[:AT_ONCE], waiting[AT_ONCE:]
        try:
            answer = node.apply([command.op for command in now])
        except NodeError as error:
            answer, why = {}, str(error)
        for result in answer.get("results") or ():
            command = now[int(result["n"])]
            if result.get("ok"):
                outputs[command.file] = _said(command, result)
                store.put(command.file, outputs[command.file], source=command.line)
        accepted = answer.get("answer") == "accepted"
        failed = (answer.get("error") or {}).get("n")
        if accepted and answer.get("outcome") != "done" and isinstance(failed, int) and failed < len(now):
            store.leave_out(now[failed].file, str((answer.get("error") or {}).get("message")))
            waiting = [*now[failed + 1 :], *waiting]
        elif not (accepted and answer.get("outcome") == "done"):
            why = why or node.said(answer)
            for command in (*now, *waiting):
                if command.file not in outputs:
                    store.leave_out(command.file, why)
        store.save()
    return outputs, why


def grouped(sizes: Mapping[str, tuple[int, str]], limit: int = ONE_ANSWER) -> Iterator[list[str]]:
    """Paths in groups of which each fits into one answer."""
    group: list[str] = []
    used = 0
    for path, (size, _changed) in sizes.items():
        needed = min(size, LIMIT)
        if group and used + needed > limit:
            yield group
            group, used = [], 0
        group.append(path)
        used += needed
    if group:
        yield group


def _content_query(path: str, size: int) -> Query:
    """All of a file, even if it grows a little meanwhile, or its two ends."""
    if size <= LIMIT:
        return file_query(path, content_limit=LIMIT + GROWTH)
    return Query(file_key(path), "file", (("path", path), ("head", HEAD), ("tail", TAIL)))


def _text(found: Mapping[str, Any], size: int) -> str | None:
    if found.get("content") is not None:
        return decoded(base64.b64decode(found["content"]))
    if found.get("tail") is not None:
        head, tail = (base64.b64decode(found.get(name) or "") for name in ("head", "tail"))
        return joined(head, tail, max(size, len(head) + len(tail)))
    return None


def _said(command: Command, result: Mapping[str, Any]) -> str:
    outputs = [whole_lines(str(result.get(name) or "")) for name in ("stdout", "stderr")]
    shown = "\n".join(text.replace("\r\n", "\n") for text in outputs if text)
    return f"> {command.line}\nexit code {result.get('exit_code')}\n\n{shown}"
