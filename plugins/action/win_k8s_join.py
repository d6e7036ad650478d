# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a machine a node of its cluster; documented in modules/win_k8s_join.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

from ..plugin_utils.cluster.client import Clock, Cluster
from ..plugin_utils.cluster.endpoint import bootstrap_token
from ..plugin_utils.cluster.error import ClusterError
from ..plugin_utils.components.join import join, material, node_object
from ..plugin_utils.components.join.after_join import Expected, look_after
from ..plugin_utils.components.join.identities import Identity, identities
from ..plugin_utils.components.join.joining import LATER, Joining, told
from ..plugin_utils.components.join.secret_file import SecretFile
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.engine.reading import Reading
from ..plugin_utils.engine.resource import Notice, Resource
from ..plugin_utils.engine.sentences import as_steps
from ..plugin_utils.node.link import NodeError
from ..plugin_utils.source_action import KubernetesAction

CHECK_TOKEN = "000000.0000000000000000"  # stands for the token in check mode, which makes none
ASKS_NOBODY = Notice("the cluster", "skip asking the cluster about this node (winkube_cluster.kubeconfig is empty)")


@dataclass(slots=True)
class _Task:
    """What one task has found out. `material` is what the node joins with, set only while that is so."""

    cluster: Cluster | None
    identities: tuple[Identity, ...] = ()
    joins: bool = False
    material: Joining | None = field(default=None, repr=False)


class ActionModule(KubernetesAction):
    """win_k8s_join."""

    module = "win_k8s_join"
    component = join.NAME
    deadline_s = 1800

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """Join if need be, write the kubeconfigs of flanneld and kube-proxy, look after the Node object."""
        try:
            return self._program_alone(options, layout) if options["golden_image"] else self._work(options, layout)
        except ClusterError as error:
            raise NodeError(f"{self.component}: {error}") from None

    def resources(
        self, options: Mapping[str, Any], layout: Layout, reading: Reading, mark: str
    ) -> tuple[Resource, ...]:
        """The join, while there is something to join with; else what is brought in before it or besides."""
        if self._found.material is not None:
            return (replace(self._found.material, mark=mark), *(() if self._found.cluster else (ASKS_NOBODY,)))
        files = (*join.folders(layout), *(self._file(item, layout, mark) for item in self._found.identities))
        if not self._found.joins:
            return (*files, *material.own_kubeconfig(options, layout, mark))
        return (*self._kubeadm(options, layout, mark), *files)  # in an image there are no identities

    def _program_alone(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """kubeadm.exe and the folders: what an image of many nodes may have."""
        self._found = _Task(None, joins=True)
        done = [self._converged(options, layout, self.reading(options, layout))]
        return self._finished(done, options) | {"joined": False, "pod_cidr": ""}

    def _work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        join.check_name(options["node_name"])
        self._found = found = _Task(self.opened(options))
        reading = self.reading(options, layout)
        if missing := reading.missing(join.reads(layout)):
            reading = reading.merged(self._link.probe(missing), missing)
        found.joins = not self._has_joined(options, layout, reading)
        if found.joins:
            material.check_possible(found.cluster, options, layout, reading)
        steps, found.identities = identities(found.cluster, options, layout, check=self._task.check_mode, clock=Clock())
        done = [self._converged(options, layout, reading)]
        if found.joins:
            with ExitStack() as stack:
                found.material = self._material(options, layout, stack)
                if options["state"] == "rejoined":
                    steps += material.without_node(found.cluster, options["node_name"], check=self._task.check_mode)
                done.append(self._converged(options, layout, done[-1].reading))
            found.material = None
        result = self._finished(done, options)
        more, node = self._after_join(options, layout, done[-1].reading)
        result["steps"] += as_steps((*steps, *more), planned=self._task.check_mode)
        result["changed"] = result["changed"] or bool(steps or more)
        pod_cidr = node_object.pod_cidr(node or {}) or ""
        if self._task.check_mode:
            return result | {"joined": found.joins, "pod_cidr": pod_cidr or (LATER if found.joins else "")}
        for step in result["steps"]:
            step["text"] = told(step["text"], pod_cidr)
        for part in result.get("diff") or ():
            part |= {key: told(value, pod_cidr) for key, value in part.items()}
        return result | {"joined": found.joins, "pod_cidr": pod_cidr}

    def _has_joined(self, options: Mapping[str, Any], layout: Layout, reading: Reading) -> bool:
        cluster = self._found.cluster
        return join.has_joined(
            join.Situation(
                layout=layout,
                way=options["join"],
                node_name=options["node_name"],
                reading=reading,
                node=cluster.node(options["node_name"]) if cluster else None,
                asked=cluster is not None,
                rejoin=options["state"] == "rejoined",
            )
        )

    def _kubeadm(self, options: Mapping[str, Any], layout: Layout, mark: str) -> tuple[Resource, ...]:
        if options["join"] != "kubeadm":
            return ()
        wanted = self.source_of(options, component=join.KUBEADM, version=str(self.version(options)))
        return join.kubeadm(layout, wanted, mark)

    def _material(self, options: Mapping[str, Any], layout: Layout, stack: ExitStack) -> Joining:
        """What the node joins with. A token that is made here is gone when `stack` is closed."""

        def token(cluster: Cluster) -> str:
            if self._task.check_mode:
                return CHECK_TOKEN
            return stack.enter_context(bootstrap_token(cluster, options["node_name"]))

        return material.material(self._found.cluster, options, layout, self.version(options), token)

    def _file(self, item: Identity, layout: Layout, mark: str) -> Resource:
        return SecretFile(item.path, item.text, layout.backup(mark), f"the kubeconfig of {item.program}", item.service)

    def _after_join(
        self, options: Mapping[str, Any], layout: Layout, reading: Reading
    ) -> tuple[Sequence[str], Mapping[str, Any] | None]:
        """What the cluster says of the node now: steps that were taken there, and the Node object."""
        cluster = self._found.cluster
        if cluster is None:
            return (), None
        if self._task.check_mode and self._found.joins:
            return (), None
        expected = Expected.of(options, layout, reading, joins=self._found.joins)
        report = look_after(cluster, expected, Clock(), check=self._task.check_mode)
        for sentence in report.warnings:
            self.warn_once(sentence)
        return report.steps, report.node
