# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of win_k8s_repair, but for those that say what the node should be (`components/node.py`), and of
win_k8s_reset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairOptions:
    """What win_k8s_repair repairs, and how far."""

    action: Literal["rejoin", "network", "restart", "cni_conf", "take_over", "acknowledge", "finding"]
    node_name: str
    network_name: str
    cluster_cidr: str
    join: Literal["kubeadm", "bootstrap_kubeconfig", "kubeconfig"]
    always: bool
    cni_managed_by: Literal["service", "cluster"]
    network_mode: Literal["l2bridge", "overlay"]
    interface_name: str
    management_ip: str
    network_timeout: int
    retries: int
    generate_subnet_env: bool
    subnet: str
    remove_policy_lists: bool
    switch_mode: bool
    services: tuple[str, ...]
    finding: str
    batch: str
    conditions: bool


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
