# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubernetes' test of CPU limits on one Windows node; documented in modules/win_k8s_cpu_limits.py."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..plugin_utils.argument_spec import of_module
from ..plugin_utils.cluster.client import Clock, Cluster, ClusterError
from ..plugin_utils.cri.cpu_limits import Wanted, burned, manifests
from ..plugin_utils.cri.kubelet import KubeletProxy
from ..plugin_utils.cri.samples import of_summary
from ..plugin_utils.plain import plain


class ActionModule(ActionBase):
    """win_k8s_cpu_limits."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Start the pods, wait, judge, take them away."""
        super().run(tmp, task_vars)
        options = plain(self.validate_argument_spec(argument_spec=of_module("win_k8s_cpu_limits"))[1])
        wanted = Wanted(
            namespace=options["namespace"],
            node=options["node_name"],
            image=options["image"],
            wait_s=options["wait"],
            tolerance=options["tolerance"],
            start_timeout_s=options["start_timeout"],
        )
        result: dict[str, Any] = {"changed": False, "pods": list(manifests(wanted))}
        if self._task.check_mode:
            return result | {"skipped": True, "msg": "Pods are started, not in check mode."}
        try:
            cluster = Cluster.open(options["cluster"])
            if cluster is None:
                raise ClusterError("cluster.kubeconfig is empty, and pods are started in the cluster.")
            kubelet = KubeletProxy(cluster, wanted.node)
            usage, faults = burned(cluster, wanted, lambda: of_summary(kubelet.summary()), Clock())
        except ClusterError as error:
            raise AnsibleActionFail(str(error)) from error
        result |= {"nano_cores": usage, "findings": list(faults)}
        return result | ({"failed": True, "msg": "\n".join(faults)} if faults else {})
