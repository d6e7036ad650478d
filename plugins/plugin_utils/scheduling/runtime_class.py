# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""RuntimeClasses, one per build of Windows, which save pods their selectors and tolerations; and whether nodes have
the runtime that they name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..components.containerd.containerd_toml import Document
from ..facts.containerd import UnsupportedVersionError, release_line
from ..facts.node_labels import ARCH_LABEL, BUILD_LABEL, OS_LABEL
from ..facts.taint import Taint
from ..facts.version import Version, VersionError
from ..facts.windows import RUNTIME_CLASS_API, class_name
from .nodes import WindowsNode

COLLECTION = "/apis/node.k8s.io/v1/runtimeclasses"
MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGER = "winkube.node"


def runtime_class(build: int, handler: str, taints: Sequence[str], arch: str = "amd64") -> dict[str, Any]:
    """The RuntimeClass of a build. Source: kubernetes.io, guide for Windows containers, v1.27, runtimeClasses.yml."""
    return {
        "apiVersion": RUNTIME_CLASS_API,
        "kind": "RuntimeClass",
        "metadata": {"name": class_name(build), "labels": {MANAGED_BY: MANAGER}},
        "handler": handler,
        "scheduling": {
            "nodeSelector": {OS_LABEL: "windows", ARCH_LABEL: arch, BUILD_LABEL: f"10.0.{build}"},
            "tolerations": [Taint.parse(taint).toleration() for taint in taints],
        },
    }


def build_wanted(nodes: Iterable[WindowsNode], handler: str, taints: Sequence[str]) -> tuple[dict[str, Any], ...]:
    """One RuntimeClass for each build of the nodes, oldest first."""
    builds = {node.selects for node in nodes if node.selects is not None}
    return tuple(runtime_class(build, handler, taints) for build in sorted(builds))


def handlers(config: str, containerd: str) -> tuple[str, ...]:
    """The runtimes in a config.toml for this release of containerd, including the built-in one. ValueError with a
    reason if unknown."""
    try:
        version = Version.parse(containerd)
        line = release_line(version)
        document = Document.parse(config)
    except (VersionError, UnsupportedVersionError, ValueError) as error:
        raise ValueError(str(error).rstrip(".")) from error
    places = line.places.get(document.data.get("version", 1))
    if places is None:
        raise ValueError(f"its version is {document.data.get('version')}, which containerd {version} does not read")
    own = document.get(places.runtimes, {})
    return tuple(dict.fromkeys((*line.runtimes, *(own if isinstance(own, Mapping) else ()))))


def handler_problem(name: str, config: str, containerd: str, handler: str) -> str | None:
    """Why pods of a RuntimeClass with this handler would not start on the node `name`; None if they would."""
    try:
        known = handlers(config, containerd)
    except ValueError as error:
        return f"{name}: whether its containerd has the runtime {handler} cannot be told: config.toml: {error}."
    if handler in known:
        return None
    return (
        f"{name}: the handler {handler} is unknown to containerd; config.toml has {', '.join(known)}. Pods of "
        "such a RuntimeClass would stay in ContainerCreating (no runtime for handler)."
    )


def difference(found: Mapping[str, Any], body: Mapping[str, Any]) -> tuple[str, ...]:
    """Which of handler, selector and tolerations differ."""
    here, there = found.get("scheduling") or {}, body["scheduling"]
    said = ["handler"] if found.get("handler") != body["handler"] else []
    if here.get("nodeSelector") != there["nodeSelector"]:
        said.append("nodeSelector")
    if _as_set(here.get("tolerations") or ()) != _as_set(there["tolerations"]):
        said.append("tolerations")
    return tuple(said)


def is_ours(found: Mapping[str, Any]) -> bool:
    """Whether a run of this collection made it."""
    return ((found.get("metadata") or {}).get("labels") or {}).get(MANAGED_BY) == MANAGER


def _as_set(tolerations: Iterable[Mapping[str, Any]]) -> set[tuple[tuple[str, str], ...]]:
    """A set for comparison: the order has no meaning, and `Equal` is the default of `operator`."""
    return {
        tuple(sorted({"operator": "Equal", **{k: str(v) for k, v in each.items()}}.items())) for each in tolerations
    }
