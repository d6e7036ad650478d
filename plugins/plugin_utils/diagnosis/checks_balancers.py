# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of load balancing rules: against endpoints, against kube-proxy, against Services."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ..cluster.backends import DESTINATIONS
from ..engine.sentences import join_words
from ..network.model import LoadBalancer, PolicyList
from ..words.cause import ERROR, WARNING, Cause
from ..words.causes import CAUSES
from ..words.finding import Seen
from ..words.remedies import POLICY_LISTS, RESTART_KUBE_PROXY
from .check import Check, Needs, inside, ranges
from .scene import Scene

Key = tuple[str, int, str]


def _label(balancer: LoadBalancer) -> str:
    return f"rule {join_words(balancer.vips)}:{balancer.external}/{balancer.protocol}"


def _keys(balancer: LoadBalancer) -> Iterator[Key]:
    for vip in balancer.vips:
        yield vip, balancer.external, balancer.protocol


def _rules(scene: Scene) -> dict[Key, list[PolicyList]]:
    found: dict[Key, list[PolicyList]] = defaultdict(list)
    for policy_list, balancer in scene.hns.balancers():
        for key in _keys(balancer):
            found[key].append(policy_list)
    return found


def _none(scene: Scene) -> Iterator[Seen]:
    """Each cluster has the Service default/kubernetes."""
    service = scene.service(scene.layout.kube_proxy_service)
    if not scene.expected.kube_proxy_is_ours or not scene.hns.knows("policylists") or service is None:
        return
    if service.get("state") == "running" and next(scene.hns.balancers(), None) is None:
        yield Seen("rules", "HNS has none, though kube-proxy runs", "at least that of the Service default/kubernetes")


def _reference_gone(scene: Scene) -> Iterator[Seen]:
    if not scene.hns.knows("endpoints", "policylists"):
        return
    known = {each.id for each in scene.hns.endpoints}
    for policy_list in scene.hns.policy_lists:
        gone = [each for each in policy_list.endpoints if each not in known]
        if gone:
            name = _label(policy_list.balancers[0]) if policy_list.balancers else f"policy list {policy_list.id[:8]}"
            yield Seen(
                name, f"it leads to endpoints that are not there: {join_words(each[:8] for each in gone)}", "endpoints"
            )


def _twice(scene: Scene) -> Iterator[Seen]:
    for (vip, port, protocol), found in _rules(scene).items():
        if len(found) > 1:
            yield Seen(f"rule {vip}:{port}/{protocol}", f"{len(found)} policy lists have it", "one")


def _source_vip(scene: Scene) -> Iterator[Seen]:
    """Rules for addresses of the node and of load balancers have the host's own. Source: kubernetes
    pkg/proxy/winkernel/proxier.go syncProxyRules (sourceVip = proxier.nodeIP)."""
    network = scene.pod_network
    if network is None or network.type != "overlay":
        return
    own = {network.management_ip, *(address for each in scene.adapters or () for address, _length in each.addresses)}
    for _list, balancer in scene.hns.balancers():
        if balancer.source_vip in own:
            continue
        if balancer.source_vip and network.prefixes and not inside(balancer.source_vip, network.prefixes):
            seen = f"its source VIP is {balancer.source_vip}, outside {join_words(network.prefixes)}"
        elif scene.source_vip and balancer.source_vip != scene.source_vip:
            seen = f"its source VIP is {balancer.source_vip or 'missing'}, kube-proxy's is {scene.source_vip}"
        else:
            continue
        yield Seen(_label(balancer), seen, "kube-proxy's source VIP, an address of the node's range")


def _missing(scene: Scene) -> Iterator[Seen]:
    if scene.cluster is None or not scene.hns.knows("policylists"):
        return
    rules = _rules(scene)
    if not rules:
        return  # all of them: kube-proxy.no-rules says so
    for port in scene.cluster.ports:
        if port.backends and (port.address, port.port, port.protocol) not in rules:
            yield Seen(
                f"Service {port.service}",
                f"there is no rule for {port.address}:{port.port}/{port.protocol}",
                f"one that leads to {join_words(port.backends)}",
            )


