# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of HNS's endpoints: addresses, namespaces, pods."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from ..components.networks import find_uncovered
from ..engine.sentences import join_words
from ..network.model import DEGRADED, DESTROYED, DETACHED, STATES, Endpoint
from ..words.cause import ERROR, WARNING, Cause
from ..words.causes import CAUSES
from ..words.finding import Seen
from ..words.remedies import MEND_CNI_CONF, advice, converge
from ..words.remedy import Ends
from .check import Check, Needs, inside, ranges
from .scene import Scene

_CONTAINER = re.compile(r"[0-9a-f]{8,}", re.IGNORECASE)
"""What a pod's endpoint has in its name, whichever CNI made it: its container's id. One without it may be someone's
own, which no one should be told to delete."""

_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


def suffix_problem(suffixes: tuple[str, ...], domain: str) -> str:
    """What is wrong with an endpoint's DNS suffixes: the first, the one that Windows appends, is
    `<namespace>.svc.<cluster domain>`. Empty if nothing is, or there are none.

    EKS' plugin joins the list dns.search of its configuration (amazon-vpc-cni-plugins
    plugins/vpc-bridge/network/bridge_windows.go); which suffixes EKS writes there, in which order, is unverified."""
    if not suffixes or not domain:
        return ""
    head, _dot, tail = suffixes[0].partition(".")
    if tail.casefold() == f"svc.{domain}".casefold() and _NAMESPACE.fullmatch(head):
        return ""
    own = [each.casefold() for each in suffixes]
    if not any("svc" in each.split(".") or f".{each}".endswith(f".{domain.casefold()}") for each in own):
        return ""  # a pod with dnsPolicy Default has the host's suffixes, whatever they are
    return f"its first DNS suffix is {suffixes[0]}"


def _pods(scene: Scene) -> Iterator[Endpoint]:
    return (each for each in scene.hns.endpoints if scene.is_pods(each))


def _duplicate(scene: Scene) -> Iterator[Seen]:
    holders: dict[tuple[str, str], list[Endpoint]] = defaultdict(list)
    for each in scene.hns.endpoints:
        for address in each.addresses:
            holders[each.network, address].append(each)
    for (_network, address), found in holders.items():
        if len(found) > 1:
            yield Seen(
                f"address {address}", f"{len(found)} endpoints have it: {join_words(e.label for e in found)}", "one"
            )


def _without_namespace(scene: Scene) -> Iterator[Seen]:
    """The hosts' own endpoints, remote ones and the source VIP have none by design; one with a container was made for
    dockershim."""
    if not scene.hns.knows("endpoints", "namespaces", "networks"):
        return
    for each in _pods(scene):
        if not scene.hns.is_attached(each) and not each.containers and _CONTAINER.search(each.name):
            yield Seen(each.label, "it is in no namespace", "a pod's namespace")


def _namespace_gone(scene: Scene) -> Iterator[Seen]:
    if not scene.hns.knows("endpoints", "namespaces"):
        return
    known = {each.id for each in scene.hns.namespaces}
    for each in scene.hns.endpoints:
        if each.namespace and each.namespace not in known:
            yield Seen(each.label, f"its namespace {each.namespace[:8]} is not there", "a namespace that is there")


def _network_gone(scene: Scene) -> Iterator[Seen]:
    if not scene.hns.knows("endpoints", "networks"):
        return
    for each in scene.hns.endpoints:
        if each.network and scene.hns.network_of(each) is None:
            yield Seen(each.label, f"its network {each.network_name or each.network[:8]} is not there", "a network")


def _outside(scene: Scene) -> Iterator[Seen]:
    for each in _pods(scene):
        home = scene.hns.network_of(each)
        if home is None or not home.prefixes:
            continue
        wrong = [one for one in each.addresses if not inside(one, home.prefixes)]
        if wrong and len(wrong) == len(each.addresses):
            yield Seen(
                each.label, f"it lies outside {join_words(home.prefixes)} of {home.name}", "an address of its network"
            )


def _not_attached(scene: Scene) -> Iterator[Seen]:
    for each in scene.hns.endpoints:
        if each.state in {DETACHED, DEGRADED, DESTROYED}:
            yield Seen(each.label, f"its state is {STATES[each.state]}", "attached")


