# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pods of a Node: which of them have a network of their own, an endpoint of HNS, and which a drain leaves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Object = Mapping[str, Any]
MIRROR = "kubernetes.io/config.mirror"
"""The annotation of a static pod's mirror: the kubelet runs such a pod whatever the API says."""


def pods_of(name: str) -> str:
    """The API path that lists the pods of a Node."""
    return f"/api/v1/pods?fieldSelector=spec.nodeName%3D{name}"


def has_ended(pod: Object) -> bool:
    """Whether all of its containers have, and none starts again: it has no network any more."""
    return (pod.get("status") or {}).get("phase") in {"Succeeded", "Failed"}


def stays_in_drain(pod: Object) -> bool:
    """Whether a drain leaves it: a DaemonSet's pod comes back at once, a static pod's mirror cannot be evicted."""
    owners = _metadata(pod).get("ownerReferences") or ()
    return is_mirror(pod) or any(each.get("kind") == "DaemonSet" for each in owners)


def is_mirror(pod: Object) -> bool:
    """Whether it is a static pod's mirror."""
    return MIRROR in (_metadata(pod).get("annotations") or {})


def has_own_network(pod: Object) -> bool:
    """Whether the pod has an endpoint, or will soon."""
    return not is_host_process(pod) and not has_ended(pod)


def is_host_process(pod: Object) -> bool:
    """Whether the pod runs on the host itself, with the host's network."""
    spec = pod.get("spec") or {}
    options = (spec.get("securityContext") or {}).get("windowsOptions") or {}
    return bool(spec.get("hostNetwork") or options.get("hostProcess"))


def _metadata(pod: Object) -> Object:
    found: Object = pod.get("metadata") or {}
    return found
