# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node's kubelet, asked through the cluster's API server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..cluster.answer import Object
from ..cluster.client import Cluster
from ..cluster.error import ClusterError


class KubeletProxy:
    """The kubelet of the Node `name`."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self._cluster = cluster
        self._name = name

    def summary(self) -> Object:
        """`/stats/summary`. ClusterError if there is no such node or the kubelet does not answer."""
        answer = self._cluster.get(self._path("stats/summary"))
        if answer is None:
            raise ClusterError(
                f"node_name: the cluster {self._cluster.server} has no Node {self._name}, or its kubelet serves no "
                "/stats/summary.",
                404,
            )
        return answer

    def feature_gates(self) -> Mapping[str, Any] | None:
        """The gates that kubelet's configuration sets; None if it cannot be read (`/configz` may be switched off by
        enableDebuggingHandlers, or refused)."""
        try:
            answer = self._cluster.get(self._path("configz"))
        except ClusterError:
            return None
        if answer is None:
            return None
        gates = (answer.get("kubeletconfig") or {}).get("featureGates") or {}
        return gates if isinstance(gates, Mapping) else None

    def containerd_version(self) -> str:
        """containerd's version as the Node has it (`containerd://1.7.12`), "" if it is another runtime."""
        node = self._cluster.node(self._name) or {}
        said = str(((node.get("status") or {}).get("nodeInfo") or {}).get("containerRuntimeVersion") or "")
        name, _separator, version = said.partition("://")
        return version if name == "containerd" else ""

    def _path(self, what: str) -> str:
        return f"/api/v1/nodes/{self._name}/proxy/{what}"
