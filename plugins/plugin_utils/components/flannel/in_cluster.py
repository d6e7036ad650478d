# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the cluster says about a node that runs flanneld, or that gets flannel from the cluster, and the reasons to
refuse it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...cluster.client import Cluster, wait_for
from ...cluster.error import FORBIDDEN, ClusterError
from ...cluster.records import ConfigMap
from ...engine import windows_path
from ...engine.clock import Clock
from ...engine.reading import Reading
from ...engine.resource import Notice, Resource
from ...engine.resources.service import ACTIVE, NoService, runs
from ...engine.waiting import Wait
from ...facts.flannel import CONFIG_MAPS
from .. import daemon_sets, networks
from ..layout import Layout
from . import flannel_conf
from .flannel import NAME, PROGRAM
from .options import FlannelOptions

POD_CIDR_S = 60
"""Seconds that the controller manager may take to give a new Node its podCIDR."""

NETWORKS = ("flannel", "calico", "antrea", "ovn")
"""Parts of the names of DaemonSets of networks that support Windows."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What the cluster says about this node: its Node, the DaemonSets, flannel's ConfigMap and its name, and for a
    flannel of ours without a ConfigMap all Nodes, on which flannel notes its backend."""

    server: str
    node: Mapping[str, Any] | None
    daemon_sets: Sequence[Mapping[str, Any]]
    config_map: ConfigMap | None
    where: str
    nodes: Sequence[Mapping[str, Any]] = ()

    @classmethod
    def of(cls, cluster: Cluster, shared: Cluster, name: str, *, ours: bool, waits: bool) -> Answers:
        """Ask the cluster, of which `shared` remembers what is the same for all nodes. `ours`: flannel is a service of
        ours; `waits`: wait up to POD_CIDR_S for a Node's podCIDR. Raises ClusterError."""

        def node_with_range() -> Mapping[str, Any] | None:
            node = cluster.node(name)
            return node if node and (node.get("spec") or {}).get("podCIDR") else None

        node = cluster.node(name)
        if node is not None and waits:
            try:
                node = dict(
                    wait_for(
                        Wait(f"{NAME}: waiting for the podCIDR of the Node {name}", Clock()),
                        POD_CIDR_S,
                        node_with_range,
                    )
                )
            except ClusterError:
                node = cluster.node(name)
        found = ((f"{space}/{each}", shared.config_map(space, each)) for space, each in CONFIG_MAPS)
        where, config_map = next(((where, each) for where, each in found if each is not None), ("", None))
        nodes = _list_nodes(shared) if ours and config_map is None else ()
        return cls(cluster.server, node, shared.daemon_sets(), config_map, where, nodes)

    def problems(self, options: FlannelOptions, *, check: bool) -> tuple[str, ...]:
        """Why flanneld would not work on this node. In check mode the Node may not exist yet."""
        name, cluster_cidr = options.node_name, options.cluster_cidr
        not_yet = check and self.node is None
        problems = [
            None if not_yet else node_problem(self.node, name, cluster_cidr),
            find_daemon_set(self.daemon_sets, self.node, name),
        ]
        if self.config_map is not None:
            found = flannel_conf.cluster_net_conf(self.config_map, self.where)
            problems += flannel_conf.cluster_problems(found, options.network_mode, cluster_cidr, self.where)
        else:
            problems += flannel_conf.node_problems(self.nodes, options.network_mode)
        return tuple(each for each in problems if each)

    def backend_problems(self) -> tuple[str, ...]:
        """Why the flannel that the cluster runs on Windows would not start, as its ConfigMap has it; nothing where
        another network runs there."""
        labels = daemon_sets.labels_of(self.node, "")
        if self.config_map is None or not daemon_sets.running(self.daemon_sets, NAME, labels):
            return ()
        return flannel_conf.windows_problems(
            flannel_conf.cluster_net_conf(self.config_map, self.where).backend, self.where
        )


def _list_nodes(cluster: Cluster) -> Sequence[Mapping[str, Any]]:
    """Nothing where they may not be listed."""
    try:
        return cluster.nodes()
    except ClusterError as error:
        if error.status != FORBIDDEN:
            raise
        return ()


