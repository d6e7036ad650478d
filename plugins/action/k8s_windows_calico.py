# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes what Calico needs for Windows nodes, and reports; documented in modules/k8s_windows_calico.py."""

from __future__ import annotations

from typing import Any

from ..plugin_utils.calico.judge import problems, rule_of
from ..plugin_utils.calico.plan import Options, plan
from ..plugin_utils.calico.view import build_wanted, look
from ..plugin_utils.task.cluster_action import ClusterAction
from ..plugin_utils.words.cause import ERROR

OF_THE_NODES = ("cluster_cidr", "service_cidr", "dns_service_ip", "api_server", "cni_bin_dir", "cni_conf_dir")


class ActionModule(ClusterAction):
    """k8s_windows_calico."""

    module = "k8s_windows_calico"
    topic = "calico"

    def work(self, options: dict[str, Any]) -> dict[str, Any]:
        """Read the cluster, plan, write what differs, and report."""
        cluster = self.open_cluster(options)
        needed, view = build_wanted(cluster.server, **{name: options[name] for name in OF_THE_NODES}), look(cluster)
        changes = plan(view, needed, Options(adopt=options["adopt"], kube_proxy_image=options["kube_proxy_image"]))
        if self.write(changes, cluster):
            view = look(cluster)
        return {
            **self.report_changes(changes),
            "calico": str(view.release or ""),
            "findings": [
                {"id": each.id, "severity": each.severity, "text": each.sentence}
                for each in problems(view, needed)
                # In check mode what would be written is a step already.
                if not (self._task.check_mode and rule_of(each).written and each.severity == ERROR)
            ],
        }
