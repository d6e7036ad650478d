# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check whether the node accepts changes.

A file of its own: the table asks it first, since no command mends anything on a node that accepts no change.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..components.blocked import describe_batch
from ..engine.answer import Blocked, as_message
from ..engine.gate import At, Free, Record, Text
from ..words.cause import ERROR, Area, Cause
from ..words.finding import Seen
from ..words.remedies import acknowledge, converge
from .check import Check
from .scene import Scene


@dataclass(frozen=True, slots=True)
class _Written:
    """What the node has written of the batch, and when."""

    batch: Blocked
    at: str = ""


_BATCH = Record(
    Blocked,
    id=At("id", Text(32, re.compile(r"[0-9a-f]{32}"))),
    component=At("component", Free(), ""),
    message=At("error", as_message, ""),
)
_WRITTEN = Record(_Written, batch=At("", _BATCH), at=At("at", Free(), ""))


def _find_block(scene: Scene) -> Iterator[Seen]:
    text = scene.content(scene.layout.blocked)
    if not text:
        return
    try:
        found = _WRITTEN(json.loads(text), "")
    except (ValueError, RecursionError):
        yield Seen(
            scene.layout.blocked,
            "it cannot be read, and blocks the node all the same",
            remedy=converge(text="A run's error names the batch, and how to acknowledge it."),
        )
        return
    yield Seen(
        "the node",
        f"an earlier change could not be rolled back ({describe_batch(found.batch)})",
        remedy=acknowledge(
            f"Read {scene.layout.journal(found.batch.id)} on the node: its entries failed and undo_failed say what "
            "went wrong. Remove what prevented the rollback, and acknowledge it.",
            found.batch.id,
        ),
        evidence=tuple(
            f"{key}: {said}" for key, said in (("component", found.batch.component), ("at", found.at)) if said
        ),
    )


CHECKS: tuple[Check, ...] = (
    Check(
        Cause(
            "host.blocked",
            ERROR,
            "The node accepts no changes",
            "A change failed, and its rollback as well. Until someone has acknowledged that, the node refuses changes, "
            "also by the commands below.",
            acknowledge(
                "Read the journal of the batch on the node: its entries failed and undo_failed say what went "
                "wrong. Remove what prevented the rollback, and acknowledge it."
            ),
            area=Area.PROGRAMS,
        ),
        _find_block,
    ),
)