def _find_translated(scene: Scene) -> Iterator[Seen]:
    known = ranges(f"{scene.expected.cluster_cidr},{scene.expected.service_cidr}")
    needed = [str(each) for each in known if each.version == 4]
    for endpoint in _pods(scene):
        rules = [each for each in endpoint.policies if each.type == "OutBoundNAT"]
        if not needed or not rules:
            continue
        exceptions = [one for each in rules for one in each.exceptions if ranges(one)]
        missing = find_uncovered([str(each) for one in exceptions for each in ranges(one)], needed)
        if missing:
            yield Seen(
                endpoint.label,
                f"its traffic to {join_words(missing)} is translated; its exceptions are: {join_words(exceptions)}",
                "exceptions that cover pods and services",
            )


def _find_unfilled(scene: Scene) -> Iterator[Seen]:
    """A policy with what a template left behind: HNS takes it, and the endpoint does not come up."""
    for each in scene.hns.endpoints:
        wrong = [
            text for rule in each.policies for text in (*rule.exceptions, rule.prefix) if text and not ranges(text)
        ]
        if wrong:
            yield Seen(
                each.label, f"a policy of it says {join_words(dict.fromkeys(wrong))}", "networks such as 10.96.0.0/12"
            )


def _without_loopback(scene: Scene) -> Iterator[Seen]:
    """Under DSR a pod gets back what it sent to its own Service only where its endpoint translates it. The CNI plugin
    writes that when it makes the endpoint, and never later. Sources: containernetworking/plugins
    pkg/hns/netconf_windows.go (ApplyLoopbackDSRPolicy), hcsshim internal/hns/hnspolicy.go (OutboundNatPolicy)."""
    if not scene.uses_dsr or not scene.expected.flannel_is_ours:
        return
    names = {pod.address: f", of the pod {pod.name}," for pod in (scene.cluster.pods if scene.cluster else ())}
    for each in _pods(scene):
        back = {one for rule in each.policies if rule.type == "OutBoundNAT" for one in rule.destinations}
        if each.addresses and scene.hns.is_attached(each) and not back & set(each.addresses):
            yield Seen(
                f"{each.label}{names.get(each.addresses[0], '')}",
                "it has no loopback policy: it was made before kube-proxy used DSR",
                f"OutBoundNAT with the destination {each.addresses[0]}",
            )


def _dns_suffix(scene: Scene) -> Iterator[Seen]:
    for each in _pods(scene):
        problem = suffix_problem(each.dns_suffixes, scene.expected.kubelet.cluster_domain)
        if problem:
            yield Seen(each.label, problem, f"<namespace>.svc.{scene.expected.kubelet.cluster_domain}")


def _remote_stale(scene: Scene) -> Iterator[Seen]:
    cluster = scene.cluster
    if cluster is None:
        return
    for each in scene.hns.endpoints:
        if each.remote and each.addresses and not set(each.addresses) & cluster.behind:
            # flannel's and Calico's own remote endpoints stand for ranges, not for pods
            if scene.expected.cluster_cidr and not any(
                inside(one, ranges(scene.expected.cluster_cidr)) for one in each.addresses
            ):
                continue
            yield Seen(each.label, "no EndpointSlice has its address", "an address behind a Service")


def _pod_without(scene: Scene) -> Iterator[Seen]:
    cluster = scene.cluster
    if cluster is None or not scene.hns.knows("endpoints"):
        return
    own = {address for each in scene.hns.endpoints if not each.remote for address in each.addresses}
    for pod in cluster.pods:
        if pod.address not in own:
            yield Seen(f"pod {pod.name}", f"HNS has no endpoint with its address {pod.address}", "one")


def _without_pod(scene: Scene) -> Iterator[Seen]:
    cluster = scene.cluster
    if cluster is None or cluster.node is None:
        return
    known = {pod.address for pod in cluster.pods}
    for each in _pods(scene):
        if each.addresses and not set(each.addresses) & known:
            yield Seen(each.label, "no pod of this node has its address", "a pod")


