# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""kube-proxy as a component. In overlay the source VIP is reserved first, since the command line contains it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ...cluster.objects import full_name
from ...cluster.pods import has_own_network, pods_of, stays_in_drain
from ...engine.answer import Answer
from ...engine.batch import Batch
from ...engine.resource import Refused
from ...engine.sentences import join_words
from ...facts.windows import KUBE_PROXY_RULE
from ..declaration import Component
from ..healthz import find_arguments
from ..shared_arguments import (
    check_skew,
    feature_gates,
    kubernetes_version,
    program_alone,
    running,
    service_manager,
    source_of,
)
from ..stage import First, Given, Resources, Stage
from . import kube_proxy, source_vip
from .kube_proxy_args import KubeProxy, uses_dsr
from .options import INTERFACE, KubeProxyOptions


def build_resources(given: Given[KubeProxyOptions]) -> Resources:
    """Folders, program, service; no service if kube-proxy is the cluster's; only the program in an image."""
    options, layout = given.options, given.layout
    if given.shared.golden_image:
        return program_alone(given, kube_proxy.DAEMON, kube_proxy.program, kube_proxy.NAME)
    theirs = _daemon_sets(given)
    if options.managed_by == "cluster":
        gone = (*kube_proxy.leave_to_cluster(layout, given.reading), *kube_proxy.firewall(options.firewall))
        if theirs == ():
            given.warn([kube_proxy.nobody_runs_it(options.node_name)])
        return gone
    if theirs:
        kube_proxy.refuse_beside(theirs[0], options.node_name)
    refuse_under_pods(given)
    return kube_proxy.build_resources(arguments(given), given.reading)


SHOWN = 5
"""Pods that a sentence names."""
NO_POD_ASKED = (
    "direct server return begins, and without winkube_cluster.kubeconfig pods are not looked for: those that run here "
    "do not reach themselves by their Service until they are recreated."
)


def refuse_under_pods(given: Given[KubeProxyOptions]) -> None:
    """Refuse direct server return for pods whose endpoints were made without it: none of them gets its policy later.
    Those that a drain would leave are told, with a drain too."""
    options, layout = given.options, given.layout
    service = given.reading.service(layout.kube_proxy_service)
    argv = find_arguments(service, layout.kube_proxy_binary) if service else None
    if argv is None or not options.dsr or uses_dsr(argv):
        return
    name, drains = options.node_name.lower(), given.shared.drain.enabled
    pods = given.ask_cluster("pods with a network", lambda cluster: sort_pods(cluster.items(pods_of(name))))
    if pods is None:
        if not drains:
            given.warn([NO_POD_ASKED])
        return
    if pods.going and not drains:
        raise Refused(
            f"winkube_kube_proxy_dsr: pods run on {name} ({_name_some(pods.going)}) whose endpoints were made without "
            "the loopback policy that direct server return needs: they would no longer reach themselves by their "
            "Service. Set winkube_drain: true, so that they are recreated, or drain the Node yourself before."
        )
    if pods.staying:
        given.warn(
            [
                f"direct server return begins, and a drain leaves the pods of DaemonSets ({_name_some(pods.staying)}): "
                "they do not reach themselves by their Service until you delete them and they come back."
            ]
        )


class Pods(NamedTuple):
    """Names of a Node's pods with a network of their own, by what a drain does with them."""

    going: tuple[str, ...]
    staying: tuple[str, ...]


def sort_pods(found: Sequence[Mapping[str, Any]]) -> Pods:
    """The pods that have a network of their own."""
    own = sorted((stays_in_drain(each), full_name(each)) for each in found if has_own_network(each))
    return Pods(tuple(name for stays, name in own if not stays), tuple(name for stays, name in own if stays))


def _name_some(names: Sequence[str]) -> str:
    return join_words((*names[:SHOWN], *((f"{len(names) - SHOWN} more",) if len(names) > SHOWN else ())))


def arguments(given: Given[KubeProxyOptions]) -> kube_proxy.KubeProxyArgs:
    """The component's arguments: the options with what depends on this node."""
    options, layout = given.options, given.layout
    version = kubernetes_version(options.version)
    mode = kube_proxy.mode(options.network_mode)
    overlay = mode == "overlay"
    vip = _find_present_vip(given) if overlay else ""
    manager = service_manager(given, kube_proxy.DAEMON)
    resolved = replace(
        options,
        network_mode=mode,
        feature_gates=feature_gates(options.feature_gates),
        service=replace(options.service, manager=manager),
    )
    wanted = KubeProxy(
        resolved,
        layout,
        source_vip=(vip or source_vip.UNKNOWN) if overlay else "",
        pod_cidr=source_vip.pod_range(layout, given.reading) if vip else "",
    )
    return kube_proxy.KubeProxyArgs(
        wanted=wanted,
        source=source_of(given, kube_proxy.NAME, options.version),
        inbound=kube_proxy.firewall(options.firewall, wanted),
        notices=check_skew(given, version),
        reads_vip=source_vip.reads(layout, source_vip.folder_of(wanted)) if overlay else (),
        mark=given.mark,
        service=running(given, kube_proxy.DAEMON),
    )


def _daemon_sets(given: Given[KubeProxyOptions]) -> tuple[str, ...] | None:
    """The DaemonSets that run kube-proxy on this node; None without access to the cluster."""
    name = given.options.node_name.lower()
    sets = given.ask_for_all("all daemon sets", lambda cluster: cluster.daemon_sets())
    if sets is None:
        return None
    return given.ask_cluster("daemon sets", lambda cluster: kube_proxy.find_daemon_sets(sets, cluster.node(name), name))


def reserve_vip(given: Given[KubeProxyOptions], _resources: Resources) -> Batch | None:
    """A batch in which the node's own host-local reserves an address; None if there is one, or none is needed."""
    options = given.options
    here = options.managed_by == "service" and not given.shared.golden_image
    if not here or options.network_mode != "overlay" or _find_present_vip(given):
        return None
    return source_vip.reserve(KubeProxy(given.options, given.layout), given.reading, given.name)


def read_reserved_vip(given: Given[KubeProxyOptions], _batch: Batch, answer: Answer) -> Mapping[str, Any]:
    """The address that host-local printed."""
    return {source_vip.KEY: source_vip.read_reserved(answer, source_vip.pod_range(given.layout, given.reading))}


def _find_present_vip(given: Given[KubeProxyOptions]) -> str:
    service = given.reading.service(given.layout.kube_proxy_service)
    return source_vip.find_present(KubeProxy(given.options, given.layout), service, given.reading)


SOURCE_VIP = First(
    reserve_vip,
    learned=read_reserved_vip,
    planned=True,
    unsettled="subnet.env on the node changed each time that a source VIP was reserved; flanneld seems to restart "
    "again and again.",
)

COMPONENT = Component(
    name=kube_proxy.NAME,
    role="kube_proxy",
    reads=kube_proxy.reads,
    expected=lambda expected: expected.runs_kube_proxy,
    interface=INTERFACE,
    daemon=kube_proxy.DAEMON,
    settings=lambda layout: (source_vip.source_vip_json(layout),),
    files=lambda layout: (layout.kube_proxy_kubeconfig, source_vip.request_json(layout)),
    tools=lambda layout: (layout.nssm, layout.log_runner),
    rules=(KUBE_PROXY_RULE,),
    bound=lambda layout: (
        layout.kube_proxy_kubeconfig,
        source_vip.source_vip_json(layout),
        source_vip.request_json(layout),
    ),
    stages=(Stage("kube-proxy", build_resources, first=(SOURCE_VIP,)),),
)
