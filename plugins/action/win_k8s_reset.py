# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a node a plain machine again; documented in modules/win_k8s_reset.py."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..plugin_utils.cluster.client import Cluster
from ..plugin_utils.components import log_limit, registry
from ..plugin_utils.components.containerd import defender
from ..plugin_utils.components.kubernetes_fit import check_node_name
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.components.options import read
from ..plugin_utils.components.stage import Given, Resources, Stage
from ..plugin_utils.cri_tcp.expiry import Expiry, task_file
from ..plugin_utils.cri_tcp.kept import Kept
from ..plugin_utils.cri_tcp.node import certificate_folder
from ..plugin_utils.engine.plan import reads
from ..plugin_utils.engine.reading import Query, Reading
from ..plugin_utils.engine.resource import Resource
from ..plugin_utils.engine.resources.firewall_rule import FirewallRule
from ..plugin_utils.engine.sentences import as_steps
from ..plugin_utils.facts.cri_tcp import RULE
from ..plugin_utils.repair import hns, owned, reset
from ..plugin_utils.repair.options import ResetOptions
from ..plugin_utils.task.component_action import ConvergingAction


@dataclass(frozen=True, slots=True)
class Reset:
    """What one is about. `known` are the paths that were found to be ours at its beginning."""

    how: ResetOptions
    layout: Layout
    known: tuple[str, ...] = ()

    def scope(self, reading: Reading) -> owned.Scope:
        """What goes and what is kept."""
        how, layout = self.how, self.layout
        ours = hns.Ours(hns.list_own_names(how.network_name), how.cluster_cidr, hns.list_recorded(layout, reading))
        more = (certificate_folder(layout), task_file(layout))
        return owned.Scope(layout, how, ours, known=self.known, more=more)

    def down(self, reading: Reading, mark: str = "none") -> tuple[Resource, ...]:
        """What the first batch, whose id is `mark`, brings about: what can be rolled back."""
        scope, layout = self.scope(reading), self.layout
        return (
            Expiry(layout, layout.backup(mark), 0),
            Kept(layout, layout.backup(mark), None),
            reset.Down(scope),
            *(FirewallRule(name, wanted=False) for name in (RULE, *registry.rules())),
            defender.Exclusions(layout, wanted=False),
            log_limit.LogLimits(layout, None, (), ""),
            *(() if "programs" in self.how.keep else (reset.NoPathEntry(layout.containerd_bin_dir),)),
            *(reset.NoVariable(name) for name in self.how.variables),
            *(() if "programs" in self.how.keep else (reset.NoEventSource(layout.nssm),)),
            reset.Aside(scope),
            reset.NoNetworks(scope),
        )

    def sweep(self, reading: Reading) -> tuple[Resource, ...]:
        """What the second one does: what is deleted for good."""
        return (reset.Swept(self.scope(reading)),)

    def list_left(self, reading: Reading) -> tuple[str, ...]:
        """What is there all the same, afterwards."""
        undone = reset.list_undone((*self.down(reading), *self.sweep(reading)), reading)
        return (*undone, *reset.list_left(self.scope(reading), reading))

    def first_reads(self, reading: Reading) -> tuple[Query, ...]:
        """What tells what is ours, as far as no answer has to come before."""
        scope = self.scope(reading)
        return (*owned.list_first_reads(scope), *reads(self.down(reading)), *reset.list_left_queries(scope))


class ActionModule(ConvergingAction):
    """win_k8s_reset."""

    module = "win_k8s_reset"
    topic = reset.NAME

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """What can be rolled back in one batch, then the Node object, then what is deleted for good."""
        how = read(ResetOptions, options)
        check_node_name(how.node_name)
        owned.check(how)
        cluster = self._asks.cluster(self._shared.cluster)
        wanted = Reset(how, layout)
        nothing = Reading()
        # A bare machine is asked once.
        needed = (*wanted.first_reads(nothing), *owned.list_third_reads(wanted.scope(nothing), nothing))
        run = self.begin(options, needed)
        reading = self._look(wanted, self.reading(needed))
        wanted = replace(wanted, known=owned.candidates(wanted.scope(reading), reading))

        def down(given: Given[Any]) -> Resources:
            return wanted.down(self._look(wanted, given.reading), given.mark)

        def sweep(given: Given[Any]) -> Resources:
            return wanted.sweep(self._look(wanted, given.reading))

        reading = run.run_stages((Stage("down", down, deadline=_deadline),), reading).reading
        steps = self._remove_node(cluster, how)
        reading = self._look(wanted, reading, again="down" in run.acted)
        reading = run.run_stages((Stage("sweep", sweep, deadline=_deadline),), reading).reading
        result = self.report_run(run, reading)
        result["steps"] += as_steps(steps, planned=self._task.check_mode)
        after = self._look(wanted, reading, again="sweep" in run.acted)
        return result | {"changed": result["changed"] or bool(steps), "left": list(wanted.list_left(after))}

    def _look(self, wanted: Reset, reading: Reading, *, again: bool = False) -> Reading:
        """With everything that tells what is ours; `again` asks for all of it again."""
        ask = self._node.ask_again if again else self._node.complete
        scope = wanted.scope(reading)
        reading = ask(reading, wanted.first_reads(reading))
        reading = ask(reading, owned.list_second_reads(scope, reading))
        return ask(reading, owned.list_third_reads(scope, reading))

    def _remove_node(self, cluster: Cluster | None, how: ResetOptions) -> list[str]:
        """The Node object goes as well: pods are replaced elsewhere at once, and the machine may join again."""
        path = f"/api/v1/nodes/{how.node_name}"
        if cluster is None or not how.delete_node or cluster.get(path) is None:
            return []
        if not self._task.check_mode:
            cluster.delete(path)
        return [f"delete the Node {how.node_name}"]


def _deadline(_given: Given[Any]) -> int:
    return 1800
