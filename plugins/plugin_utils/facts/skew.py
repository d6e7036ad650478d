# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How far kubelet and kube-proxy may be behind the API server, and that they may not be ahead of it."""

from __future__ import annotations

from .version import Line

LAST_WITH_TWO = Line(1, 24)
"""Up to here a kubelet or kube-proxy may be two minors behind the API server, from 1.25 on three."""

SOURCE = "kubernetes.io, Version Skew Policy (release-1.35), kubelet and kube-proxy"


def behind(component: Line) -> int:
    """How many minors this kubelet or kube-proxy may be older than its API server. Source: SOURCE."""
    return 2 if component <= LAST_WITH_TWO else 3


def problem(program: str, component: Line, server: Line) -> str | None:
    """Why `program` (kubelet, kube-proxy) of this line does not go with this API server, None if it does."""
    if component > server:
        return (
            f"{program} {component} is newer than the cluster's API server {server}, which Kubernetes does not "
            f"support: upgrade the control plane first, or set winkube_kubernetes_version to {server}."
        )
    limit = behind(component)
    if component.major != server.major or server.minor - component.minor > limit:
        return (
            f"{program} {component} is too old for the cluster's API server {server}: it may be {limit} minors older. "
            f"Set winkube_kubernetes_version to {server}."
        )
    return None
