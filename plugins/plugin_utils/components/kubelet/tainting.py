# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a new taint does to the pods that run on a Node already: NoExecute evicts those that do not tolerate it,
NoSchedule lets them run until they are made anew elsewhere.

Sources: kubernetes staging/src/k8s.io/component-helpers/scheduling/corev1/helpers.go and
api/core/v1/toleration.go, ToleratesTaint; pkg/controller/tainteviction/taint_eviction.go, processPodOnNode.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Object = Mapping[str, Any]

EVICTS, KEEPS_OFF = "NoExecute", "NoSchedule"
MIRROR = "kubernetes.io/config.mirror"
"""The annotation of a static pod's mirror: the kubelet runs it whatever the API says."""


def pods_of(name: str) -> str:
    """Where the API lists the pods of a Node."""
    return f"/api/v1/pods?fieldSelector=spec.nodeName%3D{name}"


def step(name: str, added: Sequence[Mapping[str, str]], pods: Iterable[Object]) -> str:
    """What is done to the Node, and what becomes of its pods, each by name and owner."""
    running = [pod for pod in pods if not _is_over(pod)]
    text = f"taint the Node {name} with {', '.join(map(written, added))}"
    if evicted := [said for pod in running if (said := _evicted(pod, added))]:
        text += f"; that evicts {', '.join(evicted)}"
    left = [pod for pod in running if not _evicted(pod, added) and not _tolerates_all(pod, added, KEEPS_OFF)]
    if left:
        text += f"; that keeps off, once they are made anew, {', '.join(map(_named, left))}"
    return text


def written(taint: Mapping[str, str]) -> str:
    """`os=windows:NoSchedule`, as people write it."""
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint['key']}{value}:{taint['effect']}"


def _evicted(pod: Object, added: Sequence[Mapping[str, str]]) -> str:
    """The pod, with the seconds that it may stay; empty if it may stay for ever."""
    waits: list[int] = []
    for taint in added:
        if taint["effect"] != EVICTS:
            continue
        found = _toleration(pod, taint)
        if found is None:
            return _named(pod)
        if found.get("tolerationSeconds") is not None:
            waits.append(max(0, int(found["tolerationSeconds"])))
    return _named(pod, f", after {min(waits)} s") if waits else ""


def _tolerates_all(pod: Object, added: Sequence[Mapping[str, str]], effect: str) -> bool:
    return all(_toleration(pod, taint) is not None for taint in added if taint["effect"] == effect)


def _toleration(pod: Object, taint: Mapping[str, str]) -> Object | None:
    """The first that matches."""
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


def _named(pod: Object, more: str = "") -> str:
    metadata = pod.get("metadata") or {}
    return f"{metadata.get('namespace')}/{metadata.get('name')} ({_owner(metadata)}{more})"


def _owner(metadata: Object) -> str:
    """Who makes it anew; of a Deployment's ReplicaSet, which is named after its hash, the Deployment."""
    owner = next((each for each in metadata.get("ownerReferences") or () if each.get("controller")), None)
    if owner is None:
        return "made anew by nothing"
    kind, name = str(owner.get("kind")), str(owner.get("name"))
    tail = f"-{(metadata.get('labels') or {}).get('pod-template-hash') or ''}"
    if kind == "ReplicaSet" and len(tail) > 1 and name.endswith(tail):
        return f"Deployment {name.removesuffix(tail)}"
    return f"{kind} {name}"


def _is_over(pod: Object) -> bool:
    metadata = pod.get("metadata") or {}
    ended = (pod.get("status") or {}).get("phase") in {"Succeeded", "Failed"}
    return ended or bool(metadata.get("deletionTimestamp")) or MIRROR in (metadata.get("annotations") or {})
