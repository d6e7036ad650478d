# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""flannel as a component. A batch of its own makes the external vSwitch, which breaks every connection to the
machine; a second batch does the rest."""

from __future__ import annotations

from collections.abc import Collection

from ...cluster.client import Cluster
from ...engine.batch import Batch
from ...engine.plan import Step
from ...engine.resource import Change, Refused, list_refusals
from ...engine.resources.hns_network import HnsNetwork
from ...facts.calico import hns_mode
from ...facts.windows import VXLAN_RULE
from .. import inbound
from ..cni.cni import COMPARED
from ..declaration import Component
from ..kubernetes_fit import release
from ..networks import Management
from ..shared_arguments import inbound_networks, management, program_alone, running, source_of
from ..stage import After, First, Given, Resources, Stage
from . import cni_conf, flannel, flannel_conf, in_cluster, subnet_env, virtual_switch
from .in_cluster import Answers, notices
from .options import INTERFACE, FlannelOptions


def build_resources(given: Given[FlannelOptions]) -> Resources:
    """All of flannel. If it is the cluster's, only checks and no service; in an image only the program."""
    options, layout, reading = given.options, given.layout, given.reading
    if given.shared.golden_image:
        return program_alone(given, flannel.DAEMON, flannel.program, flannel.PROGRAM)
    answers = answers_of(given)
    name = options.node_name
    if options.managed_by == "cluster":
        sets = answers.daemon_sets if answers else None
        node = answers.node if answers else None
        problems = in_cluster.cluster_managed_problems(layout, reading, sets, node, name)
        if problems := (*problems, *(answers.backend_problems() if answers else ())):
            raise Refused(*problems)
        return (*in_cluster.leave_to_cluster(layout, reading), *_firewall(given))

    version = release(options.version, "winkube_flannel_version")
    flannel.check(release=version, node_name=name, warn=lambda text: given.warn([text]))
    flannel_conf.check_mode(options.network_mode, reading.build)
    address = management(given.reading, options.address)
    found = answers.problems(options, check=given.is_unsettled) if answers else ()
    unvouched = list_refusals(lambda: source_of(given, flannel.PROGRAM, options.version))
    if problems := (*flannel.range_problems(options, address), *found, *unvouched):
        raise Refused(*problems)
    if answers is not None and answers.config_map is None and reading.service(layout.flanneld_service) is None:
        given.warn(filter(None, [flannel_conf.unseen_port(answers.nodes, options.network_mode)]))
    flannel.prerequisites(layout, reading)
    network = flannel_conf.network_name(options.network_mode, options.network_name)
    server = flannel.api_server_of(options, answers.server if answers else "")
    return flannel.build_resources(
        flannel.Flanneld(
            options,
            layout,
            source=source_of(given, flannel.PROGRAM, options.version),
            service=running(given, flannel.DAEMON),
            conf=conf(given, address),
            management=address,
            switch=virtual_switch.networks_of(options.network_mode, address, reading, version, network, server),
            notices=(*_firewall(given), *notices(answers)),
            mark=given.mark,
        )
    )


def answers_of(given: Given[FlannelOptions]) -> Answers | None:
    """What the cluster says; None without access to it."""
    options = given.options
    ours = options.managed_by == "service"
    waits = ours and not given.is_unsettled

    def ask(cluster: Cluster) -> Answers:
        shared = given.cluster(shared=True) or cluster
        return Answers.of(cluster, shared, options.node_name, ours=ours, waits=waits)

    return given.ask_cluster("flannel", ask)


def _firewall(given: Given[FlannelOptions]) -> Resources:
    """The firewall rule for overlay's port, with any runner of flannel. Other modes have none."""
    if hns_mode(given.options.network_mode) != "overlay":
        return (inbound.vxlan(wanted=False),) if given.shared.firewall.enabled else ()
    sources = inbound_networks(given, given.options.address, given.options.cluster_cidr)
    return () if sources is None else (inbound.vxlan(sources),)


def conf(given: Given[FlannelOptions], address: Management) -> str:
    """The rendered and checked cni.conf."""
    options = given.options
    wanted = flannel.conf_settings(options, given.layout, address)
    text = given.asks.render(options.conf_template, cni_conf.template_variables(wanted), flannel.NAME)
    given.warn((*cni_conf.check(text, wanted), *cni_conf.external_warnings(text, options.external_targets)))
    return text


def switch(given: Given[FlannelOptions], resources: Resources) -> Batch | None:
    """The batch that makes the external vSwitch; None if it exists, or if flanneld is not ours."""
    if not flannel.runs_here(given.options, golden_image=given.shared.golden_image):
        return None
    found = _switch_change(given, resources)
    if found is None:
        return None
    answers = answers_of(given)
    server = flannel.api_server_of(given.options, answers.server if answers else "")
    return virtual_switch.batch(found[0], server, given.reading, given.name)


def switch_steps(given: Given[FlannelOptions], resources: Resources) -> tuple[Step, ...]:
    """The steps to print for it."""
    found = _switch_change(given, resources)
    if found is None:
        return ()
    network, change = found
    return (Step(network.label, change.text, change.before, change.after),)


def _switch_change(given: Given[FlannelOptions], resources: Resources) -> tuple[HnsNetwork, Change] | None:
    network = next((each for each in resources if isinstance(each, HnsNetwork) and not each.maker), None)
    change = network.change(given.reading) if network else None
    return None if network is None or change is None else (network, change)


def fits(given: Given[FlannelOptions], _acted: Collection[str], _changed: bool) -> After:
    """Check that the files written by flanneld fit the node."""
    if not flannel.runs_here(given.options, golden_image=given.shared.golden_image) or given.reading.predicted:
        return After()
    mtu = management(given.reading, given.options.address).adapter.mtu
    return After(problem=flannel.lease_problem(given.options, given.layout, given.reading, mtu) or "")


COMPONENT = Component(
    name=flannel.PROGRAM,
    role="flannel",
    reads=flannel.reads,
    expected=lambda expected: expected.runs_flannel,
    interface=INTERFACE,
    daemon=flannel.DAEMON,
    settings=lambda layout: (flannel.conf_path(layout), subnet_env.path(layout)),
    files=lambda layout: (layout.flanneld_kubeconfig,),
    tools=lambda layout: (layout.nssm,),
    folders=lambda layout: (layout.flannel_dir, layout.flannel_run_dir),
    rules=(VXLAN_RULE,),
    bound=lambda layout: (flannel.conf_path(layout), subnet_env.path(layout), layout.flanneld_kubeconfig),
    stages=(
        Stage(
            "flannel",
            build_resources,
            first=(First(switch, steps=switch_steps, planned=True), COMPARED),
            # flanneld changes more than the plan does: adapters, networks, subnet.env.
            state=flannel.state,
        ),
    ),
    after=fits,
)
