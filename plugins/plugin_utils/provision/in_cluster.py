# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a swap means in the cluster: the Node that has to be back, and kube-proxy in HostProcess pods that run it from a
file of the host."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..cluster.client import Cluster, wait_for
from ..cluster.objects import full_name
from ..components import daemon_sets
from ..components.join import node_object
from ..engine import windows_path
from ..engine.clock import Clock
from ..engine.resource import Refused
from ..engine.waiting import Wait
from .options import ProvisionerOptions
from .provision import Task
from .provision_items import KUBEPROXY_PATH, Item


def wait_for_node(
    find_cluster: Callable[[], Cluster | None], how: ProvisionerOptions, name: str, tasks: Iterable[Task]
) -> tuple[str, ...]:
    """Until the Node is Ready and reports the kubelet that was put in; what was waited for. ClusterError if it is not;
    nothing is rolled back then: the node's own readiness check has passed."""
    asked = [task for task in tasks if task.item.wait_for == "node_ready" and task.what in {"replace", "previous"}]
    if not asked:
        return ()
    versions = {task.version for task in asked if task.item.name.casefold() == "kubelet" and task.version}
    cluster = find_cluster()
    if cluster is None:
        raise Refused(
            "wait_for: node_ready needs the cluster: name its kubeconfig in winkube_cluster.kubeconfig. The programs "
            "were swapped, and their services work."
        )
    wait_for(
        Wait(f"waiting for the Node {name} to be Ready with what was put in", Clock()),
        how.node_timeout,
        lambda: True if node_is_back(cluster.node(name), versions) else None,
        f"The Node {name} is not Ready {how.node_timeout} s after the swap. Its services work; see "
        "playbooks/verify.yml. state: previous goes back to the program before.",
    )
    return (f"wait until the Node {name} is Ready",)


def node_is_back(node: Mapping[str, Any] | None, versions: set[str]) -> bool:
    """Whether the Node is Ready and reports one of these kubelets; whichever, if there are none."""
    status = (node or {}).get("status") or {}
    reported = str((status.get("nodeInfo") or {}).get("kubeletVersion") or "").removeprefix("v")
    return bool(node) and node_object.is_ready(node or {}) and (not versions or reported in versions)


def restart_notices(pods: Sequence[str], tasks: Iterable[Task]) -> list[str]:
    """What no one does to the pods of these DaemonSets when kube-proxy has been replaced."""
    swapped = any(task.item.name.casefold() == "kube-proxy" and task.what != "unchanged" for task in tasks)
    return [
        f"leave the pods of the DaemonSet {name} alone: they run the new kube-proxy only after they are restarted "
        f"(kubectl rollout restart daemonset -n {name.partition('/')[0]} {name.partition('/')[2]})"
        for name in pods
        if swapped
    ]


def ask_daemon_sets(items: Iterable[Item], name: str) -> Callable[[Cluster], tuple[str, ...]] | None:
    """What is asked of the cluster if kube-proxy is replaced: the DaemonSets of `list_host_daemon_sets` on the Node
    `name`. None if it is not."""
    place = next((item.destination for item in items if item.name.casefold() == "kube-proxy"), None)
    if place is None:
        return None
    return lambda cluster: list_host_daemon_sets(cluster.daemon_sets(), cluster.node(name), name, place)


def list_host_daemon_sets(
    found: Iterable[Mapping[str, Any]], node: Mapping[str, Any] | None, name: str, destination: str
) -> tuple[str, ...]:
    """The DaemonSets (`namespace/name`) that run on this node and whose variable KUBEPROXY_PATH names `destination`."""
    labels = daemon_sets.labels_of(node, name)
    return tuple(
        full_name(each)
        for each in found
        if daemon_sets.runs_on(each, labels) and any(_is_same_path(path, destination) for path in _list_paths(each))
    )


def _list_paths(daemon_set: Mapping[str, Any]) -> list[str]:
    pod = daemon_set.get("spec", {}).get("template", {}).get("spec", {})
    return [
        str(variable.get("value") or "")
        for container in pod.get("containers") or ()
        for variable in container.get("env") or ()
        if variable.get("name") == KUBEPROXY_PATH
    ]


def _is_same_path(path: str, destination: str) -> bool:
    """A path without a drive (`/k/kube-proxy.exe`) is one on the system drive."""
    written = path.replace("/", "\\")
    return windows_path.is_same(f"C:{written}" if written.startswith("\\") else written, destination)