CHECKS = (
    Check(
        CAUSES["hns.endpoint-duplicate-address"],
        _duplicate,
    ),
    Check(
        Cause(
            "hns.endpoint-without-namespace",
            WARNING,
            "An endpoint belongs to no pod",
            "The pod ended while the CNI plugin or HNS could not work, or the machine was restarted.",
            advice(
                "If no pod has this address: hnsdiag delete endpoints ID. It keeps an address of the node's range.",
                Ends.CONNECTIONS,
            ),
            "microsoft/Windows-Containers#631",
        ),
        _without_namespace,
    ),
    Check(
        Cause(
            "hns.endpoint-namespace-gone",
            WARNING,
            "An endpoint's namespace is gone",
            "The pod's sandbox was removed without its network, as after a restart of the machine or of containerd.",
            advice("If no pod has this address: hnsdiag delete endpoints ID.", Ends.CONNECTIONS),
            "microsoft/Windows-Containers#631",
        ),
        _namespace_gone,
    ),
    Check(
        Cause(
            "hns.endpoint-network-gone",
            ERROR,
            "An endpoint's network is gone",
            "The network was removed or recreated under pods.",
            advice("Delete the pod; its successor gets an endpoint of the new network.", Ends.PODS),
        ),
        _network_gone,
    ),
    Check(
        Cause(
            "hns.endpoint-outside-range",
            ERROR,
            "An endpoint's address is not of its network",
            "The network was recreated with another range while pods were there.",
            advice("Delete the pod; its successor gets an address of the new range.", Ends.PODS),
        ),
        _outside,
    ),
    Check(
        CAUSES["hns.endpoint-not-attached"],
        _not_attached,
    ),
    Check(
        Cause(
            "hns.endpoint-translated",
            ERROR,
            "A pod's traffic inside the cluster is translated",
            "cni.conf had other exceptions when the pod was started, or keys that the plugin passes over in silence.",
            MEND_CNI_CONF.said(
                (
                    "Write the settings of OutBoundNAT in cni.conf as its apiVersion wants them, then delete the "
                    "pod: the policy of a pod that runs stays."
                ),
                Ends.PODS,
            ),
            "projectcalico/node#954",
            explains=("traffic.*",),
        ),
        _find_translated,
    ),
    Check(
        Cause(
            "hns.endpoint-policy-unfilled",
            ERROR,
            "An endpoint's policy has a value that is not a network",
            "A template of the CNI's configuration was not filled in: HNS makes the endpoint and cannot attach it.",
            advice("Write the cluster's networks into the CNI's configuration, then delete the pods.", Ends.PODS),
            "containerd/containerd#5729",
            explains=("hns.endpoint-*", "hns.namespace-refused", "traffic.*", "pod.*"),
        ),
        _find_unfilled,
    ),
    Check(
        Cause(
            "hns.endpoint-no-loopback",
            WARNING,
            "A pod does not reach itself by its Service",
            "kube-proxy uses direct server return, and the pod's endpoint was made while cni.conf had no loopbackDSR.",
            advice("Delete the pod; its successor gets an endpoint with the policy.", Ends.PODS),
            "kubernetes/kubernetes#76406",
        ),
        _without_loopback,
    ),
    Check(
        Cause(
            "hns.endpoint-dns-suffix",
            WARNING,
            "A pod's names are looked up in the wrong domain",
            "cni.conf's dns.Search is not svc.<cluster domain>, or a plugin left the namespace out.",
            advice("Set the cluster's domain in cni.conf, then delete the pod.", Ends.PODS),
            explains=("traffic.*",),
        ),
        _dns_suffix,
    ),
    Check(
        Cause(
            "hns.endpoint-remote-stale",
            WARNING,
            "A remote endpoint stands for a pod that is gone",
            "kube-proxy did not remove it: its rule could not be deleted, or kube-proxy was stopped meanwhile.",
            advice("Start kube-proxy again; if it stays: hnsdiag delete endpoints ID.", Ends.CONNECTIONS),
            "microsoft/Windows-Containers#631",
        ),
        _remote_stale,
        needs=Needs.CLUSTER,
    ),
    Check(
        Cause(
            "hns.pod-without-endpoint",
            ERROR,
            "A pod has no endpoint",
            "The endpoint was deleted under it: by a kube-proxy that runs under another name (--hostname-override), "
            "by a "
            "clean-up, or with a restart of HNS.",
            converge(
                "kube_proxy",
                text="Give kube-proxy --hostname-override with the Node's name and restart it, then delete the pod.",
                ends=(Ends.PODS,),
            ),
            "kubernetes/kubernetes#131387",
            explains=("traffic.*", "pod.*"),
        ),
        _pod_without,
        needs=Needs.CLUSTER,
    ),
    Check(
        Cause(
            "hns.endpoint-without-pod",
            WARNING,
            "An endpoint is there, its pod is not",
            "The pod was removed while the CNI plugin could not work.",
            advice(
                "hnsdiag delete endpoints ID, and remove the address's file below \\var\\lib\\cni\\networks.",
                Ends.CONNECTIONS,
            ),
            "microsoft/Windows-Containers#631",
        ),
        _without_pod,
        needs=Needs.CLUSTER,
    ),
)
