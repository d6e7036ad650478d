# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check whether the node accepts changes.

A file of its own: the table asks it first, since no command mends anything on a node that accepts no change.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from ..components.blocked import ACKNOWLEDGE, describe_batch
from ..words.cause import ERROR, Area, Cause
from ..words.finding import Seen
from ..words.remedies import advice
from .check import Check
from .scene import Scene


def _find_block(scene: Scene) -> Iterator[Seen]:
    text = scene.content(scene.layout.blocked)
    if not text:
        return
    try:
        blocked = json.loads(text)
    except ValueError:
        blocked = None
    if not isinstance(blocked, Mapping) or not blocked.get("id"):
        yield Seen(
            scene.layout.blocked,
            "it cannot be read, and blocks the node all the same",
            remedy=advice("Run site.yml: its error names the batch, and how to acknowledge it."),
        )
        return
    yield Seen(
        "the node",
        f"an earlier change could not be rolled back ({describe_batch(blocked)})",
        remedy=advice(
            f"Read {scene.layout.journal(str(blocked['id']))} on the node: its entries failed and undo_failed say what "
            "went wrong. Remove what prevented the rollback, acknowledge it with "
            f"{ACKNOWLEDGE}{blocked['id']}, and run site.yml again."
        ),
        evidence=tuple(f"{key}: {blocked[key]}" for key in ("component", "at") if blocked.get(key)),
    )


CHECKS: tuple[Check, ...] = (
    Check(
        Cause(
            "host.blocked",
            ERROR,
            "The node accepts no changes",
            "A change failed, and its rollback as well. Until someone has acknowledged that, the node refuses changes, "
            "also by the commands below.",
            advice(
                "Read the batch's journal on the node, remove what prevented the rollback, acknowledge it with "
                f"{ACKNOWLEDGE}ID, and run site.yml again."
            ),
            area=Area.PROGRAMS,
        ),
        _find_block,
    ),
)
