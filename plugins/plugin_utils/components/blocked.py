# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of a node that accepts no change: one failed, its rollback too, and no one has acknowledged that.

`blocked` is the node's blocked.json, `{id, error}` and more (docs/protocol.md, section 4).
"""

from __future__ import annotations

from ..engine.answer import Blocked
from ..engine.sentences import end_sentence, read_message

ACKNOWLEDGE = "playbooks/repair.yml -e winkube_repair=acknowledge -e winkube_batch="


def describe_batch(blocked: Blocked) -> str:
    """Which batch could not be rolled back, and why, without a full stop."""
    return f"batch {blocked.id}: {end_sentence(read_message(blocked.message))[:-1]}"
