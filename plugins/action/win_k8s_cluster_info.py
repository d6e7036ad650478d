# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions and builds of a cluster's Windows nodes; documented in modules/win_k8s_cluster_info.py."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..plugin_utils.argument_spec import of_module
from ..plugin_utils.cluster.client import Cluster, ClusterError
from ..plugin_utils.plain import plain
from ..plugin_utils.scheduling import report
from ..plugin_utils.scheduling.nodes import windows_nodes


class ActionModule(ActionBase):
    """win_k8s_cluster_info."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """The report; nothing is written."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        options = plain(self.validate_argument_spec(argument_spec=of_module("win_k8s_cluster_info"))[1])
        try:
            cluster = Cluster.open(options["cluster"])
            if cluster is None:
                raise AnsibleActionFail("cluster.kubeconfig is empty, and everything here is asked of the cluster.")
            server = cluster.version()
            nodes = windows_nodes(cluster.nodes())
        except ClusterError as error:
            raise AnsibleActionFail(f"cluster: {error}") from error
        machines = {each["node"]: report.Machine(each["build"] or None, each["config"]) for each in options["machines"]}
        found = report.findings(nodes, server, options["taints"], machines)
        return result | {
            "changed": False,
            "server": server,
            "nodes": report.rows(nodes),
            "builds": report.builds(nodes),
            "findings": report.as_dicts(found),
        }
