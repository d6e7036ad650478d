# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks at a Node object; documented in modules/k8s_windows_look.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible import constants as C  # noqa: N812 - as all of Ansible names it

from ..plugin_utils.cluster.client import NODES
from ..plugin_utils.cluster.remembered import Remembered
from ..plugin_utils.node_status.look import Wanted, look_at
from ..plugin_utils.task.cluster_action import ClusterAction


class ActionModule(ClusterAction):
    """k8s_windows_look."""

    module = "k8s_windows_look"
    topic = "look"

    def work(self, options: dict[str, Any]) -> dict[str, Any]:
        """What the one list of all Nodes, shared by the hosts of the task, says of this host's."""
        shared = Remembered(Path(C.DEFAULT_LOCAL_TMP), str(self._task._uuid))
        listed = shared(NODES, lambda: {"items": self.open_cluster(options).nodes()}) or {}
        name = options["node_name"]
        node = next((each for each in listed["items"] if each["metadata"]["name"] == name), None)
        wanted = Wanted(name, options["kubernetes_version"], options["containerd_version"])
        return {"changed": False, **look_at(node, wanted).to_data()}
