# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a node works again after a batch was rolled back: what was healthy before is waited for."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..components.declaration import Daemon
from ..components.healthz import find_url, wait_healthy
from ..components.layout import Layout
from ..engine.answer import Answer
from ..engine.batch import Batch, Op
from ..engine.reading import Query, Reading, file_key, http_query
from ..engine.resources.service import ACTIVE
from ..engine.services.existing import log_file
from ..node.link import NodeError

START_S = 120
"""Seconds that a service may take to be healthy again: what its own start may take by default."""
LOG_BYTES, LINE_CHARS = 8192, 400


@dataclass(frozen=True, slots=True)
class Touched:
    """A service that the batch had stopped or started when it failed. `healthy`: it was before, None where its address
    was not asked."""

    name: str
    url: str
    healthy: bool | None
    log: str


def list_touched(
    batch: Batch, answer: Answer, reading: Reading, layout: Layout, daemons: Sequence[Daemon]
) -> tuple[Touched, ...]:
    """The services of `daemons` that ran before and that the batch came to before its failure."""
    ran = {each.n for each in answer.results} or set(range(len(batch.ops)))
    begun = [op for n, op in enumerate(batch.ops) if n in ran]
    named = {word.casefold() for op in begun for word in _words(op)}
    found = []
    for daemon in daemons:
        name = daemon.service(layout)
        service = reading.service(name) if "services" in reading.parts else None
        if name.casefold() not in named or service is None or service.get("state") not in ACTIVE:
            continue
        url = find_url(daemon, service, layout, reading)
        asked = reading.parts.get(http_query(url, name).key) if url else None
        healthy = None if not isinstance(asked, Mapping) else asked.get("status") == 200
        found.append(Touched(name, url, healthy, log_file(service)))
    return tuple(found)


def _words(op: Op) -> Iterator[str]:
    """The arguments of a program that stops or starts a service: `sc.exe stop kubelet`."""
    args = op.args.get("args")
    if op.op == "run" and isinstance(args, Sequence) and not isinstance(args, str):
        yield from (str(each) for each in args)


def explain(
    touched: Sequence[Touched],
    send: Callable[[Batch, str], Answer],
    probe: Callable[[Sequence[Query]], Mapping[str, Any]],
) -> str:
    """The end of the sentence about the roll back, such as `Rolled back, healthy.`; empty if the health of none is
    known. `send` sends a batch that only waits."""
    known = [each for each in touched if each.healthy is not None]
    if not known:
        return ""
    ill = [each.name for each in known if not each.healthy]
    waiting = [each for each in known if each.healthy]
    for each in waiting:
        batch = Batch(each.name, (wait_healthy(each.url, START_S),), deadline_s=START_S + 60)
        try:
            answer = send(batch, uuid.uuid4().hex)
        except NodeError:
            return ""
        if answer.outcome != "done":
            said = _last_line(each, probe)
            return f"Rolled back, but {each.name} does not answer{f': {said}' if said else '.'}"
    if ill:
        return f"Rolled back; it was not healthy before, either ({', '.join(ill)})."
    return "Rolled back, healthy."


def _last_line(each: Touched, probe: Callable[[Sequence[Query]], Mapping[str, Any]]) -> str:
    if not each.log:
        return ""
    query = Query(file_key(each.log), "file", (("path", each.log), ("tail", LOG_BYTES)))
    try:
        tail = (probe((query,)).get(query.key) or {}).get("tail")
    except NodeError:
        return ""
    text = base64.b64decode(tail).decode("utf-8", errors="replace") if tail else ""
    lines = [line.strip()[:LINE_CHARS] for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
