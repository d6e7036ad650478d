"""Pods that a drain has to do with: one of each kind that `kubectl drain` treats differently."""

from __future__ import annotations

from typing import Any

from tests.lab.cluster.cluster import Cluster
from tests.lab.cluster.kinds import BY_NAME
from tests.lab.cluster.store import Object

BUDGET_S = 15.0
"""How long the PodDisruptionBudget of `guarded` allows no disruption."""
GOES = ("alone", "guarded", "scratch", "web")
STAYS = ("agent",)
OPTIONS = {"force": True, "delete_emptydir_data": True}
"""winkube_drain_options with which all of them may go."""


def move_in(cluster: Cluster, node: str) -> None:
    """On the Node: `web`, `guarded` behind a budget, `scratch` with local storage, `alone` without an owner, and
    `agent` of a DaemonSet."""
    for name, owner in (("web", "ReplicaSet"), ("guarded", "ReplicaSet"), ("scratch", "StatefulSet")):
        volumes = [{"name": "d", "emptyDir": {}}] if name == "scratch" else []
        _pod(cluster, node, name, owner, volumes=volumes)
    _pod(cluster, node, "alone", "")
    _pod(cluster, node, "agent", "DaemonSet")
    budget = BY_NAME["PodDisruptionBudget"]
    wanted = {"selector": {"matchLabels": {"app": "guarded"}}}
    if cluster.store.find(budget, "default", "guarded") is None:
        cluster.store.create(budget, "default", {"metadata": {"name": "guarded"}, "spec": wanted})

    def allow(count: int) -> None:
        found = cluster.store.get(budget, "default", "guarded")
        cluster.store.replace(budget, "default", "guarded", {**found, "status": {"disruptionsAllowed": count}})

    with cluster.api.lock:
        allow(0)
        cluster.clock.call_later(BUDGET_S, lambda: allow(1))


def pods(cluster: Cluster, node: str) -> list[str]:
    """The names of the pods on the Node, of those that moved in."""
    found = [pod for pod in cluster.store.list(BY_NAME["Pod"], "default") if pod["spec"].get("nodeName") == node]
    return [str(pod["metadata"]["name"]) for pod in found]


def _pod(cluster: Cluster, node: str, name: str, owner: str, **spec: Any) -> None:
    body: Object = {
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"nodeName": node, "containers": [{"name": name, "image": "registry.example.com/a:1"}], **spec},
        "status": {"phase": "Running"},
    }
    if owner:
        body["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": owner, "name": name, "uid": "u"}]
    cluster.store.create(BY_NAME["Pod"], "default", body)
