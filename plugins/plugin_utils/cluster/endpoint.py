# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How nodes reach the API: the address and the CA that the cluster itself gives out."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from .client import Cluster
from .documents import kubeconfig
from .error import ClusterError


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`server` is an address with its scheme; `published`: whether the cluster has a ConfigMap cluster-info, without
    which kubeadm cannot join."""

    server: str
    ca_pem: bytes
    published: bool

    @property
    def host_and_port(self) -> str:
        """As kubeadm's apiServerEndpoint has it."""
        parts = urlsplit(self.server)
        return parts.netloc if parts.port is not None else f"{parts.netloc}:443"


def endpoint(cluster: Cluster, api_server: str = "") -> Endpoint:
    """What nodes are told: `api_server` if the user says so, else what cluster-info says, else the kubeconfig's.

    Source: kubernetes cmd/kubeadm/app/phases/bootstraptoken/clusterinfo/clusterinfo.go.
    """
    published = cluster.config_map("kube-public", "cluster-info")
    text = str(((published or {}).get("data") or {}).get("kubeconfig") or "")
    info = kubeconfig(text, "ConfigMap kube-public/cluster-info") if text else None
    server = api_server or (info.server if info else cluster.server)
    if urlsplit(server).scheme not in {"http", "https"} or not urlsplit(server).netloc:
        raise ClusterError(f"api_server: '{server}' is no address such as https://10.0.0.10:6443.")
    return Endpoint(server.rstrip("/"), (info.ca_pem if info else b"") or cluster.ca_pem, info is not None)
