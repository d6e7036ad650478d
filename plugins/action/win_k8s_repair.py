# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Repairs a node; documented in modules/win_k8s_repair.py."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from ..plugin_utils.cluster.client import Cluster
from ..plugin_utils.cluster.error import ClusterError
from ..plugin_utils.components.join import join
from ..plugin_utils.components.kubernetes_fit import check_node_name
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.components.options import read
from ..plugin_utils.components.stage import Given, Key, Resources, Stage
from ..plugin_utils.diagnosis import cni_mend, gather
from ..plugin_utils.diagnosis.scene import cni_reads, complete_cni
from ..plugin_utils.diagnosis.table import mendable, remedy_of
from ..plugin_utils.engine.resource import Refused
from ..plugin_utils.node.link import NodeError
from ..plugin_utils.node_status.condition import HEALTHY
from ..plugin_utils.record.node_record import Repair
from ..plugin_utils.repair import COMPONENT, check_options, hns, network, rejoin, restart, take_over
from ..plugin_utils.repair.options import RepairOptions
from ..plugin_utils.task.component_action import ConvergingAction
from ..plugin_utils.task.node_conditions import judge_repairs, write_conditions
from ..plugin_utils.task.node_repair import NodeRepair, repair_result
from ..plugin_utils.task.recorded import find_store
from ..plugin_utils.words.remedy import Action

PAST: Key[rejoin.Past] = Key("what remains of the node's former membership")


