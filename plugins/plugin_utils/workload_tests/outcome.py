# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each test gets besides its own options, and what it returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from ..cluster import run_namespace
from ..cluster.client import Cluster
from ..engine.clock import Clock
from ..engine.resource import Refused


@dataclass(frozen=True, slots=True)
class Context:
    """`access`: the options of `Cluster.open`; `taints`: what pods tolerate; `folder`: Ansible's temporary one."""

    access: Mapping[str, Any]
    taints: tuple[str, ...]
    check_mode: bool
    folder: Path
    clock: Clock = field(default_factory=Clock)

    def cluster(self) -> Cluster:
        """Refused without a kubeconfig; ClusterError if it is invalid."""
        cluster = Cluster.open(self.access)
        if cluster is None:
            raise Refused("cluster.kubeconfig is empty; winkube_cluster.kubeconfig names a kubeconfig.")
        return cluster

    def sweep(self, cluster: Cluster, label: str, now: datetime) -> tuple[str, ...]:
        """Delete the namespaces of earlier runs; the steps."""
        names = run_namespace.sweep(cluster, label, now)
        return tuple(f"delete the namespace {name}, which an earlier run left" for name in names)


@dataclass(frozen=True, slots=True)
class Outcome:
    """`steps`: what was done, or would be in check mode; `result`: stored under the test's name in the task's
    result; `said`: for its msg."""

    changed: bool
    steps: tuple[str, ...] = ()
    result: Mapping[str, Any] = field(default_factory=dict)
    said: str = ""
    failed: bool = False
