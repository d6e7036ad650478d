# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of HNS's networks, and of the sizes of packets in them."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from itertools import combinations

from ..components.flannel.subnet_env import VXLAN_OVERHEAD
from ..components.kube_proxy.kube_proxy_args import NETWORKS
from ..engine.sentences import join_words
from ..network.model import Network
from ..words.cause import ERROR, WARNING, Cause
from ..words.causes import CAUSES
from ..words.finding import Seen
from ..words.remedies import REJOIN, RESTART_FLANNELD, SWITCH_MODE, advice, converge
from ..words.remedy import Ends
from .check import Check, Needs, ranges
from .scene import Scene

PLACEHOLDER = "external"
"""The network that only holds the virtual switch. Source: microsoft/SDN Kubernetes/windows/helper.psm1."""


def _missing(scene: Scene) -> Iterator[Seen]:
    if not scene.hns.knows("networks") or not scene.network_name:
        return
    if scene.pod_network is None:
        there = join_words(each.name for each in scene.hns.networks)
        yield Seen(f"network {scene.network_name}", f"it is not there; there are: {there}", "a network of this name")


def _type(scene: Scene) -> Iterator[Seen]:
    network, wanted = scene.pod_network, scene.network_mode.casefold()
    if network is not None and wanted and network.type != wanted:
        yield Seen(f"network {network.name}", f"its type is {network.type}", wanted)
    if network is None and wanted in NETWORKS and scene.network_name:
        own = {*NETWORKS.values(), scene.cni_conf.name if scene.cni_conf else ""}
        for each in scene.hns.networks:
            if each.name in own and each.type in NETWORKS and each.type != wanted:
                yield Seen(f"network {each.name}", f"its type is {each.type}", f"{scene.network_name}, {wanted}")


def _subnet(scene: Scene) -> Iterator[Seen]:
    """The expected range; flanneld's lease and the Node's podCIDR have checks of their own."""
    network, wanted = scene.pod_network, ranges(scene.subnet)
    if network is not None and network.prefixes and wanted and not set(wanted) <= set(network.prefixes):
        yield Seen(f"network {network.name}", f"its ranges are {join_words(network.prefixes)}", join_words(wanted))


def _pod_cidr(scene: Scene) -> Iterator[Seen]:
    network = scene.pod_network
    cidr = ranges(scene.pod_cidr)
    if network is None or not cidr or not scene.expected.flannel_is_ours:
        return
    for prefix in network.prefixes:
        if not any(_within(prefix, each) for each in cidr):
            yield Seen(
                f"network {network.name}", f"its range is {prefix}", f"one within the Node's podCIDR {join_words(cidr)}"
            )


def _within(
    inner: ipaddress.IPv4Network | ipaddress.IPv6Network, outer: ipaddress.IPv4Network | ipaddress.IPv6Network
) -> bool:
    if isinstance(inner, ipaddress.IPv4Network) and isinstance(outer, ipaddress.IPv4Network):
        return inner.subnet_of(outer)
    if isinstance(inner, ipaddress.IPv6Network) and isinstance(outer, ipaddress.IPv6Network):
        return inner.subnet_of(outer)
    return inner.version != outer.version  # another family than the podCIDR speaks of


def _vni(scene: Scene) -> Iterator[Seen]:
    network = scene.pod_network
    wanted = scene.vni or _net_conf_vni(scene)
    if network is None or network.type != "overlay" or not wanted:
        return
    wrong = [each for each in network.vsids if each != wanted]
    if wrong:
        yield Seen(f"network {network.name}", f"its VNI (VSID) is {join_words(wrong)}", str(wanted))


def _net_conf_vni(scene: Scene) -> int:
    backend = (scene.net_conf or {}).get("Backend")
    value = backend.get("VNI") if isinstance(backend, dict) else None
    return value if isinstance(value, int) else 0


def _adapter(scene: Scene) -> Iterator[Seen]:
    network, wanted = scene.pod_network, scene.network_adapter
    if network is not None and wanted and network.adapter and network.adapter.casefold() != wanted.casefold():
        yield Seen(f"network {network.name}", f"it is on the adapter {network.adapter}", wanted)


def _overlap(scene: Scene) -> Iterator[Seen]:
    for left, right in combinations(scene.hns.networks, 2):
        for one in left.prefixes:
            for other in right.prefixes:
                if one.version == other.version and one.overlaps(other) and not _both_hold_the_switch(left, right):
                    yield Seen(
                        f"network {right.name}",
                        f"its range {other} overlaps {one} of network {left.name}",
                        "ranges that do not overlap",
                    )


def _both_hold_the_switch(left: Network, right: Network) -> bool:
    return PLACEHOLDER in left.name.casefold() and PLACEHOLDER in right.name.casefold()


def _stale(scene: Scene) -> Iterator[Seen]:
    """Another pod network than the node's own on the same adapter, of the other type."""
    own = scene.pod_network
    if own is None:
        return
    for each in scene.hns.networks:
        if each.id == own.id or each.type not in {"l2bridge", "overlay"} or PLACEHOLDER in each.name.casefold():
            continue
        if each.adapter.casefold() == own.adapter.casefold() and each.type != own.type:
            yield Seen(
                f"network {each.name}",
                f"it is of type {each.type} beside {own.name} of type {own.type} on {own.adapter}",
                "one kind of pod network on an adapter",
            )


