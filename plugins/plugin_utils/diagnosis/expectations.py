# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node's network should be, as the arguments of hns_check say; what is empty is not checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..components.expected import SERVICE
from ..components.layout import Layout
from ..components.node import Node
from ..components.options import option, read

NETWORKS: Mapping[str, str] = {"l2bridge": "cbr0", "overlay": "vxlan0"}
"""flannel's network in each mode, where it has no name of its own."""


def network_name(mode: str, given: str) -> str:
    """The pod network's name in a mode: only the overlay's can be given."""
    return (given if mode == "overlay" else "") or NETWORKS.get(mode, "")


@dataclass(frozen=True, slots=True)
class Expectations:
    """`network_name` and `network_mode` (`l2bridge`, `overlay`, ..) are the pod network's, `vni` the overlay's,
    `subnet` the node's own range of pod addresses, `interface_name` the physical adapter's name,
    `plugins_version` the release of the CNI plugins.

    CIDRs may hold two families, with a comma. With `flannel` false the files of flannel and cni.conf are another CNI's
    and are not compared; with `kube_proxy` false kube-proxy is not a service of the host.
    """

    layout: Layout
    network_name: str = option("As of hns_check.", default="")
    network_mode: str = option("As of hns_check.", default="")
    vni: int = option("As of hns_check.", default=0)
    subnet: str = option("As of hns_check.", default="")
    interface_name: str = option("As of hns_check.", default="")
    management_ip: str = option("As of hns_check.", default="")
    cluster_cidr: str = option("As of hns_check.", default="")
    service_cidr: str = option("As of hns_check.", default="")
    cluster_domain: str = option("As of hns_check.", default="")
    node_name: str = option("As of hns_check.", default="")
    plugins_version: str = option("As of hns_check.", default="")
    flannel: bool = True
    kube_proxy: bool = True

    @classmethod
    def of(cls, layout: Layout, expected: Node, domain: str = "") -> Expectations:
        """By what the node is expected to be; `domain` is the cluster's. Nothing is expected of another CNI's."""
        flannel = expected.runs_flannel
        name = expected.network_name or NETWORKS.get(expected.network_mode, "")
        return cls(
            layout=layout,
            network_name=name if flannel else "",
            network_mode=expected.network_mode if flannel else "",
            interface_name=expected.interface_name if flannel else "",
            management_ip=expected.management_ip,
            cluster_cidr=expected.cluster_cidr,
            service_cidr=expected.service_cidr,
            cluster_domain=domain,
            node_name=expected.node_name,
            flannel=flannel,
            kube_proxy=expected.runs_kube_proxy,
        )

    @classmethod
    def of_options(cls, layout: Layout, options: Mapping[str, Any]) -> Expectations:
        """By the options of hns_check."""
        node = Node.of(options, layout)
        flannel, kube_proxy = node.cni_managed_by == SERVICE, node.kube_proxy_managed_by == SERVICE
        return read(cls, options, layout=layout, flannel=flannel, kube_proxy=kube_proxy)
