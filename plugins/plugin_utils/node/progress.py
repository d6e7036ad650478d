# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The progress of a long batch, told as waits are (engine/waiting.py); each line costs a remote call.

The node does nothing extra for it. An answer `running` lists the finished ops, so the next one is under way. The size
of `<path>.part` tells how far a download is (docs/protocol.md, section 2).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..engine import windows_path
from ..engine.address import mask
from ..engine.answer import Answer
from ..engine.batch import Batch, Op
from ..engine.reading import Query, file_key, file_query

MEGA = 1000 * 1000
_LONGEST = 100
_WAITS = {
    "service": "the service {name} to be {state}",
    "pipe": "the pipe {name}",
    "http": "an answer of {url}",
    "run": "{program} to succeed",
    "file_free": "{path} to be free",
    "process_gone": "the processes of {path} to end",
    "file": "{path}",
    "tcp": "{host}, port {port}",
    "adapter": "the network adapter {name}",
    "hns_network": "the HNS network {name}",
}
_DOES = {
    "assemble": "is making {path}",
    "unpack": "is unpacking {archive}",
    "hns_network": "is making the HNS network {name}",
    "hns_network_remove": "is removing the HNS network {name}",
    "addresses": "is waiting for the addresses of {adapters}",
    "category_restore": "is waiting for the network category of {adapters}",
    "ip_restore": "is restoring the IP settings of {adapters}",
    "halt": "is stopping the service {name}",
}


def part_queries(batch: Batch) -> tuple[Query, ...]:
    """Queries for the size of each unfinished download."""
    return tuple(file_query(_part(op)) for op in batch.ops if op.op == "fetch")


def sentence(batch: Batch, answer: Answer, seconds: float) -> str:
    """The node's progress, from an answer `running`: `containerd: is downloading <url>: 12.3 MB, 40 s`. `seconds`:
    since the batch was sent."""
    done = len(answer.results)
    if done < len(batch.ops):
        what = _describe(batch.ops[done], answer.state)
    else:
        what = _describe(batch.gate[0], {}) if batch.gate else "is finishing"
    return f"{batch.component}: {what}, {seconds:.0f} s so far"


def measure(answer: Answer) -> tuple[int, tuple[int, ...]]:
    """How far a running batch is: its finished ops, and the sizes of its downloads."""
    sizes = (part.get("size") or 0 for part in answer.state.values() if isinstance(part, Mapping))
    return len(answer.results), tuple(sizes)


def drop_parts(answer: Answer, batch: Batch) -> Answer:
    """The answer without the parts that only progress asked for."""
    keys = {query.key for query in part_queries(batch)} - {query.key for query in batch.state}
    return replace(answer, state={key: value for key, value in answer.state.items() if key not in keys})


def _part(op: Op) -> str:
    return f"{op.args['path']}.part"


def _describe(op: Op, state: Mapping[str, Any]) -> str:
    if op.op == "fetch":
        size = int((state.get(file_key(_part(op))) or {}).get("size") or 0)
        return f"is downloading {mask(str(op.args['url']))}: {size / MEGA:.1f} MB"
    shown = {name: _show(value) for name, value in op.args.items() if name not in op.secrets}
    if op.op == "wait":
        return f"is waiting for {_fill(_WAITS.get(str(op.args['for']), ''), shown) or op.args['for']}"
    if op.op == "run":
        program = windows_path.name(str(op.args["program"]))
        words = [] if "args" in op.secrets else [str(each) for each in op.args.get("args") or ()]
        return f"is running {' '.join([program, *words])[:_LONGEST]}"
    return _fill(_DOES.get(op.op, ""), shown) or f"is at the step {op.op}"


def _fill(text: str, values: Mapping[str, str]) -> str:
    try:
        return text.format(**values)
    except KeyError:
        return ""


def _show(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
