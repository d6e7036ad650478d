# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which DaemonSets of a cluster run on a node: the scheduler's rules, as far as they separate Windows from Linux.

Labels and terms as in the API: kubernetes core/v1, NodeSelectorTerm.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..cluster.objects import full_name
from ..facts.kubernetes import K0S_STACK
from ..facts.node_labels import ARCH_LABEL, HOSTNAME_LABEL, OS_LABEL


def labels_of(node: Mapping[str, Any] | None, name: str) -> dict[str, str]:
    """The node's labels; for one that has not joined yet, those that its kubelet will set."""
    if node is not None:
        return {str(key): str(value) for key, value in (node.get("metadata", {}).get("labels") or {}).items()}
    return {OS_LABEL: "windows", ARCH_LABEL: "amd64", HOSTNAME_LABEL: name}


def running(daemon_sets: Iterable[Mapping[str, Any]], program: str, labels: Mapping[str, str]) -> tuple[str, ...]:
    """The DaemonSets that run `program` on such a node. `program` is a part of their name, or of a container's name
    or image."""
    return tuple(full_name(each) for each in daemon_sets if _is_of(each, program) and runs_on(each, labels))


def awaited(daemon_sets: Iterable[Mapping[str, Any]], program: str) -> tuple[str, ...]:
    """The DaemonSets that the cluster's maker will make for `program` once a Windows Node is there: k0s', named after
    those for Linux."""
    own = (each for each in daemon_sets if K0S_STACK in (each.get("metadata", {}).get("labels") or {}))
    return tuple(f"{full_name(each)}-windows" for each in own if _is_of(each, program))


def runs_on(daemon_set: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether node selector and required node affinity allow its pods on a node with these labels."""
    spec = _pod_spec(daemon_set)
    selector = spec.get("nodeSelector") or {}
    if any(labels.get(key) != value for key, value in selector.items()):
        return False
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    if not required:
        return True
    return any(_matches(term, labels) for term in required.get("nodeSelectorTerms") or ())


CNI_VARIABLES = {
    "CNI_BIN_PATH": "bin",
    "CNI_CONFIG_PATH": "conf",
    "CNI_BIN_DIR": "bin",
    "CNI_NET_DIR": "conf",
}
"""Variables that tell containers of a network's DaemonSet where to write plugins and configuration.

Sources: kubernetes-sigs/sig-windows-tools 729ae7cd^ hostprocess/flannel/flanneld/flannel-overlay.yml (729ae7cd removed
the example); projectcalico/calico manifests/calico-windows-vxlan.yaml, install-cni; tigera/operator
pkg/render/windows.go, which mounts the folder at the path that it names.
"""

_HOST_PATHS = {"cni/bin": "bin", "cni/net.d": "conf"}
"""Endings of host paths of such folders. Source: the volumes cni-bin-dir and cni-net-dir of the same manifests."""


def cni_folders(
    daemon_sets: Iterable[Mapping[str, Any]], programs: Iterable[str], labels: Mapping[str, str]
) -> dict[str, tuple[str, str]]:
    r"""Where the DaemonSet of a network on such a node writes: `bin` and `conf` -> (DaemonSet, Windows path such as
    `C:\opt\cni\bin`). An unknown folder is left out."""
    found: dict[str, tuple[str, str]] = {}
    words = tuple(programs)
    for each in daemon_sets:
        if not any(_is_of(each, word) for word in words) or not runs_on(each, labels):
            continue
        spec = _pod_spec(each)
        on_host = {
            volume.get("name"): (volume.get("hostPath") or {}).get("path") for volume in spec.get("volumes") or ()
        }
        for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
            mounts = {
                mount.get("mountPath"): on_host.get(mount.get("name")) for mount in container.get("volumeMounts") or ()
            }
            for variable in container.get("env") or ():
                what, value = CNI_VARIABLES.get(str(variable.get("name"))), str(variable.get("value") or "")
                # If the folder is mounted, the path in the container says nothing about the host.
                value = str(mounts.get(value) or value)
                if what and "$" not in value and (path := _windows(value)):
                    found.setdefault(what, (full_name(each), path))
        for volume in spec.get("volumes") or ():
            path = str((volume.get("hostPath") or {}).get("path") or "").replace("\\", "/").rstrip("/")
            what = next((what for end, what in _HOST_PATHS.items() if path.endswith(end)), None)
            if what:
                found.setdefault(what, (full_name(each), _windows(path)))
    return found


def _windows(path: str) -> str:
    r"""A DaemonSet's path (`/opt/cni/bin`, `C:\\opt\\cni\\bin`) as a Windows path; empty for none."""
    parts = [part for part in path.replace("\\", "/").split("/") if part]
    if not parts:
        return ""
    return "\\".join(parts if parts[0].endswith(":") else ["C:", *parts])


def _is_of(daemon_set: Mapping[str, Any], program: str) -> bool:
    containers = _pod_spec(daemon_set).get("containers") or ()
    texts = [daemon_set.get("metadata", {}).get("name", "")]
    texts += [str(container.get(key, "")) for container in containers for key in ("name", "image")]
    return any(program in text for text in texts)


def _pod_spec(daemon_set: Mapping[str, Any]) -> Mapping[str, Any]:
    spec: Mapping[str, Any] = daemon_set.get("spec", {}).get("template", {}).get("spec", {})
    return spec


def _matches(term: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether every expression of a term holds. matchFields (the node's name) count as true."""
    return all(_holds(expression, labels) for expression in term.get("matchExpressions") or ())


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, values = expression["key"], expression.get("values") or ()
    found = labels.get(key)
    match expression["operator"]:
        case "In":
            return found in values
        case "NotIn":
            return found not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case _:  # Gt, Lt: never about the operating system
            return True
