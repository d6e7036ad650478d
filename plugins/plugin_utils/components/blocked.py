# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of a node that accepts no change: one failed, its rollback too, and no one has acknowledged that.

`blocked` is the node's blocked.json, `{id, error}` and more (docs/protocol.md, section 4).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..engine.sentences import end_sentence, read_message

ACKNOWLEDGE = "playbooks/repair.yml -e winkube_repair=acknowledge -e winkube_batch="


def describe_batch(blocked: Mapping[str, Any]) -> str:
    """Which batch could not be rolled back, and why, without a full stop."""
    why = end_sentence(read_message(blocked.get("error")))[:-1]
    return f"batch {blocked.get('id')}: {why}"
