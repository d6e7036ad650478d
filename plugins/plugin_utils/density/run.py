# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A density run in a cluster: pods made at once, watched until they are Ready, and always taken away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..cluster import run_namespace
from ..cluster.client import Clock, Cluster, ClusterError, wait_for
from . import plan
from .plan import Sample, Wish


def measure(
    cluster: Cluster, wish: Wish, made: Sequence[dict[str, Any]], clock: Clock, timeout_s: float
) -> list[Sample]:
    """Make the pods and wait for them. The Namespace is deleted whatever happens, also after Ctrl-C. ClusterError."""
    try:
        cluster.create(run_namespace.PATH, plan.namespace(wish))
        path = f"{run_namespace.PATH}/{wish.namespace}/pods"
        begun: dict[str, float] = {}
        for pod in made:
            cluster.create(path, pod)
            begun[pod["metadata"]["name"]] = clock.now()
        return _watched(cluster, path, made, begun, clock, timeout_s)
    finally:
        cluster.delete(f"{run_namespace.PATH}/{wish.namespace}")


def _watched(
    cluster: Cluster,
    path: str,
    made: Sequence[dict[str, Any]],
    begun: dict[str, float],
    clock: Clock,
    timeout_s: float,
) -> list[Sample]:
    ready: dict[str, float] = {}
    last: dict[str, dict[str, Any]] = {}

    def look() -> bool | None:
        now = clock.now()
        last.clear()
        last.update({str(pod["metadata"]["name"]): pod for pod in cluster.items(path)})
        for name, pod in last.items():
            if name in begun and name not in ready and plan.is_ready(pod):
                ready[name] = round(now - begun[name], 1)
        return True if len(ready) == len(begun) else None

    try:
        wait_for(clock, timeout_s, look)
    except ClusterError as error:
        if error.status:
            raise
    return [
        plan.sample(
            pod["metadata"]["name"],
            str(pod["spec"]["nodeSelector"][plan.HOSTNAME]),
            last.get(pod["metadata"]["name"]),
            ready.get(pod["metadata"]["name"]),
        )
        for pod in made
    ]
