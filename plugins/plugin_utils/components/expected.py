# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node should be, for every check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from ..facts import calico
from ..facts.windows_revisions import BadRevision, parse_entries

SERVICE = "service"
"""Marks a part as the host's own, not a DaemonSet's."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What the node should be. Without `kubernetes` only containerd is checked. CIDRs may be empty (unknown).
    `optional_components` are the roles that run only where switched on. `versions` are the wanted releases by role;
    an empty one is not compared. `calico`: its operator brings the network. `windows_revisions` are the user's own
    entries of bad ones."""

    node_name: str
    kubernetes: bool
    cni_managed_by: str = SERVICE
    kube_proxy_managed_by: str = SERVICE
    network_mode: str = "l2bridge"
    network_name: str = ""
    calico: bool = False
    cluster_cidr: str = ""
    service_cidr: str = ""
    interface_name: str = "Ethernet"
    management_ip: str = ""
    optional_components: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    windows_revisions: tuple[BadRevision, ...] = ()

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Expected:
        """From a module's options of the same names; fields without an option keep their default."""
        named = {each.name: options[each.name] for each in fields(cls) if each.name in options}
        if named.get("network_mode") == calico.MODE:
            named |= {"network_mode": calico.hns_mode(calico.MODE), "network_name": calico.NETWORK, "calico": True}
        named["optional_components"] = tuple(named.get("optional_components") or ())
        named["windows_revisions"] = parse_entries(named.get("windows_revisions") or ())
        kubernetes = str(options["kubernetes_version"] or "")
        named["versions"] = {**(named.get("versions") or {}), "kubelet": kubernetes, "kube_proxy": kubernetes}
        return cls(kubernetes=bool(kubernetes), **named)

    @property
    def flannel(self) -> bool:
        """Whether flanneld is a service of the host."""
        return self.kubernetes and self.cni_managed_by == SERVICE

    @property
    def kube_proxy(self) -> bool:
        """Whether kube-proxy is a service of the host."""
        return self.kubernetes and self.kube_proxy_managed_by == SERVICE
