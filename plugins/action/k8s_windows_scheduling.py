# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes RuntimeClasses, taints and labels, and reports; documented in modules/k8s_windows_scheduling.py."""

from __future__ import annotations

from functools import cache
from typing import Any

import yaml
from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ..plugin_utils.argument_spec import of_module, plain
from ..plugin_utils.cluster.client import Cluster
from ..plugin_utils.cluster.error import ClusterError
from ..plugin_utils.components.join import node_object
from ..plugin_utils.engine.resource import Refused
from ..plugin_utils.engine.sentences import as_steps
from ..plugin_utils.scheduling import converge, report
from ..plugin_utils.scheduling.nodes import windows_nodes
from ..plugin_utils.scheduling.runtime_class import COLLECTION
from ..plugin_utils.scheduling.stranded import stranded

display = Display()


class ActionModule(ActionBase):
    """k8s_windows_scheduling."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Read the cluster, plan, write what differs, and report."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        options = plain(self.validate_argument_spec(argument_spec=of_module("k8s_windows_scheduling"))[1])
        try:
            return result | self._work(options)
        except Refused as refused:
            raise AnsibleActionFail("\n".join(refused.sentences), obj=self._task.args) from None
        except ClusterError as error:
            raise AnsibleActionFail(f"scheduling: {error}") from error

    def _work(self, options: dict[str, Any]) -> dict[str, Any]:
        cluster = Cluster.open(options["cluster"])
        if cluster is None:
            raise Refused("scheduling: cluster.kubeconfig is empty, and everything here is asked of the cluster.")
        server, nodes = cluster.version(), windows_nodes(cluster.nodes())
        machines = {each["node"]: report.Machine(each["build"] or None, each["config"]) for each in options["machines"]}
        wanted = converge.Options(
            handler=options["handler"],
            taints=tuple(options["taints"]),
            labels={str(name): str(value) for name, value in options["labels"].items()},
            runtime_classes=options["runtime_classes"] and bool(nodes),
            adopt=options["adopt"],
        )
        if wanted.runtime_classes:
            converge.check_server(server)
            if unread := converge.unknown(nodes, machines):
                display.warning(
                    f"scheduling: nobody has read config.toml of {', '.join(unread)}; whether their containerd has the "
                    f"runtime {wanted.handler} is not known."
                )
        classes = cluster.items(COLLECTION) if wanted.runtime_classes else ()
        pods = cache(lambda name: tuple(cluster.items(node_object.pods_of(name))))
        changes = converge.plan(wanted, nodes, classes, machines, pods)
        left = stranded(nodes, wanted.taints, pods)
        check_mode = self._task.check_mode
        if changes and not check_mode:
            for change in changes:
                change.do(cluster)
            nodes = windows_nodes(cluster.nodes())
        result: dict[str, Any] = {
            "changed": bool(changes),
            "steps": as_steps((change.text for change in changes), planned=bool(check_mode)),
            "stranded": left,
            **report.report(nodes, server, wanted.taints, machines),
        }
        if self._task.diff and changes:
            result["diff"] = [
                {"before": _text(change.before), "after": _text(change.after), "before_header": change.text}
                for change in changes
            ]
        return result


def _text(found: Any) -> str:
    return yaml.safe_dump(plain(found), sort_keys=True) if found else ""
