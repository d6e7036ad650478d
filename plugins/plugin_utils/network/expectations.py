# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node's network should be, as the arguments of hns_check say; what is empty is not checked."""

from __future__ import annotations

from dataclasses import dataclass

from ..components.layout import Layout


@dataclass(frozen=True, slots=True)
class Expectations:
    """`network_name` and `network_type` (`l2bridge`, `overlay`, ..) are the pod network's, `vni` the overlay's,
    `subnet` the node's own range of pod addresses, `adapter` the physical adapter's name.

    CIDRs may hold two families, with a comma. With `flannel` false the files of flannel and cni.conf are another CNI's
    and are not compared; with `kube_proxy` false kube-proxy is no service of the host.
    """

    layout: Layout
    network_name: str = ""
    network_type: str = ""
    vni: int = 0
    subnet: str = ""
    adapter: str = ""
    management_ip: str = ""
    cluster_cidr: str = ""
    service_cidr: str = ""
    cluster_domain: str = ""
    node_name: str = ""
    flannel: bool = True
    kube_proxy: bool = True
