# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clears the way for a node that joins anew; documented in modules/win_k8s_rejoin.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..plugin_utils.cluster.client import Cluster, ClusterError
from ..plugin_utils.component_action import ComponentAction
from ..plugin_utils.components.join import join
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.engine.reading import Reading
from ..plugin_utils.engine.resource import Refused, Resource
from ..plugin_utils.node.link import NodeError
from ..plugin_utils.repair import hns, rejoin, stopping


class ActionModule(ComponentAction):
    """win_k8s_rejoin."""

    module = "win_k8s_rejoin"
    component = rejoin.NAME

    _node: Mapping[str, Any] | None = None
    _past: rejoin.Past = rejoin.Past()

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """Ask the cluster for the Node, look at the machine, and remove what is in the way."""
        join.check_name(options["node_name"])
        try:
            cluster = Cluster.open(options["cluster"])
            if cluster is None:
                raise Refused(
                    "Whether a node was deleted only the cluster can say: set winkube_cluster.kubeconfig to a "
                    "kubeconfig on the controller."
                )
            self._node = cluster.node(options["node_name"])
        except ClusterError as error:
            raise NodeError(f"{self.component}: {error}") from None
        return super().work(options, layout)

    def resources(
        self, options: Mapping[str, Any], layout: Layout, reading: Reading, mark: str
    ) -> tuple[Resource, ...]:
        """The clean-up; nothing for a machine that is no previously deleted node."""
        if missing := reading.missing(rejoin.reads(layout)):
            reading = reading.merged(self._link.probe(missing), missing)
        ours = hns.Ours(hns.own_names(options["network_name"]), options["cluster_cidr"])
        situation = join.Situation(layout, options["join"], options["node_name"], reading, self._node, asked=True)
        self._past = rejoin.past(situation, ours, always=options["always"])
        return (rejoin.Leftovers(layout, self._past, ours, conf=options["cni_managed_by"] == "service"),)

    def _finished(self, done: Sequence[Any], options: Mapping[str, Any]) -> dict[str, Any]:
        """And what was found, and whether the machine has to join anew."""
        layout, reading = Layout.of(options["node"]), done[-1].reading
        there = [name for name in stopping.names(layout) if reading.service(name) is not None]
        found = rejoin.as_data(self._past)
        return super()._finished(done, options) | {"rejoin": bool(self._past.why), "past": found, "services": there}
