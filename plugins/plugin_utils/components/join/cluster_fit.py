# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The reading of the cluster held against what a node is to be: pure, before the first change."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from ...cluster.endpoint import refuse_own_address
from ...cluster.network import SOURCES, list_known
from ...cluster.reading import (
    KUBEADM_CONFIG,
    KUBERNETES,
    ClusterReading,
    Known,
    is_reachable_by_others,
    with_scheme,
)
from ...cluster.records import ClusterConfiguration
from ...facts.flags import KUBELET, line_for
from ...facts.version import Version
from .. import flag_check
from ..kubelet.effective import Effective, Part, adapt, effective
from ..kubelet.kubelet import drop_in_text
from ..kubelet.kubelet_args import Kubelet, arguments
from ..kubelet.options import KubeletOptions
from ..kubernetes_fit import release
from ..layout import Layout
from ..options import read

PATCHES_SINCE = 25
"""The first minor whose kubeadm patches the KubeletConfiguration that it writes. Source: kubernetes
cmd/kubeadm/app/util/patches/patches.go, v1.24.17 (not), v1.27.16; 1.25 and 1.26 are unverified."""
MANIFEST = "examples/rbac/bootstrap.yml"


@dataclass(frozen=True, slots=True)
class Newcomer:
    """The node that shall be in the cluster: its `kubelet`, and what the variables say of the cluster, by the names of
    SOURCES, empty where they say nothing. `joining`: it has not joined yet; `own_network`: the network of pods is not
    the cluster's."""

    kubelet: KubeletOptions
    layout: Layout
    given: Mapping[str, str]
    joining: bool = True
    own_network: bool = True

    @property
    def version(self) -> Version:
        """The release. Refused if it is none."""
        return release(self.kubelet.version, "winkube_kubernetes_version")


def find_misfits(found: ClusterReading, node: Newcomer) -> tuple[str, ...]:
    """Why a node of these variables would not work in this cluster, a sentence each."""
    said = (*_find_contradictions(found, node), *_find_unknown(found, node), *_find_own_address(found, node))
    if node.joining:
        said += (*_find_missing(found, node), *_kubelet(found, node))
    return tuple(dict.fromkeys(said))


def _find_contradictions(found: ClusterReading, node: Newcomer) -> Iterator[str]:
    known = list_known(found)
    for name, given, same in (
        ("service_cidr", node.given["service_cidr"], _same_ranges),
        ("cluster_cidr", node.given["cluster_cidr"] if node.own_network else "", _same_ranges),
        ("dns_service_ip", node.given["dns_service_ip"], _same_text),
        ("cluster_domain", node.given["cluster_domain"], _same_text),
    ):
        if given and name in known and not same(given, known[name].value):
            yield _contradiction(name, given, known[name])
    services = node.given["service_cidr"]
    if found.kubernetes_address and services and found.service_cidr() is None:
        address = ipaddress.ip_address(found.kubernetes_address)
        if not any(address in each for each in _ranges(services)):
            yield (
                f"winkube_service_cidr: {services} does not contain {found.kubernetes_address}, the address "
                f"of the {KUBERNETES}: it is not this cluster's range of Services."
            )


def _find_unknown(found: ClusterReading, node: Newcomer) -> Iterator[str]:
    """What neither a variable nor the cluster says, and a node needs."""
    known = list_known(found)
    for name in ("service_cidr", "cluster_cidr", "dns_service_ip", "cluster_domain"):
        if not node.given[name] and name not in known:
            yield f"winkube_{name}: the cluster does not say it (no {' and no '.join(SOURCES[name])}): set it."


def _find_own_address(found: ClusterReading, node: Newcomer) -> Iterator[str]:
    """An address of the API that means each machine itself."""
    given = node.given["api_server"]
    if given and not is_reachable_by_others(given):
        yield refuse_own_address(given, given=True)
    elif not given and node.joining and found.api_server() is None:
        yield refuse_own_address(found.published.server if found.published else found.server, given=False)


def _contradiction(name: str, given: str, known: Known) -> str:
    return f"winkube_{name}: {given}, but the cluster has {known.value} ({known.source}): set winkube_{name} to that."


def _ranges(text: str) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    """ValueError for what is not a range; other checks have said so before."""
    return [ipaddress.ip_network(part.strip(), strict=False) for part in text.split(",") if part.strip()]


def _same_ranges(one: str, other: str) -> bool:
    """Whether one has all ranges of the families that both have."""
    try:
        first, second = _ranges(one), _ranges(other)
    except ValueError:
        return True
    shared = {each.version for each in first} & {each.version for each in second}
    return all(
        {each for each in first if each.version == family} == {each for each in second if each.version == family}
        for family in shared
    )


def _same_text(one: str, other: str) -> bool:
    return one.strip().rstrip(".").casefold() == other.strip().rstrip(".").casefold()


