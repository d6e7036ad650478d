# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node's answer to a batch (docs/protocol.md, section 2). The gate for answers (node/answer.py) makes it; no
type is asked for again behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .gate import Free


@dataclass(frozen=True, slots=True)
class Result:
    """What came of the op number `n`. `exit_code`: None for an op that runs no program."""

    n: int
    op: str
    ok: bool
    exit_code: int | None = None
    stdout: str = ""
    stderr: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a batch failed, and in which op. `n`: -1 for none of them. `undo`: what failed in the roll back."""

    n: int = -1
    op: str = ""
    message: str = ""
    undo: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stale:
    """What is no longer as the plan expected it. `found` and `expect` are JSON values."""

    key: str
    found: Any = None
    expect: Any = None


@dataclass(frozen=True, slots=True)
class Busy:
    """Who works on the node. `error`: why the last start of its runner failed."""

    id: str
    controller: str
    since: str
    error: str = ""


@dataclass(frozen=True, slots=True)
class Blocked:
    """The batch that could not be rolled back; `id` is empty where nothing names it."""

    id: str = ""
    component: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Recovered:
    """What the node did by itself about an earlier batch."""

    id: str
    outcome: str


def as_message(value: object, path: str) -> str:
    """A shape: a text, or an object with one as its `message`; never refused."""
    return Free()(value.get("message") if isinstance(value, Mapping) else value, path)


@dataclass(frozen=True, slots=True)
class Answer:
    """`outcome` is empty unless the batch was accepted. `state`: the parts that were asked for afterwards."""

    answer: str
    batch: str = ""
    outcome: str = ""
    error: Failure = Failure()
    results: tuple[Result, ...] = ()
    state: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    stale: tuple[Stale, ...] = ()
    busy: Busy | None = None
    blocked: Blocked | None = None

    @property
    def is_done(self) -> bool:
        """Whether all of the batch was done."""
        return self.answer == "accepted" and self.outcome == "done"

    @property
    def ran(self) -> tuple[Result, ...]:
        """The results of programs, in the order of their ops."""
        return tuple(each for each in self.results if each.op == "run")
