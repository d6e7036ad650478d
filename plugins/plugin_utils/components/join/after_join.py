# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""After the join, in the cluster: the Node is waited for, its certificate request, labels and taints looked after.

Nothing of this is taken back: the machine has joined.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...cluster.client import Clock, Cluster, Object, wait_for
from ...cluster.documents import request
from ...cluster.error import ClusterError
from ..kubelet import tainting
from . import csr, node_object

CSR_S = 30
"""How long a new node's request for a serving certificate is waited for, in seconds."""
CONFLICT = 409


@dataclass(frozen=True, slots=True)
class Expected:
    """What the Node object should be. `pod_cidr`: whether to wait for one; `serving_csr`: whether the kubelet asks
    for a serving certificate; `timeout_s`: how long a node that has just joined is waited for, 0 for one that had."""

    name: str
    architecture: str = ""
    build: int | None = None
    taints: tuple[str, ...] = ()
    pod_cidr: bool = True
    serving_csr: bool = False
    timeout_s: int = 0


@dataclass(frozen=True, slots=True)
class Report:
    """`steps`: what was changed in the cluster; `warnings`: whole sentences; `node`: the Node object."""

    steps: tuple[str, ...]
    warnings: tuple[str, ...]
    node: Object


def look_after(cluster: Cluster, expected: Expected, clock: Clock) -> Report:
    """Wait, approve, patch. ClusterError if the Node or its podCIDR does not come, or its labels are not a Windows
    node's."""
    node = _node(cluster, expected, clock)
    steps, warnings = _certificates(cluster, expected, clock, node)
    node, patched = _taints(cluster, expected, node)
    if problems := node_object.label_problems(node, architecture=expected.architecture, build=expected.build):
        raise ClusterError(
            f"The Node {expected.name} has joined, but {'; '.join(problems)}: the kubelet sets these labels, so either "
            "another machine has this name, or something removed them."
        )
    return Report((*steps, *patched), tuple(warnings), node)


def _node(cluster: Cluster, expected: Expected, clock: Clock) -> Object:
    name, timeout_s = expected.name, expected.timeout_s
    node = wait_for(
        clock,
        timeout_s,
        lambda: cluster.node(name),
        f"The machine has joined, but within {timeout_s} s the cluster got no Node {name}: the kubelet registers it "
        "under the name of its --hostname-override; look into the kubelet's log.",
    )
    if not expected.pod_cidr or not timeout_s:
        return node
    return wait_for(
        clock,
        timeout_s,
        lambda: found if (found := cluster.node(name)) and node_object.pod_cidr(found) else None,
        f"The Node {name} has joined, but within {timeout_s} s it got no podCIDR, without which flanneld ends: "
        "kube-controller-manager gives them out with --allocate-node-cidrs and --cluster-cidr, and may have none left.",
    )


def _certificates(
    cluster: Cluster, expected: Expected, clock: Clock, node: Mapping[str, Any]
) -> tuple[list[str], list[str]]:
    """Every request of this node for a serving certificate: approved if it is right, else a warning."""
    steps, warnings = [], []
    for found in _requests(cluster, expected, clock):
        label = str(found["metadata"]["name"])
        try:
            asked = request(base64.b64decode(str((found.get("spec") or {}).get("request") or "")))
            problems = csr.problems(found, asked, node)
        except ClusterError as error:
            problems = [str(error).rstrip(".")]
        if problems:
            warnings.append(
                f"The certificate request {label} of {expected.name} was not approved: {'; '.join(problems)}. Look at "
                f"it (kubectl describe csr {label}) and deny it if nobody can say whose it is."
            )
            continue
        cluster.patch(f"{csr.PATH}/{label}/approval", csr.approval(found, expected.name))
        steps.append(f"approve the serving certificate of {expected.name} ({label})")
    return steps, warnings


def _requests(cluster: Cluster, expected: Expected, clock: Clock) -> list[Object]:
    def pending() -> list[Object] | None:
        return [item for item in cluster.items(csr.PATH) if csr.pending(item, expected.name)] or None

    if not expected.serving_csr or not expected.timeout_s:
        return pending() or []
    try:
        return wait_for(clock, min(CSR_S, expected.timeout_s), pending)
    except ClusterError as error:
        if error.status:
            raise
        return []


def planned_taints(cluster: Cluster, node: Object, taints: Sequence[str]) -> tuple[str, ...]:
    """What `look_after` would do to the Node and its pods by these taints."""
    added = node_object.missing_taints(node, taints)
    if not added:
        return ()
    name = str(node["metadata"]["name"])
    return (tainting.step(name, added, cluster.items(tainting.pods_of(name))),)


def _taints(cluster: Cluster, expected: Expected, node: Object) -> tuple[Object, tuple[str, ...]]:
    for attempt in range(3):
        patch = node_object.with_taints(node, expected.taints)
        if patch is None:
            return node, ()
        steps = planned_taints(cluster, node, expected.taints)
        try:
            patched = cluster.patch(f"/api/v1/nodes/{expected.name}", patch)
        except ClusterError as error:
            if error.status != CONFLICT or attempt == 2:
                raise
            node = cluster.node(expected.name) or node
        else:
            return patched or node, steps
    return node, ()
