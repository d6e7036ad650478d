# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Guess which CNI made HNS's objects, by the names of networks and endpoints, and by cni.conf."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..components.cni.conf import Conf
from .model import Hns

UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Mark:
    """A name that only one CNI uses. `what` is `network`, `endpoint`, `type` (of a network) or `plugin` (in
    cni.conf)."""

    cni: str
    what: str
    pattern: str
    source: str
    unverified: bool = False


MARKS: tuple[Mark, ...] = (
    Mark("flannel", "network", r"cbr0|vxlan0|flannel\.\d+", "flannel pkg/backend hostgw_windows.go, vxlan_windows.go"),
    Mark(
        "flannel", "endpoint", r"[0-9a-f]{64}_(cbr0|vxlan0|flannel\.\d+)", "kubernetes/kubernetes#100962 (hnsdiag list)"
    ),
    Mark("flannel", "plugin", r"flannel", "flannel-io/cni-plugin README"),
    Mark("calico", "network", r"calico", "projectcalico/calico#8465 (Get-HnsNetwork)"),
    Mark("calico", "endpoint", r"([0-9a-f]+_)?calico(_ep)?", "projectcalico/calico#4682, #4280 (Get-HnsEndpoint)"),
    Mark("calico", "plugin", r"calico", "Calico node/windows-packaging cni.conf.template"),
    Mark("azure", "network", r"azure(-.*)?", "Azure/azure-container-networking pull request #1752", unverified=True),
    Mark("azure", "type", r"l2tunnel", "kubernetes.io, Networking on Windows: l2tunnel is used by Azure-CNI"),
    Mark("azure", "plugin", r"azure-vnet", "Azure/azure-container-networking docs/cni.md"),
    Mark(
        "ovn",
        "network",
        r"(base)?ovnkubernetes(hybridoverlay)?network",
        "ovn-kubernetes hybrid-overlay (baseNetworkName); windows-machine-config-operator (OVNKubeOverlayNetwork)",
    ),
    Mark("ovn", "endpoint", r"vipendpoint", "openshift/windows-machine-config-operator, ovn-kubernetes#4356"),
    Mark("antrea", "network", r"antrea-hnsnetwork", "antrea pkg/agent/util LocalHNSNetwork"),
    Mark("antrea", "plugin", r"antrea", "antrea docs/windows.md"),
    Mark("aws-vpc", "network", r"vpcbr[0-9a-f]+", "kubernetes-sigs/sig-windows-tools#168 (hnsdiag list)"),
    Mark("aws-vpc", "endpoint", r"cid-[0-9a-f]{64}", "kubernetes-sigs/sig-windows-tools#168 (hnsdiag list)"),
)
"""The CNIs in Kubernetes' documentation (Azure-CNI, OVN-Kubernetes, Flannel, Calico), and two other common ones."""


@dataclass(frozen=True, slots=True)
class Guess:
    """`name` is `unknown` without a mark; `why` are the marks, a phrase each. Of several CNIs, the one with most
    marks is named."""

    name: str
    why: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


def guess(hns: Hns, conf: Conf | None = None) -> Guess:
    """The guess from the names that exist."""
    found: dict[str, list[str]] = {}
    for cni, why in _marks(hns, conf):
        reasons = found.setdefault(cni, [])
        if why not in reasons:
            reasons.append(why)
    ordered = sorted(found, key=lambda cni: -len(found[cni]))
    if not ordered:
        return Guess(UNKNOWN)
    return Guess(ordered[0], tuple(found[ordered[0]]), tuple(ordered[1:]))


def _marks(hns: Hns, conf: Conf | None) -> Iterator[tuple[str, str]]:
    for mark in MARKS:
        if mark.what == "network":
            yield from ((mark.cni, f"network {each.name}") for each in hns.networks if _fits(mark, each.name))
        elif mark.what == "type":
            yield from (
                (mark.cni, f"network {each.name} of type {each.type}")
                for each in hns.networks
                if _fits(mark, each.type)
            )
        elif mark.what == "endpoint":
            named = [each.name for each in hns.endpoints if not each.remote and _fits(mark, each.name)]
            if named:
                yield mark.cni, f"endpoints such as {named[0]}"
        else:
            for plugin in conf.plugins if conf else ():
                if _fits(mark, plugin.type):
                    yield mark.cni, f"the plugin {plugin.type} in cni.conf"


def _fits(mark: Mark, name: str) -> bool:
    return re.fullmatch(mark.pattern, name, re.IGNORECASE) is not None
