# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two runs with contradicting values: the second one says that another changed the same component a short while ago.

A run leaves a component as its values want it. So whoever finds something to change there soon after another run has
other values than that one, or somebody changed the node by hand. The node notes the last batch of each component in
changes.json (docs/protocol.md, section 4); both times are the node's own.

A file of its own: it decides without Ansible, which component_action.py is made of.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta

from .components.layout import Layout
from .engine.reading import Reading, file_key

SOON = timedelta(hours=1)


def sentence(reading: Reading, where: Layout, component: str, controller: str) -> str:
    """That another run than that of `controller` changed the component within the last hour; empty if none did."""
    if file_key(where.changes) not in reading.parts:
        return ""
    change = _last_change(reading.text(where.changes), component)
    by, at, now = (
        str(change.get("by", "")),
        _time(change.get("at")),
        _time(reading.parts.get("system", {}).get("clock")),
    )
    if not by or by == controller or at is None or now is None or not timedelta(0) <= now - at <= SOON:
        return ""
    minutes = round((now - at).total_seconds() / 60)
    since = f"{minutes} minute{'' if minutes == 1 else 's'} ago" if minutes else "less than a minute ago"
    return (
        f"another run, {by}, changed {component} {since}, at {at:%H:%M:%S} UTC, and this one changes it again. If "
        "nobody changed values in between, the two runs contradict each other: compare their inventories."
    )


def _last_change(text: str | None, component: str) -> Mapping[str, object]:
    try:
        found = json.loads(text or "{}")["components"][component]
    except (ValueError, KeyError, TypeError):
        return {}
    return found if isinstance(found, Mapping) else {}


def _time(text: object) -> datetime | None:
    """A moment of the node, always in UTC."""
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return found if found.tzinfo else None
