# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects of a cluster that say what runs where: workloads, what they use, and the Nodes."""

from __future__ import annotations

from typing import Any

from .answer import plural_of
from .client import Cluster

NAMESPACED = (
    *(("v1", kind) for kind in ("Pod", "Service", "PersistentVolumeClaim", "ReplicationController")),
    *(("apps/v1", kind) for kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet")),
    *(("batch/v1", kind) for kind in ("Job", "CronJob")),
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("discovery.k8s.io/v1", "EndpointSlice"),
)
CLUSTER_WIDE = (
    *(("v1", kind) for kind in ("Node", "PersistentVolume")),
    ("node.k8s.io/v1", "RuntimeClass"),
    ("storage.k8s.io/v1", "StorageClass"),
)


def read_workloads(cluster: Cluster, namespace: str = "") -> list[dict[str, Any]]:
    """All objects of these kinds, each with its apiVersion and kind, which the items of a list lack. ClusterError.

    `namespace` limits the namespaced kinds; an API group that the cluster does not serve has no objects.
    """
    within = f"/namespaces/{namespace}" if namespace else ""
    wanted = [(version, kind, within) for version, kind in NAMESPACED] + [(*each, "") for each in CLUSTER_WIDE]
    return [
        {"apiVersion": version, "kind": kind, **item}
        for version, kind, scope in wanted
        for item in cluster.items(f"/{'apis' if '/' in version else 'api'}/{version}{scope}/{plural_of(kind)}")
    ]