def notices(answers: Answers | None) -> tuple[Resource, ...]:
    """Notices about comparisons that were not possible."""
    if answers is not None and answers.config_map is not None:
        return ()
    why = "winkube_cluster.kubeconfig is empty" if answers is None else "there is no ConfigMap kube-flannel-cfg"
    return (Notice("flannel of the cluster", f"skip the comparison with the cluster's flannel ({why})"),)


def node_problem(node: Mapping[str, Any] | None, name: str, cluster: str) -> str | None:
    """Why flanneld could not get a lease: it needs the Node, with a podCIDR."""
    if node is None:
        return (
            f"The cluster has no Node '{name}' (winkube_node_name): the kubelet has not registered it, or under "
            "another name. The role join does that before flannel; a Node that was deleted comes back when the machine "
            "joins again."
        )
    spec = node.get("spec") or {}
    found = [str(each) for each in spec.get("podCIDRs") or [spec.get("podCIDR")] if each]
    if not found:
        return (
            f"The Node '{name}' has no podCIDR, so flanneld would end with 'pod cidr not assigned': the controller "
            "manager needs --allocate-node-cidrs and a --cluster-cidr with room for one more node."
        )
    pods = networks.list_pod_ranges(cluster)
    own = networks.ipv4(networks.ranges(",".join(found), f"the podCIDR of the Node '{name}'"))
    if not any(each.subnet_of(cover) for each in own for cover in pods):
        return (
            f"The Node '{name}' has the podCIDR {', '.join(found)}, which does not lie in winkube_cluster_cidr "
            f"{cluster}."
        )
    return None


def find_daemon_set(sets: Iterable[Mapping[str, Any]], node: Mapping[str, Any] | None, name: str) -> str | None:
    """A sentence if the cluster's own flannel runs on this node, since a service cannot run beside it."""
    found = daemon_sets.running(sets, NAME, daemon_sets.labels_of(node, name))
    if not found:
        return None
    return (
        f"The DaemonSet {', '.join(found)} runs flannel on this node; a service {PROGRAM} beside it would fight over "
        "the same network. Set winkube_cni_managed_by: cluster, or keep the DaemonSet off this node."
    )


def leave_to_cluster(layout: Layout, reading: Reading) -> tuple[Resource, ...]:
    """Remove our own service once the network is the cluster's. cni.conf stays: containerd takes the first file by
    name, and the names of DaemonSets begin with a number."""
    name, program = layout.flanneld_service, layout.flanneld_binary
    if reading.service(name) is None or runs(name, program, reading):
        return (NoService(name, program),)
    return ()


def cluster_managed_problems(
    layout: Layout,
    reading: Reading,
    sets: Iterable[Mapping[str, Any]] | None,
    node: Mapping[str, Any] | None,
    name: str,
) -> tuple[str, ...]:
    """What is wrong if the cluster should bring flannel: no DaemonSet would run here (`sets` is None without access
    to the cluster), or a foreign service runs."""
    problems = []
    ours, program = layout.flanneld_service, layout.flanneld_binary
    service = reading.service(ours)
    if service is not None and service.get("state") in ACTIVE and not runs(ours, program, reading):
        problems.append(
            f"The service {ours} runs on this node, but winkube_cni_managed_by is cluster: the two would fight over "
            f"the same network. It does not run {program}, so it is not ours: stop and remove it, sc.exe stop "
            f"{ours}, sc.exe delete {ours}."
        )
    labels = daemon_sets.labels_of(node, name)
    if sets is not None and not any(
        daemon_sets.running(sets, word, labels) or daemon_sets.awaited(sets, word) for word in NETWORKS
    ):
        problems.append(
            f"winkube_cni_managed_by is cluster, but no DaemonSet of a network ({', '.join(NETWORKS)}) runs on this "
            "node: pods would never get an address. Install one with a Windows part, or set it to service."
        )
    for what, (daemon_set, path) in daemon_sets.cni_folders(sets or (), NETWORKS, labels).items():
        option = f"winkube_cni_{what}_dir"
        present = layout.cni_bin_dir if what == "bin" else layout.cni_conf_dir
        if not windows_path.is_same(path, present):
            problems.append(
                f"winkube_cni_managed_by is cluster, and the DaemonSet {daemon_set} writes to {path}, but containerd "
                f"on this node looks in {present}: pods would never get an address. Set {option} to {path}."
            )
    return tuple(problems)
