# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes RuntimeClasses, taints and labels, and reports; documented in modules/k8s_windows_scheduling.py."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from ..plugin_utils.cluster.pods import pods_of
from ..plugin_utils.components.options import read
from ..plugin_utils.components.shared_options import Access
from ..plugin_utils.scheduling import converge, report
from ..plugin_utils.scheduling.nodes import windows_nodes
from ..plugin_utils.scheduling.runtime_class import COLLECTION
from ..plugin_utils.scheduling.stranded import find_stranded
from ..plugin_utils.task.cluster_action import ClusterAction
from ..plugin_utils.task.screen import display


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineOptions:
    """What a machine itself said, as the option `machines` has it."""

    node: str
    build: int
    config: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulingOptions(converge.Options):
    """The module's options."""

    cluster: Access
    machines: tuple[MachineOptions, ...]


class ActionModule(ClusterAction):
    """k8s_windows_scheduling."""

    module = "k8s_windows_scheduling"
    topic = "scheduling"

    def work(self, options: dict[str, Any]) -> dict[str, Any]:
        """Read the cluster, plan, write what differs, and report."""
        told = read(SchedulingOptions, options)
        cluster = self.open_cluster(told.cluster)
        server, nodes = cluster.version(), windows_nodes(cluster.nodes())
        machines = {each.node: report.Machine(each.build or None, each.config) for each in told.machines}
        labels = {str(name): str(value) for name, value in told.labels.items()}
        wanted = replace(told, labels=labels, runtime_classes=told.runtime_classes and bool(nodes))
        if wanted.runtime_classes:
            converge.check_server(server)
            if unread := converge.find_unknown(nodes, machines):
                display.warning(
                    f"scheduling: config.toml was not read on {', '.join(unread)}; whether their containerd has the "
                    f"runtime {wanted.handler} is not known."
                )
        classes = cluster.items(COLLECTION) if wanted.runtime_classes else ()
        pods = cache(lambda name: tuple(cluster.items(pods_of(name))))
        changes = converge.plan(wanted, nodes, classes, machines, pods)
        left = find_stranded(nodes, wanted.taints, pods)
        if self.write(changes, cluster):
            nodes = windows_nodes(cluster.nodes())
        return {
            **self.report_changes(changes),
            "stranded": left,
            **report.report(nodes, server, wanted.taints, machines),
        }
