# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Converges flanneld; documented in modules/win_flannel.py."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..plugin_utils import drain
from ..plugin_utils.cluster.client import Clock, Cluster, wait_for
from ..plugin_utils.cluster.error import ClusterError
from ..plugin_utils.component_action import STALE_TRIES
from ..plugin_utils.components import inbound, log_runner, networks
from ..plugin_utils.components.cni import cni, cni_conf
from ..plugin_utils.components.flannel import flannel, flannel_conf, subnet_env, virtual_switch
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.components.networks import Management
from ..plugin_utils.components.notice import Notice
from ..plugin_utils.engine.batch import Batch
from ..plugin_utils.engine.plan import Step, make_plan
from ..plugin_utils.engine.reading import Reading, merge_queries
from ..plugin_utils.engine.resource import Refused, Resource
from ..plugin_utils.engine.resources.hns_network import HnsNetwork
from ..plugin_utils.facts.flannel import CONFIG_MAPS
from ..plugin_utils.facts.version import Version
from ..plugin_utils.kubernetes_action import KubernetesAction
from ..plugin_utils.node.link import NodeError
from ..plugin_utils.run_id import RUN_ID

POD_CIDR_S = 60
"""So long may the controller manager take to give a new Node its podCIDR."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What the cluster says of this node: its Node, the DaemonSets, flannel's ConfigMap and where it is."""

    server: str
    node: Mapping[str, Any] | None
    daemon_sets: Sequence[Mapping[str, Any]]
    config_map: Mapping[str, Any] | None
    where: str


