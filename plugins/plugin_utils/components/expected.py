# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What decides whether a node must have a component: a part of `Node`, which knows all of them."""

from __future__ import annotations

from typing import Protocol

SERVICE = "service"
"""Marks a part as the host's own, not a DaemonSet's."""


class Expected(Protocol):
    """What a component's declaration may ask of a node."""

    @property
    def kubernetes(self) -> bool:
        """Whether it runs Kubernetes."""

    @property
    def runs_flannel(self) -> bool:
        """Whether flanneld is a service of the host."""

    @property
    def runs_kube_proxy(self) -> bool:
        """Whether kube-proxy is a service of the host."""

    @property
    def optional_components(self) -> tuple[str, ...]:
        """The roles that run only where they are switched on."""
