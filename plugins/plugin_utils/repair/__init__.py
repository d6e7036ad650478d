# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Repair or dismantle a node: join again, rebuild its network, take over from scripts, reset.

Only our own things are removed: what the layout names, what the receipts list, HNS networks with our names in our
ranges. The rest stays and is reported.

Private to the collection: playbooks use its modules.
"""

from __future__ import annotations

from ..engine.resource import Refused
from .options import RepairOptions

COMPONENT = "repair"
"""The name of win_k8s_repair's work in errors and in the journal."""
NEEDED = {
    "rejoin": "node_name",
    "network": "node_name",
    "acknowledge": "batch",
    "restart": "services",
    "finding": "finding",
}
ONCE = {
    "always": "rejoin",
    "switch_mode": "network",
    "batch": "acknowledge",
    "services": "restart",
    "finding": "finding",
}
"""Options for single use, each with the only action that reads it."""


def check_options(options: RepairOptions) -> None:
    """Refused if an option that the action needs is missing, or if one is set that it ignores."""
    action = options.action
    needed = NEEDED.get(action, "action")
    if not getattr(options, needed):
        raise Refused(f"The action {action} needs {needed}: set it (for repair.yml, winkube_{needed}).")
    for name, one in ONCE.items():
        if getattr(options, name) and one != action:
            raise Refused(f"{name} has no effect with the action {action}: leave it out, or choose the action {one}.")
