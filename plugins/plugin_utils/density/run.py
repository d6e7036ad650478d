# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A density run in a cluster: pods made at once, watched until they are Ready, and always taken away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from ..cluster.client import Clock, Cluster, ClusterError, wait_for
from . import plan
from .plan import Sample, Wish

_NAMESPACES = "/api/v1/namespaces"
POLL_S = 1.0


def wish_until(now: datetime, timeout_s: float) -> str:
    """When a run that started now has surely ended."""
    return (now + timedelta(seconds=timeout_s + 3600)).strftime(plan.STAMP)


def measure(
    cluster: Cluster, wish: Wish, made: Sequence[dict[str, Any]], clock: Clock, timeout_s: float
) -> list[Sample]:
    """Make the pods and wait for them. The Namespace is deleted whatever happens, also after Ctrl-C. ClusterError."""
    try:
        cluster.create(_NAMESPACES, plan.namespace(wish))
        path = f"{_NAMESPACES}/{wish.namespace}/pods"
        begun: dict[str, float] = {}
        for pod in made:
            cluster.create(path, pod)
            begun[pod["metadata"]["name"]] = clock.now()
        return _watched(cluster, path, made, begun, clock, timeout_s)
    finally:
        cluster.delete(f"{_NAMESPACES}/{wish.namespace}")


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
        wait_for(clock, timeout_s, look, interval_s=POLL_S)
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


def wait_until_gone(cluster: Cluster, namespace: str, clock: Clock, timeout_s: float) -> None:
    """ClusterError when the Namespace is still there after so long."""
    wait_for(
        clock,
        timeout_s,
        lambda: True if cluster.get(f"{_NAMESPACES}/{namespace}") is None else None,
        f"The namespace {namespace} is being deleted, but was still there after {timeout_s:g} s; see kubectl describe "
        f"namespace {namespace}.",
        POLL_S,
    )


def sweep(cluster: Cluster, now: Callable[[], datetime]) -> tuple[str, ...]:
    """Delete the Namespaces that earlier runs left and whose time is up; their names."""
    gone = []
    selector = f"{plan.LABEL.replace('/', '%2F')}%3Dtrue"
    for item in cluster.items(f"{_NAMESPACES}?labelSelector={selector}"):
        metadata = item["metadata"]
        until = str((metadata.get("annotations") or {}).get(plan.UNTIL) or "")
        if not metadata.get("deletionTimestamp") and until <= now().strftime(plan.STAMP):
            cluster.delete(f"{_NAMESPACES}/{metadata['name']}")
            gone.append(str(metadata["name"]))
    return tuple(gone)
