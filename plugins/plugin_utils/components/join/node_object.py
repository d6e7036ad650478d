# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a Node object says, and what has to be patched on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Object = Mapping[str, Any]

_CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")


def is_ready(node: Object) -> bool:
    """Whether its condition Ready is True."""
    conditions = (node.get("status") or {}).get("conditions") or ()
    return any(item.get("type") == "Ready" and item.get("status") == "True" for item in conditions)


def labels(node: Object) -> Mapping[str, str]:
    """Its labels."""
    found: Mapping[str, str] = (node.get("metadata") or {}).get("labels") or {}
    return found


def has_ready_linux(nodes: Iterable[Object]) -> bool:
    """Whether a Linux node is Ready, without which a cluster has nowhere to run its own pods."""
    return any(labels(node).get("kubernetes.io/os") == "linux" and is_ready(node) for node in nodes)


def control_plane_role(node: Object) -> str:
    """The label that makes it a control plane node; empty if none does."""
    return next((name for name in _CONTROL_PLANE if name in labels(node)), "")


def pod_cidr(node: Object) -> str:
    """spec.podCIDR, empty if the cluster has given it none."""
    return str((node.get("spec") or {}).get("podCIDR") or "")


def label_problems(node: Object, *, architecture: str, build: int | None) -> list[str]:
    """Which of the labels that a kubelet on Windows sets are missing or not this machine's; one half sentence each.

    Source: kubernetes pkg/kubelet/kubelet_node_status.go and nodestatus/setters (windows-build: 10.0.<build>).
    """
    found = labels(node)
    wanted = {"kubernetes.io/os": "windows"} | ({"kubernetes.io/arch": architecture} if architecture else {})
    said = [
        f"the label {name} is {found.get(name) or 'missing'}, not {value}"
        for name, value in wanted.items()
        if found.get(name) != value
    ]
    name = "node.kubernetes.io/windows-build"
    if build is not None and found.get(name) != f"10.0.{build}":
        said.append(f"the label {name} is {found.get(name) or 'missing'}, not 10.0.{build}")
    return said


def missing_taints(node: Object, wanted: Sequence[str]) -> list[dict[str, str]]:
    """Those of `wanted` that the Node does not have: `{key, value, effect}`."""
    present = (node.get("spec") or {}).get("taints") or ()
    known = {(taint.get("key"), taint.get("value") or "", taint.get("effect")) for taint in present}
    return [taint for taint in map(_taint, wanted) if (taint["key"], taint["value"], taint["effect"]) not in known]


def with_taints(node: Object, wanted: Sequence[str]) -> dict[str, Any] | None:
    """The patch (kind merge) that adds what is missing of `wanted` (`<key>=<value>:<effect>`); None if nothing is.

    --register-with-taints acts only when a Node registers. The patch names the resource version: the API refuses it
    where the taints have changed meanwhile.
    """
    present = [dict(taint) for taint in (node.get("spec") or {}).get("taints") or ()]
    added = missing_taints(node, wanted)
    if not added:
        return None
    version = (node.get("metadata") or {}).get("resourceVersion")
    metadata = {"resourceVersion": version} if version else {}
    return {"metadata": metadata, "spec": {"taints": [*present, *added]}}


def _taint(text: str) -> dict[str, str]:
    rest, _colon, effect = text.rpartition(":")
    key, _equals, value = rest.partition("=")
    return {"key": key, "value": value, "effect": effect}
