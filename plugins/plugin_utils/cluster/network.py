# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node has to know of the cluster's network: each value as it was set, else as the cluster says it, else, where
no cluster can be asked, kubeadm's default."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .client import Cluster
from .reading import CLUSTER_INFO, KUBEADM_CONFIG, KUBECONFIG, KUBELET_CONFIG, SERVICE_RANGE, ClusterReading, Known
from .remembered import FOR_THE_RUN, Remembered

SOURCES: Mapping[str, tuple[str, ...]] = {
    "cluster_cidr": ("flannel's ConfigMap", KUBEADM_CONFIG),
    "service_cidr": (SERVICE_RANGE, KUBEADM_CONFIG),
    "dns_service_ip": ("a Service kube-system with k8s-app=kube-dns",),
    "cluster_domain": (KUBELET_CONFIG, KUBEADM_CONFIG),
    "api_server": (CLUSTER_INFO, KUBECONFIG),
}
"""The values by name, the variable's without prefix, and which objects say them; the first one counts. Not
kubelet-config for DNS: with kubespray's nodelocaldns it has an address at which nothing listens on Windows."""

WITHOUT_CLUSTER: Mapping[str, str] = {
    "cluster_cidr": "10.244.0.0/16",
    "service_cidr": "10.96.0.0/12",
    "dns_service_ip": "10.96.0.10",
    "cluster_domain": "cluster.local",
    "api_server": "",
}
"""Sources: kubernetes cmd/kubeadm/app/apis/kubeadm/v1beta4/defaults.go; the pods' range: flannel's manifest."""


def list_known(found: ClusterReading) -> dict[str, Known]:
    """What the cluster says, by name."""
    every = {
        "cluster_cidr": found.cluster_cidr(),
        "service_cidr": found.service_cidr(),
        "dns_service_ip": found.dns,
        "cluster_domain": found.cluster_domain(),
        "api_server": found.api_server(),
    }
    return {name: known for name, known in every.items() if known is not None}


def resolve(given: Mapping[str, str], found: ClusterReading | None) -> dict[str, str]:
    """Every value; empty for one that was not set and that the cluster, `found`, does not say. None: without one."""
    known = WITHOUT_CLUSTER if found is None else {name: each.value for name, each in list_known(found).items()}
    return {name: str(given.get(name) or known.get(name) or "") for name in SOURCES}


def open_for_run(reached: Mapping[str, Any], folder: Path) -> Cluster | None:
    """The cluster, whose answers all hosts and tasks of a run share by its `folder`; None without a kubeconfig."""
    return Cluster.remembering(reached, Remembered(folder, ("the run", reached), FOR_THE_RUN))
