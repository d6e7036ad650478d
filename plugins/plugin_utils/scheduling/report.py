# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The versions and builds of a cluster's Windows nodes, and problems of their labels, taints and versions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..components.join import node_object
from ..facts import kubernetes
from ..facts.containerd import UnsupportedVersionError
from ..facts.kubernetes import NoPauseImageError, pair, pause_image
from ..facts.node_labels import BUILD_LABEL
from ..facts.version import Version, VersionError
from ..facts.windows import class_name, find_release, image_names, list_builds
from .nodes import WindowsNode

SERVERCORE = "mcr.microsoft.com/windows/servercore"


@dataclass(frozen=True, slots=True)
class Finding:
    """`id` is its kind, `node` its Node, `text` a sentence with the remedy."""

    id: str
    node: str
    text: str


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine's own answer, beside its Node: its Windows build (None: not asked) and the text of its config.toml
    (empty: not asked)."""

    build: int | None = None
    config: str = ""


def report(
    nodes: Sequence[WindowsNode], server: str, taints: Sequence[str], machines: Mapping[str, Machine]
) -> dict[str, Any]:
    """The whole report, for a task's result."""
    return {
        "server": server,
        "nodes": rows(nodes),
        "builds": builds(nodes),
        "findings": [asdict(each) for each in findings(nodes, server, taints, machines)],
    }


def findings(
    nodes: Iterable[WindowsNode], server: str, taints: Sequence[str], machines: Mapping[str, Machine]
) -> tuple[Finding, ...]:
    """All problems. `server` is the API server's version, empty if unknown."""
    return tuple(
        finding
        for node in nodes
        for finding in (*_labels(node, machines), *_taints(node, taints), *_fits(node, server))
    )


def rows(nodes: Iterable[WindowsNode]) -> list[dict[str, Any]]:
    """One row per node, for a table: versions, builds, the fitting image and RuntimeClass."""
    return [
        {
            "name": node.name,
            "ready": node.ready,
            "release": node.release,
            "os_version": node.os_version,
            "build_label": node_object.labels(node.body).get(BUILD_LABEL, ""),
            "kubelet": node.kubelet,
            "kube_proxy": node.kube_proxy,
            "runtime": node.runtime,
            "image": image(node.selects),
            "runtime_class": class_name(node.selects) if node.selects is not None else "",
            "taints": [_format_taint(taint) for taint in (node.body.get("spec") or {}).get("taints") or ()],
        }
        for node in nodes
    ]


def image(build: int | None) -> str:
    """The newest Server Core image that runs on this build; empty if none is known."""
    known = image_names(build) if build is not None else None
    return f"{SERVERCORE}:{known.servercore}" if known else ""


def builds(nodes: Iterable[WindowsNode]) -> list[dict[str, Any]]:
    """One row per build: its nodes, the image and the RuntimeClass for it."""
    found: dict[int, list[str]] = {}
    for node in nodes:
        if node.selects is not None:
            found.setdefault(node.selects, []).append(node.name)
    return [
        {
            "build": build,
            "label": f"10.0.{build}",
            "release": release.name if (release := find_release(build)) else "",
            "image": image(build),
            "runtime_class": class_name(build),
            "nodes": sorted(names),
        }
        for build, names in sorted(found.items())
    ]


def _labels(node: WindowsNode, machines: Mapping[str, Machine]) -> list[Finding]:
    """The kubelet's labels, which must match the machine."""
    said = machines.get(node.name, Machine()).build
    build = said if said is not None else node.build
    source = "the machine" if said is not None else "its kubelet"
    problems = node_object.label_problems(node.body, architecture="amd64", build=build)
    return [
        Finding("label", node.name, f"{node.name}: {problem}, as {source} says. Restart its kubelet, which sets it.")
        for problem in problems
    ]


def _taints(node: WindowsNode, taints: Sequence[str]) -> list[Finding]:
    patch = node_object.build_taint_patch(node.body, taints)
    if patch is None:
        return []
    present = {_format_taint(taint) for taint in (node.body.get("spec") or {}).get("taints") or ()}
    missing = [taint for taint in taints if taint not in present]
    return [
        Finding(
            "taint-missing",
            node.name,
            f"{node.name}: the taint {', '.join(missing)} is missing, so pods for Linux that select nothing may be "
            "scheduled to it; playbooks/scheduling.yml adds it.",
        )
    ]


def _fits(node: WindowsNode, server: str) -> list[Finding]:
    """Whether this node's versions work together."""
    found: list[Finding] = []
    try:
        line = Version.parse(node.kubelet).line
    except VersionError:
        return [
            Finding("kubelet-unknown", node.name, f"{node.name}: its kubelet reports no version ('{node.kubelet}').")
        ]
    if server and (sentence := kubernetes.skew_problem("kubelet", line, Version.parse(server).line)):
        found.append(Finding("version-skew", node.name, f"{node.name}: {sentence}"))
    supported = list_builds(line)
    if node.build is not None and supported and node.build not in supported:
        found.append(
            Finding(
                "windows-unsupported",
                node.name,
                f"{node.name}: Kubernetes {line} does not support its Windows ({node.release or node.build}, "
                f"{node.os_version}).",
            )
        )
    if node.build is not None:
        try:
            pause_image(line, build=node.build)
        except NoPauseImageError as error:
            found.append(Finding("pause-image", node.name, f"{node.name}: {error}"))
    name, _slashes, version = node.runtime.partition("://")
    if name == "containerd":
        try:
            verdict, sentence = pair(line, Version.parse(version))
        except (VersionError, UnsupportedVersionError) as error:
            verdict, sentence = "refused", str(error)
        if verdict != "fits":
            found.append(Finding("containerd", node.name, f"{node.name}: {sentence}"))
    elif name:
        found.append(
            Finding(
                "runtime", node.name, f"{node.name}: its runtime is {node.runtime}; this collection runs containerd."
            )
        )
    return found


def _format_taint(taint: Mapping[str, Any]) -> str:
    value = taint.get("value") or ""
    return f"{taint.get('key')}={value}:{taint.get('effect')}" if value else f"{taint.get('key')}:{taint.get('effect')}"
