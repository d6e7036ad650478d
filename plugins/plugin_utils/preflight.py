# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a later task of a run would refuse, as far as variables and the first reading tell: said by the first task, for
all hosts, before anything is changed on one of them. The checks are those of the components themselves."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from .cluster.client import Cluster
from .cluster.error import ClusterError
from .components import networks
from .components.containerd import containerd
from .components.flannel import flannel, flannel_conf
from .components.join import join
from .components.kube_proxy import kube_proxy
from .components.kubelet import kubelet
from .components.kubernetes_fit import check_pair, kubernetes_line, release
from .components.source import source
from .engine.reading import Reading
from .engine.resource import Refused

PREFIX = "winkube_"
NAMES = (
    "kubernetes_version", "container_runtime", "containerd_version", "cni_managed_by", "kube_proxy_managed_by", "join",
    "network_mode", "cluster_cidr", "service_cidr", "dns_service_ip", "interface_name", "management_ip", "cluster",
    "allow_unverified", "containerd_url", "containerd_checksum", "kubelet_url", "kubelet_checksum", "kubeadm_url",
    "kubeadm_checksum", "kube_proxy_url", "kube_proxy_checksum", "flannel_url", "flannel_checksum",
)  # fmt: skip
"""The variables that are looked at, without their prefix."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run for one host. `values`: the variables that are known, by name without prefix; `roles`: whether the role
    of this name takes part (tags)."""

    values: Mapping[str, Any]
    reading: Reading
    roles: Callable[[str], bool]

    def text(self, name: str) -> str:
        value = self.values.get(name)
        return "" if value is None else str(value)

    @property
    def kubernetes(self) -> bool:
        """Whether the machine is to be a node, and not only to have containerd."""
        return bool(self.text("kubernetes_version"))

    def ours(self, what: str) -> bool:
        return self.text(f"{what}_managed_by") == "service"


def problems(run: Run) -> tuple[str, ...]:
    """One sentence for each thing that cannot work, in the order of the components."""
    found = [*_versions(run), *_network(run), *_kubeconfig(run), *_sources(run)]
    return tuple(dict.fromkeys(found))


def _refused(check: Callable[[], object]) -> tuple[str, ...]:
    try:
        check()
    except Refused as refused:
        return refused.sentences
    except ClusterError as error:
        return (str(error),)
    return ()


def _versions(run: Run) -> tuple[str, ...]:
    if not (run.kubernetes and run.text("container_runtime") == "containerd" and run.roles("containerd")):
        return ()

    def check() -> None:
        line = kubernetes_line(run.text("kubernetes_version"))
        check_pair(line, release(run.text("containerd_version"), "containerd version"), lambda _untested: None)

    return _refused(check)


def _network(run: Run) -> tuple[str, ...]:
    """Where flannel is the cluster's, so are its ranges; they are not compared then."""
    if not (run.kubernetes and run.ours("cni") and run.roles("flannel")):
        return ()
    mode = run.text("network_mode")
    ranges = (run.text("cluster_cidr"), run.text("service_cidr"), run.text("dns_service_ip"))

    def check_ranges() -> None:
        name, address = run.text("interface_name"), run.text("management_ip")
        own = networks.management(run.reading, interface_name=name, address=address)
        if found := networks.range_problems(*ranges, mode, own.subnet):
            raise Refused(*found)

    return (*_refused(lambda: flannel_conf.check_mode(mode, run.reading.build)), *_refused(check_ranges))


def _kubeconfig(run: Run) -> tuple[str, ...]:
    """That the file is there and says which cluster; whether that answers is found out when it is asked."""
    if not (run.kubernetes and run.roles("join")):
        return ()
    return _refused(lambda: Cluster.open(run.values.get("cluster") or {}))


def _sources(run: Run) -> tuple[str, ...]:
    """That something vouches for each download: a checksum or a sum file. What the publisher lists is not read here."""
    containerd_wanted = run.text("container_runtime") == "containerd"
    wanted = (
        ("containerd", containerd.NAME, "containerd", containerd_wanted),
        ("kubelet", kubelet.NAME, "kubelet", run.kubernetes),
        ("join", join.KUBEADM, "kubeadm", run.kubernetes and run.text("join") == "kubeadm"),
        ("flannel", flannel.PROGRAM, "flannel", run.kubernetes and run.ours("cni")),
        ("kube_proxy", kube_proxy.NAME, "kube_proxy", run.kubernetes and run.ours("kube_proxy")),
    )
    return tuple(
        sentence
        for role, component, prefix, needed in wanted
        if needed and run.roles(role) and f"{prefix}_url" in run.values
        for sentence in _refused(partial(_source, run, component, prefix))
    )


def _source(run: Run, component: str, prefix: str) -> None:
    checksum = run.text(f"{prefix}_checksum")
    unverified: Collection[str] = run.values.get("allow_unverified") or ()
    if checksum.startswith("https://"):
        return
    url = run.text(f"{prefix}_url")
    source(component=component, version="", url=url, checksum=checksum, unverified=unverified, read_url=str)
