# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of win_k8s_repair, but for those that say what the node should be (`components/node.py`), and of
win_k8s_reset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..components.options import option


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairOptions:
    """What win_k8s_repair repairs, and how far."""

    action: Literal["rejoin", "network", "restart", "cni_conf", "take_over", "acknowledge", "finding"] = option("What.")
    node_name: str = option("A name.", default="")
    network_name: str = option("A name.", default="")
    cluster_cidr: str = option("The pods'.", default="10.244.0.0/16")
    join: Literal["kubeadm", "bootstrap_kubeconfig", "kubeconfig"] = option("How.", default="kubeadm")
    always: bool = option("Whether.", default=False)
    cni_managed_by: Literal["service", "cluster"] = option("By whom.", default="service")
    network_mode: Literal["l2bridge", "overlay"] = option("The kind.", default="l2bridge")
    interface_name: str = option("An adapter.", default="Ethernet")
    management_ip: str = option("An address.", default="")
    network_timeout: int = option("Seconds.", default=120)
    retries: int = option("How often.", default=2)
    generate_subnet_env: bool = option("Whether.", default=False)
    subnet: str = option("A range.", default="")
    remove_policy_lists: bool = option("Whether.", default=False)
    switch_mode: bool = option("Whether.", default=False)
    services: tuple[str, ...] = option("Names.", default=())
    finding: str = option("An id.", default="")
    batch: str = option("An id.", default="")
    conditions: bool = option("Whether.", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetOptions:
    """What win_k8s_reset takes away, and what it keeps."""

    node_name: str
    keep: tuple[str, ...]
    delete_node: bool
    variables: tuple[str, ...]
    network_name: str
    cluster_cidr: str
    containerd_root: str
    containerd_state: str
    net_conf: str
    cni_data_dir: str
