# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Installs and configures flanneld; documented in modules/win_flannel.py."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..plugin_utils import drain
from ..plugin_utils.component_action import STALE_TRIES
from ..plugin_utils.components import inbound
from ..plugin_utils.components.cni import cni, cni_conf
from ..plugin_utils.components.flannel import flannel, flannel_conf, in_cluster, virtual_switch
from ..plugin_utils.components.flannel.in_cluster import Answers, notices
from ..plugin_utils.components.kubernetes_fit import release
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.components.networks import Management
from ..plugin_utils.engine.batch import Batch
from ..plugin_utils.engine.plan import Step, make_plan
from ..plugin_utils.engine.reading import Reading, merge_queries
from ..plugin_utils.engine.resource import Refused, Resource
from ..plugin_utils.engine.resources.hns_network import HnsNetwork
from ..plugin_utils.node.link import NodeError
from ..plugin_utils.run_id import RUN_ID
from ..plugin_utils.source_action import KubernetesAction


class ActionModule(KubernetesAction):
    """win_flannel."""

    module = "win_flannel"
    component = flannel.NAME

    _switched: tuple[tuple[Step, ...], Mapping[str, Any]] | None = None
    """The steps of the virtual switch that this task has made, and the node's answer."""

    def resources(
        self, options: Mapping[str, Any], layout: Layout, reading: Reading, mark: str
    ) -> tuple[Resource, ...]:
        """All of flannel; where it is the cluster's, checks and no service; in an image the program alone."""
        if options["golden_image"]:
            return self.program_alone(options, layout, mark, flannel.program, flannel.PROGRAM)
        answers = self._answers_of(options, reading)
        name = options["node_name"]
        if options["managed_by"] == "cluster":
            sets = answers.daemon_sets if answers else None
            node = answers.node if answers else None
            if problems := in_cluster.cluster_managed_problems(layout, reading, sets, node, name):
                raise Refused(*problems)
            return (*in_cluster.left_to_cluster(layout, reading), *self._firewall(options, reading))
        version = release(options["version"], "winkube_flannel_version")
        flannel.check(release=version, node_name=name, warn=lambda text: self.warn_all([text]))
        flannel_conf.check_mode(options["network_mode"], reading.build)
        management = self.management(options, reading)
        found = answers.problems(options, check=self._unsettled(reading)) if answers else ()
        if problems := (*flannel.range_problems(options, management), *found):
            raise Refused(*problems)
        flannel.prerequisites(layout, reading)
        return flannel.desired(
            flannel.flannel_args(
                options,
                layout,
                reading,
                management,
                version=version,
                source=self.source_of(options, component=flannel.PROGRAM),
                service=self.service_options(options, layout, mark),
                conf=self._conf(options, layout, management),
                api_server=answers.server if answers else "",
                notices=(*self._firewall(options, reading), *notices(answers)),
                mark=mark,
            )
        )

    def stage_first(self, resources: tuple[Resource, ...], reading: Reading) -> Batch | None:
        """A flanneld.exe of unknown origin is compared with the download before it is called different."""
        return cni.stage_first(self.component, resources, reading)

    # -- the virtual switch, in a batch of its own ---------------------------------------------------------------

    def _converged(self, options: Mapping[str, Any], layout: Layout, reading: Reading) -> Any:
        """As every component; and the external vSwitch is made before, since it breaks every connection."""
        if flannel.runs_here(options) and not self._task.check_mode:
            reading = self._with_switch(options, layout, reading)
        return super()._converged(options, layout, reading)

    def _with_switch(self, options: Mapping[str, Any], layout: Layout, reading: Reading) -> Reading:
        for _attempt in range(STALE_TRIES):
            resources, reading = self._known(options, layout, reading, uuid.uuid4().hex)
            switch = next((each for each in resources if isinstance(each, HnsNetwork) and not each.maker), None)
            change = switch.change(reading) if switch else None
            if switch is None or change is None:
                return reading
            make_plan(self.component, resources, reading)  # refuses now what it would after the connection has broken
            answers = self._answers_of(options, reading)
            server = flannel.api_server_of(options, answers.server if answers else "")
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
        if flannel.runs_here(options) and not last.reading.predicted:
            mtu = self.management(options, last.reading).adapter.mtu
            if problem := flannel.lease_problem(options, layout, last.reading, mtu):
                raise NodeError(f"flannel: {problem}")
        if self._switched is not None:
            steps, answer = self._switched
            plan = replace(done[0].plan, steps=(*steps, *done[0].plan.steps))
            done = (replace(done[0], plan=plan, answer=done[0].answer or answer), *done[1:])
        return super()._finished(done, options)

    def _firewall(self, options: Mapping[str, Any], reading: Reading) -> tuple[Resource, ...]:
        """The port of overlay networks, whoever runs flannel; in other modes there is no rule for it."""
        if options["network_mode"] != "overlay":
            return (inbound.vxlan(wanted=False),) if options["firewall"]["enabled"] else ()
        sources = self.inbound(options, reading)
        return () if sources is None else (inbound.vxlan(sources),)

    def _conf(self, options: Mapping[str, Any], layout: Layout, management: Management) -> str:
        """cni.conf out of its template, checked."""
        wanted = flannel.conf_settings(options, layout, management)
        text = self.render(options["conf_template"], cni_conf.template_variables(wanted), role=flannel.NAME)
        self.warn_all([*cni_conf.check(text, wanted), *cni_conf.external_warnings(text, options["external_targets"])])
        return text

    def _answers_of(self, options: Mapping[str, Any], reading: Reading) -> Answers | None:
        waits = options["managed_by"] == "service" and not self._unsettled(reading)
        return self.of_cluster(options, "flannel", lambda of: Answers.of(of, options["node_name"], waits=waits))
