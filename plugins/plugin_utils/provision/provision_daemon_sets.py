# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""kube-proxy in HostProcess pods that run it from a file of the host."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..components import daemon_sets
from ..engine import windows_path
from ..facts.provisioners import KUBEPROXY_PATH


def from_host(
    found: Iterable[Mapping[str, Any]], node: Mapping[str, Any] | None, name: str, destination: str
) -> tuple[str, ...]:
    """The DaemonSets (`namespace/name`) that run on this node and whose variable KUBEPROXY_PATH names `destination`."""
    labels = daemon_sets.labels_of(node, name)
    return tuple(
        daemon_sets.named(each)
        for each in found
        if daemon_sets.runs_on(each, labels) and any(_same(path, destination) for path in _paths(each))
    )


def _paths(daemon_set: Mapping[str, Any]) -> list[str]:
    pod = daemon_set.get("spec", {}).get("template", {}).get("spec", {})
    return [
        str(variable.get("value") or "")
        for container in pod.get("containers") or ()
        for variable in container.get("env") or ()
        if variable.get("name") == KUBEPROXY_PATH
    ]


def _same(path: str, destination: str) -> bool:
    """A path without a drive (`/k/kube-proxy.exe`) is one on the system drive."""
    written = path.replace("/", "\\")
    return windows_path.same(f"C:{written}" if written.startswith("\\") else written, destination)
