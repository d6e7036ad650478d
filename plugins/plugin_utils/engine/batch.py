# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A batch: the ops of one component, what they rely on, how they are undone, and the envelope they travel in."""

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
    """One step on the node, with the steps that undo it and the arguments that are secret (docs/protocol.md,
    section 2)."""

    op: str
    args: Mapping[str, Any]
    undo: tuple[Op, ...] = ()
    secrets: tuple[str, ...] = ()

    def undone_by(self, *undo: Op) -> Op:
        """The same op with its undo."""
        return replace(self, undo=undo)

    def wire(self, n: int | None = None) -> dict[str, Any]:
        """The op as the runner takes it; `n` is its place in the batch, undo ops have none."""
        wire: dict[str, Any] = {"op": self.op, "args": dict(self.args)}
        if n is not None:
            wire |= {"n": n, "undo": [op.wire() for op in self.undo], "secrets": list(self.secrets)}
        return wire


@dataclass(frozen=True, slots=True)
class Batch:
    """What one component wants done, in order, and the readiness check (`gate`) that decides whether it worked. `was`:
    the fingerprint of what it replaces, which the node notes."""

    component: str
    ops: tuple[Op, ...]
    gate: tuple[Op, ...] = ()
    pre: tuple[Expectation, ...] = ()
    state: tuple[Query, ...] = field(default=())
    deadline_s: int = 900
    was: str = ""

    def wire(self, batch_id: str) -> dict[str, Any]:
        """The batch as it is written to the node."""
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
    """The one string that node_apply takes: base64 of gzip of JSON. ValueError if it is more than the 4 MB a node
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
    """File content as it travels in `write`."""
    return base64.b64encode(data).decode()


def flatten(ops: Iterable[Iterable[Op]]) -> tuple[Op, ...]:
    """One tuple of ops from several."""
    return tuple(op for group in ops for op in group)