def _stale(scene: Scene) -> Iterator[Seen]:
    """Only addresses of the services' network: node ports and external addresses have rules of their own."""
    cluster, services = scene.cluster, ranges(scene.expected.service_cidr)
    if cluster is None or not services:
        return
    for vip, port, protocol in _rules(scene):
        if inside(vip, services) and vip not in cluster.addresses:
            yield Seen(f"rule {vip}:{port}/{protocol}", "no Service has this address", "no rule")


def _backends(scene: Scene) -> Iterator[Seen]:
    if scene.cluster is None or not scene.hns.knows("endpoints", "policylists"):
        return
    rules = _rules(scene)
    for port in scene.cluster.ports:
        for policy_list in rules.get((port.address, port.port, port.protocol), ()):
            ends = [scene.hns.endpoint(each) for each in policy_list.endpoints]
            leads = {address for each in ends if each is not None for address in each.addresses}
            behind = set(port.backends)
            if behind and leads and leads != behind and (leads - scene.cluster.behind or behind - leads):
                yield Seen(
                    f"Service {port.service}",
                    f"its rule for {port.address}:{port.port}/{port.protocol} leads to {join_words(sorted(leads))}",
                    join_words(sorted(behind)),
                )


def _too_many(scene: Scene) -> Iterator[Seen]:
    """Counted before HNS refuses the rule, and whether or not it has by now."""
    for each in scene.large if scene.uses_dsr is False else ():
        yield Seen(
            f"Service {each.name}",
            f"it has {each.endpoints} endpoints, and kube-proxy runs without DSR here",
            f"{DESTINATIONS} at most, or DSR",
            explains=("kube-proxy.rule-missing",),
        )


CHECKS = (
    Check(CAUSES["kube-proxy.rule-too-many"], _too_many, needs=Needs.NODE),
    Check(
        Cause(
            "kube-proxy.no-rules",
            ERROR,
            "There are no load balancing rules",
            "HNS lost them or was restarted, or kube-proxy waits for a network of another name.",
            RESTART_KUBE_PROXY,
            "kubernetes/kubernetes#110849",
            explains=("kube-proxy.rule-*", "traffic.*"),
        ),
        _none,
    ),
    Check(
        Cause(
            "kube-proxy.rule-endpoint-gone",
            ERROR,
            "A rule leads to an endpoint that is gone",
            "The endpoint was deleted under kube-proxy.",
            RESTART_KUBE_PROXY,
            "kubernetes/kubernetes#110849",
            explains=("kube-proxy.rule-backends", "traffic.*"),
        ),
        _reference_gone,
    ),
    Check(
        Cause(
            "kube-proxy.rule-twice",
            WARNING,
            "Two rules have the same address and port",
            "kube-proxy was stopped and started without clearing what it had made.",
            POLICY_LISTS,
        ),
        _twice,
    ),
    Check(
        Cause(
            "kube-proxy.rule-source-vip",
            ERROR,
            "A rule has another source VIP",
            "The node's range has changed, or the rule is older than kube-proxy's last start.",
            POLICY_LISTS,
            "kubernetes/kubernetes#100962",
            explains=("traffic.*",),
        ),
        _source_vip,
    ),
    Check(
        Cause(
            "kube-proxy.rule-missing",
            ERROR,
            "A Service has no rule on this node",
            "HNS lost the rule, or kube-proxy could not make it (its log says: Policy creation failed).",
            RESTART_KUBE_PROXY.said(
                "Restart-Service kube-proxy: it recreates its rules; its log says which it cannot make."
            ),
            "kubernetes/kubernetes#110849",
            explains=("traffic.*",),
        ),
        _missing,
        needs=Needs.CLUSTER,
    ),
    Check(
        Cause(
            "kube-proxy.rule-stale",
            WARNING,
            "A rule is there whose Service is gone",
            "kube-proxy could not delete it, or was stopped when the Service went.",
            POLICY_LISTS,
            "kubernetes/kubernetes#139519",
        ),
        _stale,
        needs=Needs.CLUSTER,
    ),
    Check(
        Cause(
            "kube-proxy.rule-backends",
            ERROR,
            "A rule leads to other addresses than the Service has",
            "kube-proxy or HNS did not take in a change of the endpoints.",
            RESTART_KUBE_PROXY,
            "kubernetes/kubernetes#131466",
            explains=("traffic.*",),
        ),
        _backends,
        needs=Needs.CLUSTER,
    ),
)
