# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Unblocks a node after a failed undo; documented in modules/win_k8s_acknowledge.py."""

from __future__ import annotations

from typing import Any

from ..plugin_utils.components.layout import Layout
from ..plugin_utils.node.link import NodeError
from ..plugin_utils.node_action import NodeAction


class ActionModule(NodeAction):
    """win_k8s_acknowledge."""

    module = "win_k8s_acknowledge"

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """Say that somebody has looked; NodeError if the node is not blocked by this batch."""
        if self._task.check_mode:
            return {
                "changed": True,
                "steps": [{"text": f"acknowledge the failed batch {options['batch']}", "state": "planned"}],
            }
        answer = self._link.acknowledge(options["batch"])
        if answer.get("outcome") != "done":
            raise NodeError(f"The node is not blocked by batch {options['batch']}: nothing to acknowledge.")
        return {
            "changed": True,
            "steps": [{"text": f"acknowledge the failed batch {options['batch']}", "state": "done"}],
        }