def _find_missing(found: ClusterReading, node: Newcomer) -> Iterator[str]:
    """What the way of joining needs of the cluster."""
    seen = found.saw(KUBEADM_CONFIG, found.kubelet_config_source)
    if node.kubelet.join == "kubeadm" and not found.has_kubeadm and seen:
        lacking = [
            name
            for name, there in (
                ("kubeadm-config", found.cluster_configuration),
                ("kubelet-config", found.kubelet_config),
            )
            if there is None
        ]
        yield (
            f"winkube_join: kubeadm: the cluster has no ConfigMap {' and no '.join(lacking)} in kube-system, which "
            f"kubeadm reads: it was not made by kubeadm. Set winkube_join: bootstrap_kubeconfig{_other_agent(found)}."
        )
    elif found.token_accepted is False:
        yield (
            "The cluster does not accept bootstrap tokens: one that was made for a trial was answered with 401 for "
            "10 s. kube-apiserver needs --enable-bootstrap-token-auth=true (kubeadm sets it); or set winkube_join: "
            f"kubeconfig{_other_agent(found)}."
        )
    elif found.lacking:
        rights = "; ".join(str(right) for right in found.lacking)
        yield (
            f"Machines may not join this cluster: they lack {rights}. kubeadm makes these bindings; here apply "
            f"{MANIFEST} (kubectl apply -f) and run again{_other_agent(found)}."
        )


def _other_agent(found: ClusterReading) -> str:
    """rke2's nodes have a way of their own."""
    return " (rke2 has a Windows agent of its own, which brings all of a node)" if found.has_two_cas else ""


def compute_kubelet(found: ClusterReading, node: Newcomer) -> Effective | None:
    """What a kubelet that joins by kubeadm would run with; None where the cluster's configuration is not known."""
    if node.kubelet.join != "kubeadm" or found.kubelet_config is None:
        return None
    drive = node.layout.kubeadm_binary[:2]
    cluster = found.cluster_configuration or ClusterConfiguration()
    adapted = adapt(found.kubelet_config, cluster, drive, node.version)
    base = Part(found.kubelet_config_source, json.dumps(adapted))
    # What every kubelet of this release gets. The user's own options are the kubelet's to judge, on its machine.
    told = {"version": str(node.version), "node_name": "", "source": {}, "join": node.kubelet.join}
    plain = Kubelet(read(KubeletOptions, told), node.layout)
    drop_ins = [Part(plain.drop_in, drop_in_text(plain))] if plain.uses_drop_in else None
    line = line_for(node.version.line)
    given = flag_check.read((("kubelet's arguments", arguments(plain)),), KUBELET, line)
    return effective(base, drop_ins, given, node.version)


def _kubelet(found: ClusterReading, node: Newcomer) -> Iterator[str]:
    made = compute_kubelet(found, node)
    for fault in made.faults if made else ():
        taken_out = fault.kind == "gate" and fault.place == found.kubelet_config_source
        if not (taken_out and node.version.minor >= PATCHES_SINCE):
            yield fault.sentence


def build_patch(gates: tuple[str, ...]) -> Mapping[str, Any]:
    """kubeadm's patch for its config.yaml, without these gates."""
    return {"featureGates": dict.fromkeys(gates)}


def describe_known(found: ClusterReading, node: Newcomer) -> str:
    """The values that were not typed, each with its source, in one sentence; empty if all were."""
    known = list_known(found)
    taken = [f"{name} {each.value} ({each.source})" for name, each in known.items() if not node.given[name]]
    return f"Taken from the cluster: {', '.join(taken)}." if taken else ""


def find_notices(found: ClusterReading, node: Newcomer) -> tuple[str, ...]:
    """What works, and a person should know, a sentence each."""
    said = [each.sentence for each in found.unseen]
    told = tuple(filter(None, node.kubelet.cluster_dns))
    if told and found.dns and not any(_same_text(each, found.dns.value) for each in told):
        said.append(
            f"winkube_kubelet_cluster_dns: {', '.join(told)}; the cluster's DNS is {found.dns.value} "
            f"({found.dns.source}). Pods on this node ask only the first: something has to answer there."
        )
    known = found.api_server()
    server = node.given["api_server"] or (known.value if known else "")
    host = urlsplit(with_scheme(server)).hostname or ""
    others = [each for each in found.api_addresses if each.rpartition(":")[0].strip("[]") != host]
    if others and len(others) < len(found.api_addresses):
        said.append(
            f"This node reaches the API at {server} alone, one of {len(found.api_addresses)} control planes "
            f"({', '.join(found.api_addresses)}): when that one is down the node is cut off (kubespray's nginx for "
            "this runs on Linux nodes only). Set winkube_api_server to an address that outlives one of them."
        )
    return tuple(said)
