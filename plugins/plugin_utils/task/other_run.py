# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two runs that contradict each other: the second one says so.

Two people's values differ, or a value goes back to what it was: someone runs two playbooks that want two things. Who
changes a value once is told nothing. The node notes the last batch of each component in changes.json, with the
fingerprint of what it replaced (docs/protocol.md, section 4); both times are the node's own.

A file of its own: it decides without Ansible, which component_action.py is made of.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

from ..components.layout import Layout
from ..engine.reading import Reading, file_key

SOON = timedelta(hours=1)
RESET = "reset"
"""The batch after which what was before no longer counts."""


def describe(reading: Reading, where: Layout, component: str, controller: str, becomes: Collection[str]) -> str:
    """That someone else changed the component within the last hour, or that another run of the same person did and
    this one takes it back; empty for neither.

    Args:
        reading: The node before this run changed the component.
        where: The node's layout.
        component: Its name.
        controller: This run, `user@host (pid n)`.
        becomes: The fingerprints of what this run brings about.
    """
    if file_key(where.changes) not in reading.parts:
        return ""
    change = _read_last_change(reading.text(where.changes), component)
    by = str(change.get("by") or "")
    at, now = _parse_time(change.get("at")), _parse_time(reading.parts.get("system", {}).get("clock"))
    reset = _parse_time(_read_last_change(reading.text(where.changes), RESET).get("at"))
    if (
        not by
        or by == controller
        or at is None
        or (reset and reset >= at)
        or now is None
        or not timedelta(0) <= now - at <= SOON
    ):
        return ""

    minutes = round((now - at).total_seconds() / 60)
    since = f"{minutes} minute{'' if minutes == 1 else 's'} ago" if minutes else "less than a minute ago"
    own = _name_person(by) == _name_person(controller)
    run = f"an earlier run of yours ({by.partition(' (')[2]}" if own else f"another run, {by},"
    changed = f"{run} changed {component} {since}, at {at:%H:%M:%S} UTC, and this one changes it"
    if str(change.get("was")) in becomes:
        return f"{changed} back. Compare the values of the two runs{', if you did not mean to' if own else ''}."
    return "" if own else f"{changed} again. Compare your inventory with theirs."


def _name_person(run: str) -> str:
    return run.partition(" (pid ")[0]


def _read_last_change(text: str | None, component: str) -> Mapping[str, object]:
    try:
        found = json.loads(text or "{}")["components"][component]
    except (ValueError, KeyError, TypeError):
        return {}
    return found if isinstance(found, Mapping) else {}


def _parse_time(text: object) -> datetime | None:
    """A moment of the node, always in UTC."""
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return found if found.tzinfo else None
