# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes what Calico needs for Windows nodes, and reports; documented in modules/k8s_windows_calico.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..plugin_utils.calico.judge import problems, rule_of
from ..plugin_utils.calico.plan import Options, plan
from ..plugin_utils.calico.view import build_wanted, look
from ..plugin_utils.components.options import read
from ..plugin_utils.components.shared_options import Access
from ..plugin_utils.task.cluster_action import ClusterAction
from ..plugin_utils.words.cause import ERROR


@dataclass(frozen=True, slots=True, kw_only=True)
class CalicoOptions(Options):
    """The module's options: besides, what the nodes have."""

    cluster: Access
    cluster_cidr: str
    service_cidr: str
    dns_service_ip: str
    api_server: str
    cni_bin_dir: str
    cni_conf_dir: str


class ActionModule(ClusterAction):
    """k8s_windows_calico."""

    module = "k8s_windows_calico"
    topic = "calico"

    def work(self, options: dict[str, Any]) -> dict[str, Any]:
        """Read the cluster, plan, write what differs, and report."""
        how = read(CalicoOptions, options)
        cluster = self.open_cluster(how.cluster)
        needed = build_wanted(
            cluster.server,
            cluster_cidr=how.cluster_cidr,
            service_cidr=how.service_cidr,
            dns_service_ip=how.dns_service_ip,
            api_server=how.api_server,
            cni_bin_dir=how.cni_bin_dir,
            cni_conf_dir=how.cni_conf_dir,
        )
        view = look(cluster)
        changes = plan(view, needed, how)
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
