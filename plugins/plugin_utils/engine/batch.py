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
from typing import Any, overload

from .reading import Expectation, Query
from .secret import Secret

SCHEMA = 1
MAX_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Op:
    """One step on the node, and the ops that undo it (docs/protocol.md, section 2). `noted` are the secret arguments
    that the node itself fills in."""

    op: str
    args: Mapping[str, Any]
    undo: tuple[Op, ...] = ()
    noted: tuple[str, ...] = ()

    @property
    def secrets(self) -> tuple[str, ...]:
        """The names of the arguments that are a `Secret` or hold one."""
        return (*(name for name, value in self.args.items() if _is_secret(value)), *self.noted)

    def with_undo(self, *undo: Op) -> Op:
        """The same op with this undo."""
        return replace(self, undo=undo)

    def wire(self, n: int | None = None) -> dict[str, Any]:
        """The op as the runner takes it, with the values of its secrets. `n` is its place in the batch; undo ops have
        none."""
        wire: dict[str, Any] = {"op": self.op, "args": {name: _open(value) for name, value in self.args.items()}}
        if n is not None:
            return wire | {"n": n, "undo": [op.wire() for op in self.undo], "secrets": list(self.secrets)}
        return wire | ({"secrets": list(self.secrets)} if self.secrets else {})


def _is_secret(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_is_secret(each) for each in value.values())
    if isinstance(value, list | tuple):
        return any(_is_secret(each) for each in value)
    return isinstance(value, Secret)


def _open(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _open(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_open(each) for each in value]
    return value.reveal() if isinstance(value, Secret) else value


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


@overload
def as_base64(data: bytes) -> str: ...
@overload
def as_base64(data: Secret[bytes]) -> Secret[str]: ...


def as_base64(data: bytes | Secret[bytes]) -> str | Secret[str]:
    """A file's content for the op `write`; of a secret one, a secret."""
    if isinstance(data, Secret):
        return Secret(as_base64(data.reveal()))
    return base64.b64encode(data).decode()


def flatten(ops: Iterable[Iterable[Op]]) -> tuple[Op, ...]:
    """All ops in one tuple."""
    return tuple(op for group in ops for op in group)
