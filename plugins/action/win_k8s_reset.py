# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a node a plain machine again; documented in modules/win_k8s_reset.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..plugin_utils.cluster.client import Cluster
from ..plugin_utils.components import log_limit, registry
from ..plugin_utils.components.containerd import defender
from ..plugin_utils.components.join import join
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.components.registry import read_plan
from ..plugin_utils.components.stage import Given, Resources, Stage
from ..plugin_utils.cri_tcp.expiry import Expiry, task_file
from ..plugin_utils.cri_tcp.kept import Kept
from ..plugin_utils.cri_tcp.node import certificate_folder
from ..plugin_utils.engine.plan import reads
from ..plugin_utils.engine.reading import Query, Reading, merge_queries
from ..plugin_utils.engine.resource import Resource
from ..plugin_utils.engine.resources.firewall_rule import FirewallRule
from ..plugin_utils.engine.sentences import as_steps
from ..plugin_utils.facts.cri_tcp import RULE
from ..plugin_utils.repair import hns, owned, reset
from ..plugin_utils.task.component_action import ConvergingAction


class ActionModule(ConvergingAction):
    """win_k8s_reset."""

    module = "win_k8s_reset"
    topic = reset.NAME

    _ours: tuple[str, ...] = ()
    _first: tuple[Query, ...] = ()

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """What can be rolled back in one batch, then the Node object, then what is deleted for good."""
        join.check_name(options["node_name"])
        owned.check(options["keep"])
        self._first = self._beforehand(options, layout)
        run = self.begin(options, layout)
        cluster = Cluster.open(options["cluster"])
        reading = self._look(options, layout, self.reading(options, layout))
        self._ours = owned.candidates(self._scope(options, layout, reading), reading)
        reading = run.run_stages((Stage("down", self._down, deadline=_deadline),), reading)
        steps = self._without_node(cluster, options)

        reading = self._look(options, layout, reading, again="down" in run.acted)
        reading = run.run_stages((Stage("sweep", self._sweep, deadline=_deadline),), reading)
        result = self.report_run(run, reading, layout)
        result["steps"] += as_steps(steps, planned=self._task.check_mode)

        after = self._look(options, layout, reading, again="sweep" in run.acted)
        scope = self._scope(options, layout, after)
        resources = (*self._resources_of(options, layout, scope), reset.Swept(scope))
        left = (*reset.list_undone(resources, after), *reset.list_left(scope, after))
        return result | {"changed": result["changed"] or bool(steps), "left": list(left)}

    def _down(self, given: Given) -> Resources:
        """What can be rolled back."""
        reading = self._look(given.options, given.layout, given.reading)
        scope = self._scope(given.options, given.layout, reading)
        return self._resources_of(given.options, given.layout, scope, given.mark)

    def _sweep(self, given: Given) -> Resources:
        """What is deleted for good."""
        reading = self._look(given.options, given.layout, given.reading)
        return (reset.Swept(self._scope(given.options, given.layout, reading)),)

    def _resources_of(
        self, options: Mapping[str, Any], layout: Layout, scope: owned.Scope, mark: str = "none"
    ) -> tuple[Resource, ...]:
        """What the first batch, whose id is `mark`, brings about."""
        return (
            Expiry(layout, layout.backup(mark), 0),
            Kept(layout, layout.backup(mark), None),
            reset.Down(scope),
            *(FirewallRule(name, wanted=False) for name in (RULE, *registry.rules())),
            defender.Exclusions(layout, wanted=False),
            log_limit.LogLimits(layout, None, (), ""),
            *(() if "programs" in scope.keep else (reset.NoPathEntry(layout.containerd_bin_dir),)),
            *(reset.NoVariable(str(name)) for name in options["variables"]),
            *(() if "programs" in scope.keep else (reset.NoEventSource(layout.nssm),)),
            reset.Aside(scope),
            reset.NoNetworks(scope),
        )

    def read(self, layout: Layout) -> Reading:
        """Also all of a reset's own questions that no answer has to come before: a bare machine is asked once."""
        return self.read_queries(merge_queries((*read_plan(layout), *self._first)))

    def _beforehand(self, options: Mapping[str, Any], layout: Layout) -> tuple[Query, ...]:
        nothing = Reading()
        scope = self._scope(options, layout, nothing)
        resources = self._resources_of(options, layout, scope)
        looks = (*owned.first_reads(scope), *owned.third_reads(scope, nothing), *reset.list_left_queries(scope))
        return (*looks, *reads(resources))

    def _look(self, options: Mapping[str, Any], layout: Layout, reading: Reading, *, again: bool = False) -> Reading:
        """With everything that tells what is ours; `again` asks for all of it again."""

        ask = self._node.ask_again if again else self._node.completed
        scope = self._scope(options, layout, reading)
        wanted = self._resources_of(options, layout, scope)
        first = (*owned.first_reads(scope), *reads(wanted), *reset.list_left_queries(scope))
        reading = ask(reading, first)
        reading = ask(reading, owned.second_reads(scope, reading))
        return ask(reading, owned.third_reads(scope, reading))

    def _without_node(self, cluster: Cluster | None, options: Mapping[str, Any]) -> list[str]:
        """The Node object goes as well: pods are replaced elsewhere at once, and the machine may join again."""
        path = f"/api/v1/nodes/{options['node_name']}"
        if cluster is None or not options["delete_node"] or cluster.get(path) is None:
            return []
        if not self._task.check_mode:
            cluster.delete(path)
        return [f"delete the Node {options['node_name']}"]

    def _scope(self, options: Mapping[str, Any], layout: Layout, reading: Reading) -> owned.Scope:
        names = hns.own_names(options["network_name"])
        ours = hns.Ours(names, options["cluster_cidr"], hns.list_recorded(layout, reading))
        return replace(
            owned.Scope(layout, ours, owned.check(options["keep"])),
            containerd_root=options["containerd_root"],
            containerd_state=options["containerd_state"],
            net_conf=options["net_conf"],
            data_dir=options["cni_data_dir"],
            known=self._ours,
            more=(certificate_folder(layout), task_file(layout)),
        )


def _deadline(_given: Given) -> int:
    return 1800
