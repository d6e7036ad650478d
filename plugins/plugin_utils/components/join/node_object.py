# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Node object: what it says, how to patch it, and what a new taint does to its pods. NoExecute evicts those that do
not tolerate it; NoSchedule lets them run until they are recreated elsewhere.

Sources: kubernetes staging/src/k8s.io/component-helpers/scheduling/corev1/helpers.go and api/core/v1/toleration.go,
ToleratesTaint; pkg/controller/tainteviction/taint_eviction.go, processPodOnNode.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, astuple
from typing import Any

from ...cluster.pods import has_ended, is_mirror
from ...facts.node_labels import ARCH_LABEL, BUILD_LABEL, OS_LABEL
from ...facts.taint import Taint

Object = Mapping[str, Any]

_CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")


def is_ready(node: Object) -> bool:
    """Whether its condition Ready is True."""
    conditions = (node.get("status") or {}).get("conditions") or ()
    return any(item.get("type") == "Ready" and item.get("status") == "True" for item in conditions)


def labels(node: Object) -> Mapping[str, str]:
    found: Mapping[str, str] = (node.get("metadata") or {}).get("labels") or {}
    return found


def has_ready_linux(nodes: Iterable[Object]) -> bool:
    """Whether a Linux node is Ready: only there a cluster can run its own pods."""
    return any(labels(node).get(OS_LABEL) == "linux" and is_ready(node) for node in nodes)


def control_plane_role(node: Object) -> str:
    """The label that makes it a control plane node; empty if it has none."""
    return next((name for name in _CONTROL_PLANE if name in labels(node)), "")


def pod_cidr(node: Object) -> str:
    """spec.podCIDR, empty if the cluster has not set one."""
    return str((node.get("spec") or {}).get("podCIDR") or "")


def label_problems(node: Object, *, architecture: str, build: int | None) -> list[str]:
    """The labels of a Windows kubelet that are missing or have another machine's value; one clause each.

    Source: kubernetes pkg/kubelet/kubelet_node_status.go and nodestatus/setters (windows-build: 10.0.<build>).
    """
    found = labels(node)
    wanted = {OS_LABEL: "windows"} | ({ARCH_LABEL: architecture} if architecture else {})
    said = [
        f"the label {name} is {found.get(name) or 'missing'}, not {value}"
        for name, value in wanted.items()
        if found.get(name) != value
    ]
    if build is not None and found.get(BUILD_LABEL) != f"10.0.{build}":
        said.append(f"the label {BUILD_LABEL} is {found.get(BUILD_LABEL) or 'missing'}, not 10.0.{build}")
    return said


def find_missing_taints(node: Object, wanted: Sequence[str]) -> list[dict[str, str]]:
    """The taints of `wanted` that the Node does not have: `{key, value, effect}`."""
    present = (node.get("spec") or {}).get("taints") or ()
    known = {(taint.get("key"), taint.get("value") or "", taint.get("effect")) for taint in present}
    return [asdict(taint) for taint in map(Taint.parse, wanted) if astuple(taint) not in known]


def build_taint_patch(node: Object, wanted: Sequence[str]) -> dict[str, Any] | None:
    """The merge patch that adds the missing taints of `wanted` (`<key>=<value>:<effect>`); None if none is missing.

    --register-with-taints acts only when a Node registers. The patch names the resource version, so the API refuses it
    if the taints have changed meanwhile.
    """
    present = [dict(taint) for taint in (node.get("spec") or {}).get("taints") or ()]
    added = find_missing_taints(node, wanted)
    if not added:
        return None
    version = (node.get("metadata") or {}).get("resourceVersion")
    metadata = {"resourceVersion": version} if version else {}
    return {"metadata": metadata, "spec": {"taints": [*present, *added]}}


EVICTS, KEEPS_OFF = "NoExecute", "NoSchedule"


def taint_step(name: str, added: Sequence[Mapping[str, str]], pods: Iterable[Object]) -> str:
    """The step: what is done to the Node and what happens to its pods, each by name and owner."""
    running = [pod for pod in pods if not is_over(pod)]
    text = f"taint the Node {name} with {', '.join(map(format_taint, added))}"
    if evicted := [said for pod in running if (said := _find_eviction(pod, added))]:
        text += f"; that evicts {', '.join(evicted)}"
    left = [pod for pod in running if not _find_eviction(pod, added) and not tolerates_all(pod, added, (KEEPS_OFF,))]
    if left:
        text += f"; that keeps off, once they are recreated, {', '.join(map(_describe, left))}"
    return text


def format_taint(taint: Mapping[str, str]) -> str:
    """The taint as people write it: `os=windows:NoSchedule`."""
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint['key']}{value}:{taint['effect']}"


def _find_eviction(pod: Object, added: Sequence[Mapping[str, str]]) -> str:
    """The pod to be evicted, with the seconds that it may stay; empty if it may stay forever."""
    waits: list[int] = []
    for taint in added:
        if taint["effect"] != EVICTS:
            continue
        found = _toleration(pod, taint)
        if found is None:
            return _describe(pod)
        if found.get("tolerationSeconds") is not None:
            waits.append(max(0, int(found["tolerationSeconds"])))
    return _describe(pod, f", after {min(waits)} s") if waits else ""


def tolerates_all(pod: Object, taints: Sequence[Mapping[str, str]], effects: Sequence[str]) -> bool:
    """Whether the pod tolerates all taints with these effects."""
    return all(_toleration(pod, taint) is not None for taint in taints if taint["effect"] in effects)


def _toleration(pod: Object, taint: Mapping[str, str]) -> Object | None:
    """The first toleration that matches."""
    given = (pod.get("spec") or {}).get("tolerations") or ()
    return next((each for each in given if _tolerates(each, taint)), None)


def _tolerates(toleration: Object, taint: Mapping[str, str]) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    if toleration.get("operator") == "Exists":
        return True
    same = (toleration.get("value") or "") == (taint.get("value") or "")
    return bool(toleration.get("key")) and toleration.get("operator") in {None, "", "Equal"} and same


def _describe(pod: Object, more: str = "") -> str:
    metadata = pod.get("metadata") or {}
    return f"{metadata.get('namespace')}/{metadata.get('name')} ({owner(metadata)}{more})"


def owner(metadata: Object) -> str:
    """What replaces the pod: its owner, or the Deployment of a ReplicaSet, whose name ends with a hash."""
    found = next((each for each in metadata.get("ownerReferences") or () if each.get("controller")), None)
    if found is None:
        return "nothing recreates it"
    kind, name = str(found.get("kind")), str(found.get("name"))
    tail = f"-{(metadata.get('labels') or {}).get('pod-template-hash') or ''}"
    if kind == "ReplicaSet" and len(tail) > 1 and name.endswith(tail):
        return f"Deployment {name.removesuffix(tail)}"
    return f"{kind} {name}"


def is_over(pod: Object) -> bool:
    """Whether nothing replaces the pod: it has ended, is terminating, or is a static pod's mirror."""
    return has_ended(pod) or is_mirror(pod) or bool((pod.get("metadata") or {}).get("deletionTimestamp"))
