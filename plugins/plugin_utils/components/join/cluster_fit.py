# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The reading of the cluster held against what a node is to be: pure, before the first change."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
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
from ...facts.version import Version
from ..flag_check import CommandLine
from ..kubelet.effective import Effective, Part, adapt, effective

PATCHES_SINCE = 25
"""The first minor whose kubeadm patches the KubeletConfiguration that it writes. Source: kubernetes
cmd/kubeadm/app/util/patches/patches.go, v1.24.17 (not), v1.27.16; 1.25 and 1.26 are unverified."""
MANIFEST = "examples/rbac/bootstrap.yml"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the variables say of the cluster, empty where they say nothing; the way to join and the release. `joining`:
    it has not joined yet; `own_network`: the network of pods is not the cluster's; `cluster_dns`:
    what the kubelet is told."""

    join: str
    version: Version
    joining: bool = True
    own_network: bool = True
    cluster_dns: tuple[str, ...] = ()
    service_cidr: str = ""
    dns_service_ip: str = ""
    cluster_domain: str = ""
    cluster_cidr: str = ""
    api_server: str = ""
    drive: str = "C:"
    drop_in: Part | None = None
    arguments: CommandLine = field(default_factory=lambda: CommandLine((), ()))


def find_misfits(found: ClusterReading, wanted: Wanted) -> tuple[str, ...]:
    """Why a node of these variables would not work in this cluster, a sentence each."""
    said = (*_find_contradictions(found, wanted), *_find_unknown(found, wanted), *_find_own_address(found, wanted))
    if wanted.joining:
        said += (*_find_missing(found, wanted), *_kubelet(found, wanted))
    return tuple(dict.fromkeys(said))


def _find_contradictions(found: ClusterReading, wanted: Wanted) -> Iterator[str]:
    known = list_known(found)
    for name, given, same in (
        ("service_cidr", wanted.service_cidr, _same_ranges),
        ("cluster_cidr", wanted.cluster_cidr if wanted.own_network else "", _same_ranges),
        ("dns_service_ip", wanted.dns_service_ip, _same_text),
        ("cluster_domain", wanted.cluster_domain, _same_text),
    ):
        if given and name in known and not same(given, known[name].value):
            yield _contradiction(name, given, known[name])
    if found.kubernetes_address and wanted.service_cidr and found.service_cidr() is None:
        address = ipaddress.ip_address(found.kubernetes_address)
        if not any(address in each for each in _ranges(wanted.service_cidr)):
            yield (
                f"winkube_service_cidr: {wanted.service_cidr} does not contain {found.kubernetes_address}, the address "
                f"of the {KUBERNETES}: it is not this cluster's range of Services."
            )


def _find_unknown(found: ClusterReading, wanted: Wanted) -> Iterator[str]:
    """What neither a variable nor the cluster says, and a node needs."""
    known = list_known(found)
    for name, given in (
        ("service_cidr", wanted.service_cidr),
        ("cluster_cidr", wanted.cluster_cidr),
        ("dns_service_ip", wanted.dns_service_ip),
        ("cluster_domain", wanted.cluster_domain),
    ):
        if not given and name not in known:
            yield f"winkube_{name}: the cluster does not say it (no {' and no '.join(SOURCES[name])}): set it."


def _find_own_address(found: ClusterReading, wanted: Wanted) -> Iterator[str]:
    """An address of the API that means each machine itself."""
    given = wanted.api_server
    if given and not is_reachable_by_others(given):
        yield refuse_own_address(given, given=True)
    elif not given and wanted.joining and found.api_server() is None:
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


def _find_missing(found: ClusterReading, wanted: Wanted) -> Iterator[str]:
    """What the way of joining needs of the cluster."""
    seen = found.saw(KUBEADM_CONFIG, found.kubelet_config_source)
    if wanted.join == "kubeadm" and not found.has_kubeadm and seen:
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


def compute_kubelet(found: ClusterReading, wanted: Wanted) -> Effective | None:
    """What a kubelet that joins by kubeadm would run with; None where the cluster's configuration is not known."""
    if wanted.join != "kubeadm" or found.kubelet_config is None:
        return None
    adapted = adapt(found.kubelet_config, found.cluster_configuration or {}, wanted.drive, wanted.version)
    base = Part(found.kubelet_config_source, json.dumps(adapted))
    drop_ins = [wanted.drop_in] if wanted.drop_in is not None else None
    return effective(base, drop_ins, wanted.arguments, wanted.version)


def _kubelet(found: ClusterReading, wanted: Wanted) -> Iterator[str]:
    made = compute_kubelet(found, wanted)
    for fault in made.faults if made else ():
        taken_out = fault.kind == "gate" and fault.place == found.kubelet_config_source
        if not (taken_out and wanted.version.minor >= PATCHES_SINCE):
            yield fault.sentence


def build_patch(gates: tuple[str, ...]) -> Mapping[str, Any]:
    """kubeadm's patch for its config.yaml, without these gates."""
    return {"featureGates": dict.fromkeys(gates)}


def describe_known(found: ClusterReading, wanted: Wanted) -> str:
    """The values that were not typed, each with its source, in one sentence; empty if all were."""
    given = {name: getattr(wanted, name) for name in SOURCES}
    taken = [f"{name} {known.value} ({known.source})" for name, known in list_known(found).items() if not given[name]]
    return f"Taken from the cluster: {', '.join(taken)}." if taken else ""


def find_notices(found: ClusterReading, wanted: Wanted) -> tuple[str, ...]:
    """What works, and a person should know, a sentence each."""
    said = [each.sentence for each in found.unseen]
    if wanted.cluster_dns and found.dns and not any(_same_text(each, found.dns.value) for each in wanted.cluster_dns):
        said.append(
            f"winkube_kubelet_cluster_dns: {', '.join(wanted.cluster_dns)}; the cluster's DNS is {found.dns.value} "
            f"({found.dns.source}). Pods on this node ask only the first: something has to answer there."
        )
    known = found.api_server()
    server = wanted.api_server or (known.value if known else "")
    host = urlsplit(with_scheme(server)).hostname or ""
    others = [each for each in found.api_addresses if each.rpartition(":")[0].strip("[]") != host]
    if others and len(others) < len(found.api_addresses):
        said.append(
            f"This node reaches the API at {server} alone, one of {len(found.api_addresses)} control planes "
            f"({', '.join(found.api_addresses)}): when that one is down the node is cut off (kubespray's nginx for "
            "this runs on Linux nodes only). Set winkube_api_server to an address that outlives one of them."
        )
    return tuple(said)
