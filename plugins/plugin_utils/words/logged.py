# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Causes that nothing but a text tells, such as a log: what they are about and what follows stand in their ids."""

from __future__ import annotations

from .cause import ERROR, Area, Cause
from .remedies import advice
from .remedy import Remedy

AREAS = {"image": Area.WORKLOADS, "container": Area.WORKLOADS, "pod": Area.WORKLOADS,
         "volume": Area.WORKLOADS, "node": Area.NODE, "start": Area.PROGRAMS, "cluster": Area.PROGRAMS,
         "join": Area.PROGRAMS, "host": Area.PROGRAMS, "kubelet": Area.PROGRAMS}  # fmt: skip
"""By the first part of an id; the network for the others."""

FOLLOWS = {
    "hns": ("hns.no-network", "hns.no-host-adapter", "hns.pod-without-endpoint", "node.not-ready", "pod.*"),
    "flannel": ("hns.no-network", "flannel.no-subnet-env", "cni.absent", "node.not-ready", "pod.*"),
    "cni": ("hns.pod-without-endpoint", "node.not-ready", "pod.*"),
    "kube-proxy": ("kube-proxy.no-rules", "kube-proxy.rule-missing", "traffic.*"),
    "start": ("node.not-ready", "node.absent", "start.ends-at-once", "pod.*"),
    "cluster": ("node.not-ready", "node.absent", "pod.*"),
    "join": ("node.absent", "node.not-ready", "pod.*"),
    "host": ("pod.*", "container.*"),
    "kubelet": ("node.not-ready", "pod.*", "container.*"),
    "node": ("pod.*",),
    "pod": ("pod.stuck",),
    "image": ("pod.*",),
    "container": ("pod.*",),
    "volume": ("container.volume", "pod.*"),
}
"""What follows from a cause, by the first part of its id."""


def logged(identity: str, title: str, why: str, remedy: str | Remedy, *, severity: str = ERROR) -> Cause:
    """A cause that only a text tells."""
    prefix = identity.partition(".")[0]
    return Cause(
        identity,
        severity,
        title,
        why,
        advice(remedy) if isinstance(remedy, str) else remedy,
        explains=tuple(each for each in FOLLOWS[prefix] if each != identity),
        area=AREAS.get(prefix, Area.NETWORK),
    )
