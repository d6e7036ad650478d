# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One node as it is wanted: its layout, and the options of its components. Every check reads it by attribute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ..facts import calico
from ..facts.windows_revisions import parse_entries
from .cni.options import CniOptions
from .containerd.options import ContainerdOptions
from .expected import SERVICE
from .flannel.options import FlannelOptions
from .host.options import HostOptions
from .join.options import JoinOptions
from .kube_proxy.options import KubeProxyOptions
from .kubelet.options import KubeletOptions
from .layout import Layout
from .options import option, read


@dataclass(frozen=True, slots=True, kw_only=True)
class _Looked:
    """Options of the modules that look at a node, which no component has under that name, or with that default."""

    kubernetes_version: str = option("The release.", default="")
    versions: Mapping[str, str] = option("Releases by role.", default={})
    cni_managed_by: str = option("By whom.", default=SERVICE)
    kube_proxy_managed_by: str = option("By whom.", default=SERVICE)
    network_mode: str = option("The kind.", default="l2bridge")
    cluster_cidr: str = option("The pods'.", default="")
    service_cidr: str = option("The services'.", default="")
    dns_service_ip: str = option("The DNS'.", default="")
    optional_components: tuple[str, ...] = option("Roles.", default=())
    windows_revisions: Any = option("Bad ones.", default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """The options of each component, and the roles that run only where they are switched on (`optional_components`),
    with their releases by role (`versions`; an empty one is not compared). Without a release of the kubelet the node
    runs no Kubernetes, and only containerd is checked. CIDRs may be empty (unknown)."""

    layout: Layout
    host: HostOptions
    cni: CniOptions
    containerd: ContainerdOptions
    kubelet: KubeletOptions
    join: JoinOptions
    flannel: FlannelOptions
    kube_proxy: KubeProxyOptions
    optional_components: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, options: Mapping[str, Any], layout: Layout) -> Node:
        """By the options of a module that looks at a node (doc_fragments/expected.py): one that it does not have is
        empty if nothing is compared without it, else its component's default. BadEntryError for a bad entry of
        `windows_revisions`."""
        told = read(_Looked, options)
        known = {name: found for name, found in options.items() if name in _SAME}
        known |= {"network_mode": told.network_mode, "cluster_cidr": told.cluster_cidr}
        known |= {"service_cidr": told.service_cidr, "dns_service_ip": told.dns_service_ip}
        program = {**known, "version": told.kubernetes_version, "source": {}}
        network = {**known, "managed_by": told.cni_managed_by}
        dns = {"cluster_dns": [told.dns_service_ip] if told.dns_service_ip else []}
        containerd = {"version": told.versions.get("containerd") or "", "source": {"url": ""}}
        revisions = [asdict(each) for each in parse_entries(told.windows_revisions)]
        return cls(
            layout=layout,
            host=read(HostOptions, {"windows_revisions": revisions}),
            cni=read(CniOptions, {**network, "version": told.versions.get("cni") or ""}),
            containerd=read(ContainerdOptions, containerd),
            kubelet=read(KubeletOptions, {**program, **dns}),
            join=read(JoinOptions, program),
            flannel=read(FlannelOptions, {**network, "version": told.versions.get("flannel") or ""}),
            kube_proxy=read(KubeProxyOptions, {**program, "managed_by": told.kube_proxy_managed_by}),
            optional_components=told.optional_components,
            versions=told.versions,
        )

    @classmethod
    def unknown(cls, layout: Layout, **told: Any) -> Node:
        """One of which only what is `told` is known, by options of hns_check; no component's default counts."""
        return cls.of(_UNKNOWN | told, layout)

    @property
    def node_name(self) -> str:
        """The Node's name."""
        return self.kubelet.node_name

    @property
    def kubernetes(self) -> bool:
        """Whether it is to be a node, and not only to have containerd."""
        return bool(self.kubelet.version)

    @property
    def flannel_is_ours(self) -> bool:
        """Whether the pod network is that of our flanneld; the files of another CNI's are nobody's business here."""
        return self.cni_managed_by == SERVICE

    @property
    def kube_proxy_is_ours(self) -> bool:
        """Whether kube-proxy is our service, and not the cluster's."""
        return self.kube_proxy_managed_by == SERVICE

    @property
    def runs_flannel(self) -> bool:
        """Whether flanneld is a service of the host."""
        return self.kubernetes and self.flannel_is_ours

    @property
    def runs_kube_proxy(self) -> bool:
        """Whether kube-proxy is a service of the host."""
        return self.kubernetes and self.kube_proxy_is_ours

    @property
    def cni_managed_by(self) -> str:
        """Who brings the network."""
        return self.flannel.managed_by

    @property
    def kube_proxy_managed_by(self) -> str:
        """Who runs kube-proxy."""
        return self.kube_proxy.managed_by

    @property
    def calico(self) -> bool:
        """Whether Calico's operator brings the network."""
        return self.flannel.network_mode == calico.MODE

    @property
    def network_mode(self) -> str:
        """The kind of the pod network in HNS."""
        return calico.hns_mode(self.flannel.network_mode)

    @property
    def network_name(self) -> str:
        """The pod network's name in HNS; empty for flannel's own of its mode."""
        return calico.NETWORK if self.calico else self.flannel.network_name

    @property
    def cluster_cidr(self) -> str:
        """The pods' network."""
        return self.flannel.cluster_cidr

    @property
    def service_cidr(self) -> str:
        """The services' network."""
        return self.flannel.service_cidr

    @property
    def interface_name(self) -> str:
        """The adapter that the pod network is on."""
        return self.flannel.address.interface_name

    @property
    def management_ip(self) -> str:
        """The host's address; empty for the adapter's first one."""
        return self.flannel.address.management_ip

    def version_of(self, role: str) -> str:
        """The wanted release of a role's program; empty for none."""
        return {"kubelet": self.kubelet.version, "kube_proxy": self.kube_proxy.version}.get(role, "") or str(
            self.versions.get(role) or ""
        )


_SAME = frozenset(
    {
        *("node_name", "network_name", "interface_name", "management_ip", "join", "pause_image_source"),
        *("cluster_domain", "plugins_version"),
    }
)
"""Options that those modules have under the components' own names."""

_UNKNOWN: dict[str, Any] = dict.fromkeys(("network_mode", *_SAME - {"join", "pause_image_source"}), "")
