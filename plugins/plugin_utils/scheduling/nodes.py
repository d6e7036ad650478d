# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Windows nodes of a cluster, from their Node objects."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..components.join import node_object
from ..components.join.node_object import format_taint
from ..engine.resource import Refused
from ..facts.node_labels import ARCH_LABEL, BUILD_LABEL, OS_LABEL
from ..facts.taint import follows_state
from ..facts.windows import find_release

Object = Mapping[str, Any]

_KERNEL = re.compile(r"10\.0\.(\d{5})(?:\.(\d+))?")


@dataclass(frozen=True, slots=True)
class WindowsNode:
    """One Node. `build` is the third part of the machine's own version as its kubelet reports it (kernelVersion),
    `label` the build in its label; either is None if unreadable. `revision` is the fourth part."""

    name: str
    body: Object
    build: int | None
    revision: int | None
    label: int | None
    ready: bool
    kubelet: str
    kube_proxy: str
    runtime: str

    @property
    def selects(self) -> int | None:
        """The build by which a selector finds this Node: the label's, since the scheduler compares that."""
        return self.label if self.label is not None else self.build

    @property
    def os_version(self) -> str:
        """`10.0.20348.2655`, as far as it is known; empty if unknown."""
        if self.build is None:
            return ""
        return f"10.0.{self.build}" if self.revision is None else f"10.0.{self.build}.{self.revision}"

    @property
    def release(self) -> str:
        """`Windows Server 2022`; empty for a build without a name."""
        release = find_release(self.build) if self.build is not None else None
        return release.name if release else ""

    @property
    def usable(self) -> bool:
        """Ready and not cordoned."""
        return self.ready and not (self.body.get("spec") or {}).get("unschedulable")

    @property
    def arch(self) -> str:
        """The processor in the label kubernetes.io/arch."""
        return str(node_object.labels(self.body).get(ARCH_LABEL) or _info(self.body).get("architecture") or "")


def is_windows(node: Object) -> bool:
    """By its label or, without one, by its kubelet's report."""
    said = node_object.labels(node).get(OS_LABEL) or _info(node).get("operatingSystem")
    return str(said).lower() == "windows"


def windows_node(node: Object) -> WindowsNode:
    """From a Node object.

    Source: kubernetes pkg/kubelet/winstats/perfcounter_nodestats_windows.go (kernelVersion is 10.0.<build>.<revision>),
    pkg/kubelet/kubelet_node_status.go (the label 10.0.<build>).
    """
    info = _info(node)
    kernel = _KERNEL.search(str(info.get("kernelVersion") or ""))
    label = _KERNEL.fullmatch(str(node_object.labels(node).get(BUILD_LABEL) or ""))
    return WindowsNode(
        name=str((node.get("metadata") or {}).get("name", "")),
        body=node,
        build=int(kernel[1]) if kernel else None,
        revision=int(kernel[2]) if kernel and kernel[2] else None,
        label=int(label[1]) if label else None,
        ready=node_object.is_ready(node),
        kubelet=str(info.get("kubeletVersion") or "").removeprefix("v"),
        kube_proxy=str(info.get("kubeProxyVersion") or "").removeprefix("v"),
        runtime=str(info.get("containerRuntimeVersion") or ""),
    )


def windows_nodes(nodes: Iterable[Object]) -> tuple[WindowsNode, ...]:
    """The Windows Nodes, by name."""
    return tuple(sorted((windows_node(node) for node in nodes if is_windows(node)), key=lambda each: each.name))


def select_nodes(
    nodes: Iterable[WindowsNode], names: Sequence[str], *, cordoned: bool = False
) -> tuple[WindowsNode, ...]:
    """The nodes for test pods: those named, else all usable ones. `cordoned`: named ones may be cordoned. Refused."""
    known = {node.name: node for node in nodes}
    if missing := [name for name in names if name not in known]:
        raise Refused(f"nodes: the cluster has no Windows node {', '.join(missing)}; it has {', '.join(known)}.")
    picked = [known[name] for name in names] or [node for node in known.values() if node.usable]
    if unusable := [node.name for node in picked if not (node.ready if cordoned else node.usable)]:
        raise Refused(f"nodes: {', '.join(unusable)} is not Ready, or is cordoned; pods would wait there forever.")
    if not picked:
        raise Refused("The cluster has no Windows node that is Ready and not cordoned.")
    return tuple(picked)


def list_tolerated(nodes: Iterable[WindowsNode], named: Iterable[str] = ()) -> tuple[str, ...]:
    """The taints that pods for these Nodes must tolerate, `<key>=<value>:<effect>`: those named, and those of the
    usable nodes, as a provider sets them; not those of a Node's state (not-ready, pressure).

    Source: kubernetes staging/src/k8s.io/api/core/v1/well_known_taints.go; GKE gives its Windows Nodes
    node.kubernetes.io/os=windows:NoSchedule.
    """
    found = [
        format_taint({"value": "", **taint})
        for node in nodes
        if node.usable
        for taint in (node.body.get("spec") or {}).get("taints") or ()
        if not follows_state(taint.get("key")) and taint.get("effect")
    ]
    return tuple(dict.fromkeys((*named, *found)))


def _info(node: Object) -> Mapping[str, Any]:
    found: Mapping[str, Any] = (node.get("status") or {}).get("nodeInfo") or {}
    return found