def _mtu(scene: Scene) -> Iterator[Seen]:
    """flanneld's MTU plus the outer headers has to fit through the adapter."""
    network = scene.pod_network
    if network is None or scene.lease is None or scene.adapters is None:
        return
    below = [each for each in scene.adapters if each.physical.casefold() == network.adapter.casefold() and each.mtu]
    if not below:
        return
    overhead = VXLAN_OVERHEAD if network.type == "overlay" else 0
    room = min(each.mtu for each in below)
    if scene.lease.mtu + overhead > room:
        yield Seen(
            "subnet.env",
            f"FLANNEL_MTU is {scene.lease.mtu}, with {overhead} bytes of outer headers {scene.lease.mtu + overhead}",
            f"at most {room}, the adapter's MTU",
        )


def _overhead(scene: Scene) -> Iterator[Seen]:
    for each in scene.hns.endpoints:
        home = scene.hns.network_of(each)
        if home is None or home.type != "overlay" or not scene.is_pods(each) or each.encap_overhead is None:
            continue
        if each.encap_overhead < VXLAN_OVERHEAD:
            yield Seen(
                each.label, f"EncapOverhead is {each.encap_overhead}", f"{VXLAN_OVERHEAD}, vxlan's outer headers"
            )


CHECKS = (
    Check(
        CAUSES["hns.no-network"],
        _missing,
    ),
    Check(
        CAUSES["hns.network-type"],
        _type,
    ),
    Check(
        Cause(
            "hns.network-range",
            ERROR,
            "The pod network has another range than the node's lease",
            "The Node was recreated with another range, and the network is that of the old one.",
            RESTART_FLANNELD.said("Restart-Service flanneld: it makes the network again with its lease's range."),
            "MicrosoftDocs/Virtualization-Documentation#1013",
            explains=(
                "hns.endpoint-outside-range",
                "kube-proxy.source-vip",
                "kube-proxy.rule-source-vip",
                "flannel.bridge-endpoint",
                "pod.*",
            ),
        ),
        _subnet,
    ),
    Check(
        Cause(
            "hns.network-pod-cidr",
            ERROR,
            "The pod network's range is not the Node's",
            "The Node was deleted and came back with another podCIDR.",
            REJOIN.said(
                "With the node drained: stop flanneld, remove the network (Remove-HnsNetwork) and subnet.env, "
                "then kubeadm reset and join again."
            ),
            explains=(
                "node.earlier-life",
                "flannel.subnet-env-stale",
                "hns.network-range",
                "hns.endpoint-outside-range",
                "kube-proxy.*",
                "pod.*",
            ),
        ),
        _pod_cidr,
        needs=Needs.NODE,
    ),
    Check(
        Cause(
            "hns.network-vni",
            ERROR,
            "The overlay has another VNI",
            "net-conf.json differs between nodes; Windows takes 4096 and above only, Linux' default is 1.",
            advice(
                "Give all nodes the same VNI (4096) and port (4789) in net-conf.json, and start flannel again on each."
            ),
            "MicrosoftDocs/Virtualization-Documentation#1013",
            explains=("traffic.*", "pod.*"),
        ),
        _vni,
    ),
    Check(
        Cause(
            "hns.network-adapter",
            ERROR,
            "The pod network is on another adapter",
            "The machine has several adapters, and the first one was taken.",
            converge(
                "flannel",
                text=(
                    "Drain the node, stop flanneld, remove the network (Get-HnsNetwork, Remove-HnsNetwork), and "
                    "start flanneld with --iface of the right adapter."
                ),
                ends=(
                    Ends.CONNECTIONS,
                    Ends.PODS,
                ),
                variables=("winkube_interface_name",),
            ),
            explains=("hns.no-host-adapter", "hns.management-address-stale", "flannel.iface", "traffic.*", "pod.*"),
        ),
        _adapter,
    ),
    Check(
        Cause(
            "hns.networks-overlap",
            ERROR,
            "Two networks have the same addresses",
            "An old network was left behind when the new one got another name.",
            advice("Remove the one that the node no longer uses, after its endpoints.", Ends.CONNECTIONS),
            explains=("traffic.*",),
        ),
        _overlap,
    ),
    Check(
        Cause(
            "hns.network-other-mode",
            WARNING,
            "A network of the other kind was left behind",
            "The node was switched between l2bridge and overlay.",
            SWITCH_MODE.said(
                "With the node drained: remove the network of the other type (Get-HnsNetwork, Remove-HnsNetwork)."
            ),
        ),
        _stale,
    ),
    Check(
        Cause(
            "flannel.mtu",
            ERROR,
            "Packets of pods do not fit through the adapter",
            "The adapter's MTU is smaller than flanneld assumed, or was changed: large packets are lost, small ones "
            "pass.",
            RESTART_FLANNELD.said(
                "Restart-Service flanneld: it writes subnet.env with the adapter's MTU; pods get it when they "
                "are made again."
            ),
            "Azure/AKS#2873",
            explains=("traffic.*",),
        ),
        _mtu,
    ),
    Check(
        Cause(
            "hns.endpoint-overhead",
            WARNING,
            "A pod may send packets that do not fit",
            "The endpoint was made without room for the outer headers.",
            advice("Delete the pod, so that it gets a new endpoint.", Ends.PODS),
            "Azure/AKS#2873",
        ),
        _overhead,
    ),
)