class ActionModule(KubernetesAction):
    """win_flannel."""

    module = "win_flannel"
    component = flannel.NAME

    _switched: tuple[tuple[Step, ...], Mapping[str, Any]] | None = None
    """The steps of the virtual switch that this task has made, and the node's answer."""

    def resources(
        self, options: Mapping[str, Any], layout: Layout, reading: Reading, mark: str
    ) -> tuple[Resource, ...]:
        """All of flannel; where it is the cluster's, checks and no service."""
        answers = self._answers_of(options)
        name = options["node_name"]
        if options["managed_by"] == "cluster":
            sets = answers.daemon_sets if answers else None
            node = answers.node if answers else None
            if problems := flannel.cluster_managed_problems(layout, reading, sets, node, name):
                raise Refused(*problems)
            return (*flannel.left_to_cluster(layout, reading), *self._firewall(options, reading))
        flannel.check(version=options["version"], node_name=name, warn=lambda text: self.warn_all([text]))
        flannel_conf.check_mode(options["network_mode"], reading.build)
        management = self.management(options, reading)
        if problems := (*self._range_problems(options, management), *self._cluster_problems(options, answers)):
            raise Refused(*problems)
        flannel.prerequisites(layout, reading)
        return flannel.desired(self._args(options, layout, reading, management, answers, mark))

    def stage_first(self, resources: tuple[Resource, ...], reading: Reading) -> Batch | None:
        """A flanneld.exe of unknown origin is compared with the download before it is called different."""
        return cni.stage_first(self.component, resources, reading)

    # -- the virtual switch, in a batch of its own ---------------------------------------------------------------

    def _converged(self, options: Mapping[str, Any], layout: Layout, reading: Reading) -> Any:
        """As every component; and the first virtual switch is made before, since it breaks every connection."""
        if options["managed_by"] == "service" and not self._task.check_mode:
            reading = self._with_switch(options, layout, reading)
        return super()._converged(options, layout, reading)

    def _with_switch(self, options: Mapping[str, Any], layout: Layout, reading: Reading) -> Reading:
        for _attempt in range(STALE_TRIES):
            resources, reading = self._known(options, layout, reading, uuid.uuid4().hex)
            switch = next((each for each in resources if isinstance(each, HnsNetwork) and not each.maker), None)
            change = switch.change(reading) if switch else None
            if switch is None or change is None:
                return reading
            make_plan(
                self.component, resources, reading
            )  # what would be refused is refused before the connection breaks
            server = _api_server(options, self._answers_of(options))
            batch = virtual_switch.batch(switch, server, reading, self.component)
            if batch is None:
                return reading
            self._emptied += drain.before(batch, options, RUN_ID)
            answer = self._apply(batch, uuid.uuid4().hex, layout, reading)
            if answer.get("answer") != "stale":
                self._switched = ((Step(switch.label, change.text, change.before, change.after),), answer)
                return self._after(reading, batch, answer, layout)
            reading = self.read(layout)
        raise NodeError(
            "flannel: the node was restarted each time that its virtual switch was to be made; something else is at "
            "work on it."
        )

    def _apply(self, batch: Batch, batch_id: str, layout: Layout, reading: Reading) -> Mapping[str, Any]:
        """As every component; flanneld changes more than the plan touches: adapters, networks, subnet.env."""
        whole = replace(batch, state=merge_queries((*batch.state, *flannel.state(layout))))
        return super()._apply(whole, batch_id, layout, reading)

    def _finished(self, done: Sequence[Any], options: Mapping[str, Any]) -> dict[str, Any]:
        """The steps of the switch before the others; and what flanneld has written fits the node."""
        layout = Layout.of(options["node"])
        last = done[-1]
        if options["managed_by"] == "service" and not self._task.check_mode:
            self._check_lease(options, layout, last.reading)
        if self._switched is not None:
            steps, answer = self._switched
            plan = replace(done[0].plan, steps=(*steps, *done[0].plan.steps))
            done = (replace(done[0], plan=plan, answer=done[0].answer or answer), *done[1:])
        return super()._finished(done, options)

    def _check_lease(self, options: Mapping[str, Any], layout: Layout, reading: Reading) -> None:
        text = reading.text(subnet_env.path(layout))
        if text is None:
            raise NodeError(f"flannel: flanneld runs, but there is no {subnet_env.path(layout)} that can be read.")
        wrong = subnet_env.problems(
            text,
            cluster=str(networks.ipv4(networks.ranges(options["cluster_cidr"], "winkube_cluster_cidr"))[0]),
            mode=options["network_mode"],
            mtu=self.management(options, reading).adapter.mtu,
        )
        if wrong:
            raise NodeError(f"flannel: {subnet_env.path(layout)} does not fit this node: {'; '.join(wrong)}.")

    # -- what is wanted ------------------------------------------------------------------------------------------

    def _args(
        self,
        options: Mapping[str, Any],
        layout: Layout,
        reading: Reading,
        management: Management,
        answers: Answers | None,
        mark: str,
    ) -> flannel.FlannelArgs:
        service = options["service"]
        mode = options["network_mode"]
        return flannel.FlannelArgs(
            layout=layout,
            source=self.source_of(options, component=flannel.PROGRAM),
            node_name=options["node_name"],
            mode=mode,
            cluster_cidr=options["cluster_cidr"],
            management=management,
            conf=self._conf(options, layout, management),
            switch=virtual_switch.networks_of(
                mode,
                management,
                reading,
                Version.parse(options["version"], "winkube_flannel_version"),
                flannel_conf.network_name(mode, options["network_name"]),
                _api_server(options, answers),
            ),
            manager=service["manager"],
            nssm=self.nssm_of(options, layout, mark),
            rotation=log_runner.rotation(options["log"]),
            network=flannel_conf.network_name(mode, options["network_name"]),
            net_conf=options["net_conf"],
            start_timeout_s=service["start_timeout"],
            stop_timeout_s=service["stop_timeout"],
            notices=(*self._firewall(options, reading), *self._notices(answers)),
            mark=mark,
        )

    def _firewall(self, options: Mapping[str, Any], reading: Reading) -> tuple[Resource, ...]:
        """The port of overlay networks, whoever runs flannel; in other modes there is no rule for it."""
        if options["network_mode"] != "overlay":
            return (inbound.vxlan(wanted=False),) if options["firewall"]["enabled"] else ()
        sources = self.inbound(options, reading)
        return () if sources is None else (inbound.vxlan(sources),)

    def _conf(self, options: Mapping[str, Any], layout: Layout, management: Management) -> str:
        """cni.conf out of its template, checked."""
        wanted = cni_conf.settings(
            plugins=cni.plugins_version(options["plugins_version"]),
            runtime=options["runtime"],
            kubernetes_version=options["kubernetes_version"],
            network=flannel_conf.network_name(options["network_mode"], options["network_name"]),
            mode=options["network_mode"],
            cni_version=options["cni_version"],
            cluster_cidr=options["cluster_cidr"],
            service_cidr=options["service_cidr"],
            subnet=management.subnet,
            management_ip=management.address,
            dns_service_ip=options["dns_service_ip"],
            cluster_domain=options["cluster_domain"],
            extra=options["exception_list"],
            subnet_file="" if subnet_env.is_default(layout) else subnet_env.path(layout),
        )
        text = self.render(options["conf_template"], cni_conf.template_variables(wanted), role=flannel.NAME)
        self.warn_all([*cni_conf.check(text, wanted), *cni_conf.external_warnings(text, options["external_targets"])])
        return text

    def _range_problems(self, options: Mapping[str, Any], management: Management) -> tuple[str, ...]:
        return networks.range_problems(
            options["cluster_cidr"],
            options["service_cidr"],
            options["dns_service_ip"],
            options["network_mode"],
            management.subnet,
        )

    # -- the cluster ---------------------------------------------------------------------------------------------

    def _answers_of(self, options: Mapping[str, Any]) -> Answers | None:
        return self.of_cluster(options, "flannel", lambda cluster: self._ask(cluster, options))

    def _ask(self, cluster: Cluster, options: Mapping[str, Any]) -> Answers:
        name = options["node_name"]

        def node_with_range() -> Mapping[str, Any] | None:
            node = cluster.node(name)
            return node if node and (node.get("spec") or {}).get("podCIDR") else None

        node = cluster.node(name)
        if node is not None and options["managed_by"] == "service" and not self._task.check_mode:
            try:
                node = dict(wait_for(Clock(), POD_CIDR_S, node_with_range))
            except ClusterError:
                node = cluster.node(name)
        found = ((f"{space}/{each}", cluster.config_map(space, each)) for space, each in CONFIG_MAPS)
        where, config_map = next(((where, each) for where, each in found if each is not None), ("", None))
        return Answers(cluster.server, node, cluster.daemon_sets(), config_map, where)

    def _cluster_problems(self, options: Mapping[str, Any], answers: Answers | None) -> tuple[str, ...]:
        if answers is None:
            return ()
        name, cluster = options["node_name"], options["cluster_cidr"]
        problems = [
            None
            if self._task.check_mode and answers.node is None
            else flannel.node_problem(answers.node, name, cluster),
            flannel.beside_daemon_set(answers.daemon_sets, answers.node, name),
        ]
        if answers.config_map is not None:
            found = flannel_conf.cluster_net_conf(answers.config_map, answers.where)
            problems += flannel_conf.cluster_problems(found, options["network_mode"], cluster, answers.where)
        return tuple(each for each in problems if each)

    def _notices(self, answers: Answers | None) -> tuple[Resource, ...]:
        if answers is None:
            text = "not compare this node with the cluster's flannel (winkube_cluster.kubeconfig is empty)"
            return (Notice("flannel of the cluster", text),)
        if answers.config_map is None:
            text = "not compare this node with the cluster's flannel (there is no ConfigMap kube-flannel-cfg)"
            return (Notice("flannel of the cluster", text),)
        return ()


def _api_server(options: Mapping[str, Any], answers: Answers | None) -> virtual_switch.ApiServer | None:
    return virtual_switch.ApiServer.of(options["api_server"] or (answers.server if answers else ""))