class ActionModule(ConvergingAction):
    """win_k8s_repair. The actions rejoin and cni_conf have stages as a component has; the others look and act."""

    module = "win_k8s_repair"
    topic = COMPONENT

    _how: RepairOptions
    _left: tuple[str, ...] = ()
    """The roles to which the repair leaves its work, as the record names their tasks."""
    _found_nothing: bool = False
    """Whether roles follow all the same. The Node is told when they have run."""

    def keep_record(self, work: Callable[[], dict[str, Any]], *, changes: bool) -> dict[str, Any]:
        """As any task; then the condition Healthy, from the record that the repair is in."""
        try:
            return super().keep_record(work, changes=changes)
        finally:
            if self.adds.repair is not None and self._how.conditions and not self._found_nothing:
                self._write_health(self._how.node_name)

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """What the option `action` says."""
        self._how = how = read(RepairOptions, options)
        check_options(how)
        cause = how.finding or how.action
        try:
            result: dict[str, Any] = self._work[how.action](self, options, how)
        except NodeError as error:
            if self._node.link.accepted:
                self.adds.repair = Repair(cause=cause, mended=False, why=str(error))
            raise
        if not self._task.check_mode and not result.get("broken"):
            self.adds.repair = Repair(cause=cause, mended=not self._left, left_to=self._left)
        return result

    def _write_health(self, name: str) -> None:
        """A cluster that does not take the condition is a warning: the machine is as it is."""
        try:
            if (cluster := self._asks.cluster(self._shared.cluster)) is not None:
                told = judge_repairs(find_store().record(self._host))
                write_conditions(cluster, name, lambda _node: told)
        except ClusterError as error:
            self.warn_once(f"The condition {HEALTHY} of the Node {name} was not written: {error}")

    def _rejoin(self, options: dict[str, Any], how: RepairOptions) -> dict[str, Any]:
        """Ask the cluster for the Node, look at the machine, and remove what is in the way."""
        layout = self._node.layout
        if (cluster := self._cluster(how)) is None:
            said = "Whether a node was deleted only the cluster can say"
            raise Refused(f"{said}: set winkube_cluster.kubeconfig to a kubeconfig on the controller.")
        node = cluster.node(how.node_name)

        def build_resources(given: Given[Any]) -> Resources:
            """The clean-up; nothing for a machine that is not a previously deleted node."""
            ours = hns.Ours(hns.list_own_names(how.network_name), how.cluster_cidr)
            situation = join.Situation(layout, how.join, how.node_name, given.reading, node, asked=True)
            found = rejoin.past(situation, ours, always=how.always)
            given.learned.note(PAST, found)
            return (rejoin.Leftovers(layout, found, ours, conf=how.cni_managed_by == "service"),)

        stages = (Stage("clean-up", build_resources),)
        ran, result = self.converge(stages, options, needed=rejoin.reads(layout))
        roles = rejoin.roles(layout, ran.reading)
        self._leave_to(roles)
        found = ran.learned.get(PAST) or rejoin.Past()
        self._found_nothing = not (found.why or found.stale or found.networks)
        return result | rejoin.as_data(found, roles)

    def _cni_conf(self, options: dict[str, Any], how: RepairOptions) -> dict[str, Any]:
        """Mend the CNI configuration that the runtime takes."""

        def build_resources(given: Given[Any]) -> Resources:
            expected = cni_mend.repaired_node(given.options, given.layout)
            reading = complete_cni(given.reading, expected, self._node.probe)
            return cni_mend.resources(reading, expected, given.mark)

        stages = (Stage("cni.conf", build_resources),)
        return self.converge(stages, options, needed=cni_reads(self._node.layout))[1]

    def _cluster(self, how: RepairOptions) -> Cluster | None:
        check_node_name(how.node_name)
        return self._asks.cluster(self._shared.cluster)

    def _network(self, options: dict[str, Any], how: RepairOptions) -> dict[str, Any]:
        layout, cluster = self._node.layout, self._cluster(how)
        nodes = None if cluster is None else list(cluster.nodes())
        repair = NodeRepair(self._node, self.begin(options), network.reads(layout))
        wanted = network.NodeNetwork.of(how, layout, nodes, hns.list_recorded(layout, repair.seen))
        if stuck := network.repair(wanted, repair):
            raise NodeError(f"{self.topic}: {stuck}")
        result = repair.result(diff=self._task.diff)
        if how.switch_mode:  # roles make what the removed network held
            roles = rejoin.roles(layout, repair.seen)
            self._leave_to(roles if how.finding or result["changed"] else ())
            result |= {"roles": list(roles)} if how.finding else {}
        return result

    def _leave_to(self, roles: Iterable[str]) -> None:
        """What follows is the work of these roles."""
        self._left = tuple(roles)

    def _restart(self, options: dict[str, Any], how: RepairOptions) -> dict[str, Any]:
        repair = NodeRepair(self._node, self.begin(options), restart.reads(self._node.layout))
        batch, text = restart.batch(self._node.layout, how.services, repair.seen)
        if text:
            repair.apply(batch, text)
        return repair.result(diff=self._task.diff)

    def _finding(self, options: dict[str, Any], how: RepairOptions) -> dict[str, Any]:
        """What mends a finding that the node has: an action of this module, or roles that follow. Of another one it is
        said that the node does not have it, and nothing is done."""
        remedy_of(how.finding)
        question = gather.Question.at_once(options, self._node.layout, self._host)
        scene = gather.quick(self._node, question, self._cluster(how), services=True)
        found = mendable(how.finding, scene, self._host)
        nothing = repair_result(self._node, (), diff=self._task.diff)
        if found.remedy is None:
            self.warn_once(f"{self._host}: {found.why}")
            return {**nothing, "msg": found.why, "broken": list(found.others)}
        remedy = found.remedy
        if remedy.action == Action.CONVERGE:
            self._leave_to(remedy.on)
            return {**nothing, "roles": list(remedy.on), "steps": [{"text": remedy.plain, "state": "planned"}]}
        options |= remedy.arguments
        how = read(RepairOptions, options)
        return self._work[how.action](self, options, how)

    def _take_over(self, options: dict[str, Any], how: RepairOptions) -> dict[str, Any]:
        layout = self._node.layout
        repair = NodeRepair(self._node, self.begin(options), take_over.reads(layout))
        take_over.refuse_misnamed(layout, repair.seen)
        going = take_over.find_loose(layout, repair.seen)
        services = take_over.services(layout, repair.seen)
        if batch := take_over.batch(layout, going, repair.seen):
            repair.apply(batch, *(each.text for each in going))
            self._leave_to(take_over.list_roles(layout, going))
        return repair.result(diff=self._task.diff) | take_over.as_data(services, going)

    def _acknowledge(self, options: dict[str, Any], how: RepairOptions) -> dict[str, Any]:
        """Say that someone has looked; NodeError if the node is not blocked by this batch."""
        batch = how.batch
        if not self._task.check_mode and self._node.link.acknowledge(batch).outcome != "done":
            raise NodeError(f"The node is not blocked by batch {batch}: nothing to acknowledge.")
        return repair_result(self._node, (f"acknowledge the failed batch {batch}",), diff=self._task.diff)

    _work: ClassVar = {
        "rejoin": _rejoin,
        "network": _network,
        "restart": _restart,
        "finding": _finding,
        "cni_conf": _cni_conf,
        "take_over": _take_over,
        "acknowledge": _acknowledge,
    }
