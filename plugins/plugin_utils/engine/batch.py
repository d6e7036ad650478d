# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A batch: a component's ops, what they rely on, their undo, and the envelope that carries them."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .reading import Expectation, Query

SCHEMA = 1
MAX_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Op:
    """One step on the node, the ops that undo it, and the names of its secret arguments (docs/protocol.md, section
    2)."""

    op: str
    args: Mapping[str, Any]
    undo: tuple[Op, ...] = ()
    secrets: tuple[str, ...] = ()

    def with_undo(self, *undo: Op) -> Op:
        """The same op with this undo."""
        return replace(self, undo=undo)

    def wire(self, n: int | None = None) -> dict[str, Any]:
        """The op as the runner takes it. `n` is its place in the batch; undo ops have none."""
        wire: dict[str, Any] = {"op": self.op, "args": dict(self.args)}
        if n is not None:
            wire |= {"n": n, "undo": [op.wire() for op in self.undo], "secrets": list(self.secrets)}
        return wire


@dataclass(frozen=True, slots=True)
class Batch:
    """A component's ops, in order, and the checks (`gate`) that decide whether they worked. `was` is the fingerprint
    of what the batch replaces; the node records it."""

    component: str
    ops: tuple[Op, ...]
    gate: tuple[Op, ...] = ()
    pre: tuple[Expectation, ...] = ()
    state: tuple[Query, ...] = field(default=())
    deadline_s: int = 900
    was: str = ""

    def wire(self, batch_id: str) -> dict[str, Any]:
        """The batch as it is written on the node."""
        return {
            "schema": SCHEMA,
            "id": batch_id,
            "component": self.component,
            "was": self.was,
            "deadline_s": self.deadline_s,
            "pre": [expectation.wire() for expectation in self.pre],
            "ops": [op.wire(n) for n, op in enumerate(self.ops)],
            "gate": [op.wire(n) for n, op in enumerate(self.gate)],
        }


def encode(envelope: Mapping[str, Any]) -> str:
    """The one string that node_apply takes: base64 of gzip of JSON. ValueError if it exceeds the 4 MB that a node
    accepts."""
    text = json.dumps(envelope, separators=(",", ":"), sort_keys=True).encode()
    encoded = base64.b64encode(gzip.compress(text, compresslevel=9, mtime=0)).decode()
    if len(encoded) > MAX_BYTES:
        raise ValueError(f"the batch is {len(encoded)} bytes, more than the {MAX_BYTES} that a node accepts")
    return encoded


def decode(encoded: str) -> dict[str, Any]:
    """The envelope in `encoded`; the inverse of `encode`."""
    envelope: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(encoded)))
    return envelope


def as_base64(data: bytes) -> str:
    """A file's content for the op `write`."""
    return base64.b64encode(data).decode()


def flatten(ops: Iterable[Iterable[Op]]) -> tuple[Op, ...]:
    """All ops in one tuple."""
    return tuple(op for group in ops for op in group)
