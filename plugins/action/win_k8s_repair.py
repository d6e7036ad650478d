# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Repairs a node; documented in modules/win_k8s_repair.py."""

from __future__ import annotations

from typing import Any, ClassVar

from ..plugin_utils.cluster.client import Cluster
from ..plugin_utils.cluster.error import ClusterError
from ..plugin_utils.components.join import join
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.components.stage import Given, Resources, Stage
from ..plugin_utils.diagnosis import cni_mend, gather
from ..plugin_utils.diagnosis.finding import Action
from ..plugin_utils.diagnosis.scene import cni_reads, completed
from ..plugin_utils.diagnosis.table import mendable, remedy_of
from ..plugin_utils.engine.resource import Refused
from ..plugin_utils.node.link import NodeError
from ..plugin_utils.repair import COMPONENT, check_options, hns, network, rejoin, restart, take_over
from ..plugin_utils.task.repair_action import RepairAction


class ActionModule(RepairAction):
    """win_k8s_repair. The actions rejoin and cni_conf have stages as a component has; the others look and act."""

    module = "win_k8s_repair"
    component = COMPONENT

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """What the option `action` says."""
        check_options(options)
        self.begin(options, layout)
        try:
            return self._work[options["action"]](self)
        except ClusterError as error:
            raise NodeError(f"{self.component}: {error}") from None

    def _rejoin(self) -> dict[str, Any]:
        """Ask the cluster for the Node, look at the machine, and remove what is in the way."""
        if (cluster := self._cluster()) is None:
            said = "Whether a node was deleted only the cluster can say"
            raise Refused(f"{said}: set winkube_cluster.kubeconfig to a kubeconfig on the controller.")
        node = cluster.node(self._options["node_name"])
        found = rejoin.Past()

        def desired(given: Given) -> Resources:
            """The clean-up; nothing for a machine that is not a previously deleted node."""
            nonlocal found
            options, layout = given.options, given.layout
            ours = hns.Ours(hns.own_names(options["network_name"]), options["cluster_cidr"])
            situation = join.Situation(layout, options["join"], options["node_name"], given.reading, node, asked=True)
            found = rejoin.past(situation, ours, always=options["always"])
            return (rejoin.Leftovers(layout, found, ours, conf=options["cni_managed_by"] == "service"),)

        run = self.converge(self._options, self._layout)
        reading = self.reading(self._options, self._layout)
        reading = run.through((Stage("clean-up", desired),), reading, needed=rejoin.reads(self._layout))
        roles = rejoin.roles(self._layout, reading)
        return self.finished(run, reading, self._layout) | rejoin.as_data(found, roles)

    def _cni_conf(self) -> dict[str, Any]:
        """Mend the CNI configuration that the runtime takes."""

        def desired(given: Given) -> Resources:
            expect = cni_mend.expectations(given.options, given.layout)
            return cni_mend.resources(completed(given.reading, expect, self._link.probe), expect, given.mark)

        run = self.converge(self._options, self._layout)
        reading = self.reading(self._options, self._layout)
        reading = run.through((Stage("cni.conf", desired),), reading, needed=cni_reads(self._layout))
        return self.finished(run, reading, self._layout)

    def _cluster(self) -> Cluster | None:
        join.check_name(self._options["node_name"])
        return Cluster.open(self._options["cluster"])

    def _network(self) -> dict[str, Any]:
        cluster = self._cluster()
        nodes = None if cluster is None else list(cluster.nodes())
        recorded = hns.recorded(self._layout, self.look_at(network.reads(self._layout)))
        if stuck := network.repair(network.Wanted.of(self._options, self._layout, nodes, recorded), self):
            raise NodeError(f"{self.component}: {stuck}")
        return self.result()

    def _restart(self) -> dict[str, Any]:
        reading = self.look_at(restart.reads(self._layout))
        batch, text = restart.batch(self._layout, self._options["services"], reading)
        if text:
            self.carry_out(batch, text)
        return self.result()

    def _finding(self) -> dict[str, Any]:
        """What mends a finding that the node has: an action of this module, or roles that follow. Of another one it is
        said that the node does not have it, and nothing is done."""
        remedy_of(self._options["finding"])
        question = gather.Question.at_once(self._options, self._layout, self._host)
        scene = gather.quick(self, question, self._cluster(), services=True)
        found = mendable(self._options["finding"], scene, self._host)
        if found.remedy is None:
            self.warn_once(f"{self._host}: {found.why}")
            return {**self.result(), "msg": found.why, "broken": list(found.others)}
        remedy = found.remedy
        if remedy.action == Action.CONVERGE:
            return {**self.result(), "roles": list(remedy.on), "steps": [{"text": remedy.text, "state": "planned"}]}
        self._options |= remedy.arguments
        done = self._work[self._options["action"]](self)
        return (
            {**done, "roles": list(rejoin.roles(self._layout, self.seen))} if remedy.action == Action.SWITCH else done
        )

    def _take_over(self) -> dict[str, Any]:
        reading = self.look_at(take_over.reads(self._layout))
        take_over.refuse_misnamed(self._layout, reading)
        going = take_over.loose(self._layout, reading)
        if batch := take_over.batch(self._layout, going, reading):
            self.carry_out(batch, *(each.text for each in going))
        return self.result() | take_over.as_data(take_over.services(self._layout, reading), going)

    def _acknowledge(self) -> dict[str, Any]:
        """Say that someone has looked; NodeError if the node is not blocked by this batch."""
        batch = self._options["batch"]
        if not self._task.check_mode and self._link.acknowledge(batch).get("outcome") != "done":
            raise NodeError(f"The node is not blocked by batch {batch}: nothing to acknowledge.")
        self._texts.append(f"acknowledge the failed batch {batch}")
        return self.result()

    _work: ClassVar = {
        "rejoin": _rejoin,
        "network": _network,
        "restart": _restart,
        "finding": _finding,
        "cni_conf": _cni_conf,
        "take_over": _take_over,
        "acknowledge": _acknowledge,
    }
