# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long pods take to start on Windows nodes; documented in modules/win_k8s_density.py."""

from __future__ import annotations

import uuid
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..plugin_utils.argument_spec import of_module
from ..plugin_utils.cluster import run_namespace
from ..plugin_utils.cluster.client import Clock, Cluster, ClusterError
from ..plugin_utils.density import plan, run
from ..plugin_utils.plain import plain
from ..plugin_utils.scheduling.nodes import windows_nodes


class ActionModule(ActionBase):
    """win_k8s_density."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Make the pods, measure, take them away; the task fails for pods that did not start and for limits."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        options = plain(self.validate_argument_spec(argument_spec=of_module("win_k8s_density"))[1])
        try:
            return result | self._work(options)
        except plan.PlanError as error:
            raise AnsibleActionFail(f"density: {error}") from None
        except ClusterError as error:
            raise AnsibleActionFail(f"density: {error}") from error

    def _work(self, options: dict[str, Any]) -> dict[str, Any]:
        cluster = Cluster.open(options["cluster"])
        if cluster is None:
            raise plan.PlanError("cluster.kubeconfig is empty, and everything here is asked of the cluster.")
        now = datetime.now(UTC)
        wish = plan.Wish(
            f"winkube-density-{uuid.uuid4().hex[:8]}",
            run_namespace.until(now, options["timeout"]),
            options["pods"],
            options["image"],
            options["memory"],
            options["cpu"],
            tuple(options["taints"]),
        )
        nodes = plan.chosen(windows_nodes(cluster.nodes()), options["nodes"])
        made = plan.pods(wish, nodes)
        images = sorted({pod["spec"]["containers"][0]["image"] for pod in made})
        text = f"run {len(made)} pods on {', '.join(node.name for node in nodes)}, images {', '.join(images)}"
        if self._task.check_mode:
            return {"changed": True, "steps": [{"text": text, "state": "planned"}]}
        swept = run_namespace.sweep(cluster, plan.LABEL, now)
        samples = run.measure(cluster, wish, made, Clock(), options["timeout"])
        run_namespace.wait_until_gone(cluster, wish.namespace, Clock(), options["timeout"])
        problems = plan.problems(samples, options["limits"])
        steps = [*(f"delete the namespace {name}, left by an earlier run" for name in swept), text]
        return {
            "changed": True,
            "failed": bool(problems),
            "msg": "density: " + " ".join(problems) if problems else "",
            "steps": [{"text": each, "state": "done"} for each in steps],
            "summary": plan.summary(samples),
            "samples": [asdict(each) for each in samples],
        }
