# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The changes in the cluster that let Windows pods find Windows nodes: planned from a reading, then done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..cluster.change import Change
from ..cluster.client import Cluster
from ..cluster.error import ClusterError
from ..components.join import node_object
from ..engine.resource import Refused
from ..facts.node_labels import ARCH_LABEL, BUILD_LABEL, HOSTNAME_LABEL, OS_LABEL
from ..facts.version import Version
from ..facts.windows import RUNTIME_CLASS_API, RUNTIME_CLASS_SINCE
from .nodes import WindowsNode
from .report import Machine
from .runtime_class import COLLECTION, build_wanted, difference, handler_problem, is_ours

CONFLICT = 409
TRIES = 3
KUBELETS = (OS_LABEL, ARCH_LABEL, BUILD_LABEL, HOSTNAME_LABEL)
"""Labels that the kubelet sets, and resets. Source: kubernetes pkg/kubelet/kubelet_node_status.go."""

Object = Mapping[str, Any]
Pods = Callable[[str], Iterable[Object]]


@dataclass(frozen=True, slots=True)
class Options:
    """`handler` is the runtime that RuntimeClasses name, `taints` keep other pods off, `labels` are extra labels of
    every Windows node, `adopt`: whether someone else's RuntimeClasses may be changed."""

    handler: str
    taints: tuple[str, ...]
    labels: Mapping[str, str]
    runtime_classes: bool = True
    adopt: bool = False


def plan(
    options: Options,
    nodes: Sequence[WindowsNode],
    classes: Iterable[Object],
    machines: Mapping[str, Machine],
    pods: Pods = lambda name: (),
) -> tuple[Change, ...]:
    """The changes in the order of execution; `pods` lists those of a Node that gets a taint. Refused for changes
    that would strand pods."""
    problems = [
        f"labels: {name} is set by the kubelet, which would reset it; leave it out."
        for name in options.labels
        if name in KUBELETS
    ]
    found = {str((each.get("metadata") or {}).get("name")): each for each in classes}
    bodies = build_wanted(nodes, options.handler, options.taints) if options.runtime_classes else ()
    if bodies:
        problems += _no_runtime(options, nodes, machines)
    problems += [sentence for body in bodies if (sentence := _find_conflict(found, body, options))]
    if problems:
        raise Refused(*problems)
    return (
        *(change for body in bodies if (change := _class(found.get(body["metadata"]["name"]), body)) is not None),
        *(change for node in nodes if (change := _taint(node, options.taints, pods)) is not None),
        *(change for node in nodes if (change := _label(node, options.labels)) is not None),
    )


def check_server(version: str) -> None:
    """Refused for an API server that does not serve node.k8s.io/v1."""
    line = Version.parse(version).line
    if line < RUNTIME_CLASS_SINCE:
        raise Refused(
            f"The cluster is Kubernetes {line}, and RuntimeClasses as they are made here ({RUNTIME_CLASS_API}) need "
            f"{RUNTIME_CLASS_SINCE}; runtime_classes: false leaves them out."
        )


def find_unknown(nodes: Iterable[WindowsNode], machines: Mapping[str, Machine]) -> tuple[str, ...]:
    """The nodes whose config.toml was not read."""
    return tuple(node.name for node in nodes if not machines.get(node.name, Machine()).config)


def _no_runtime(options: Options, nodes: Iterable[WindowsNode], machines: Mapping[str, Machine]) -> list[str]:
    said = []
    for node in nodes:
        config = machines.get(node.name, Machine()).config
        name, _slashes, version = node.runtime.partition("://")
        if (
            config
            and name == "containerd"
            and (sentence := handler_problem(node.name, config, version, options.handler))
        ):
            said.append(sentence)
    return said


def _find_conflict(found: Mapping[str, Object], body: Object, options: Options) -> str:
    name = body["metadata"]["name"]
    present = found.get(name)
    if present is None:
        return ""
    differs = difference(present, body)
    if "handler" in differs:
        return (
            f"The RuntimeClass {name} has the handler {present.get('handler')}, not {body['handler']}, and a handler "
            f"cannot be changed: delete it (kubectl delete runtimeclass {name}) or set winkube_runtime_handler to it."
        )
    if differs and not is_ours(present) and not options.adopt:
        return (
            f"The RuntimeClass {name} is not ours and has another {' and '.join(differs)}; "
            "winkube_runtime_class_adopt: true changes it."
        )
    return ""


def _class(present: Object | None, body: dict[str, Any]) -> Change | None:
    name = str(body["metadata"]["name"])
    if present is None:
        return Change(f"create the RuntimeClass {name}", {}, body, lambda cluster: _create(cluster, body))
    differs = difference(present, body)
    if not differs:
        return None
    after = {**present, "scheduling": {**(present.get("scheduling") or {}), **body["scheduling"]}}
    return Change(
        f"change {' and '.join(differs)} of the RuntimeClass {name}",
        present,
        after,
        lambda cluster: _replace(cluster, f"{COLLECTION}/{name}", after),
    )


def _create(cluster: Cluster, body: Object) -> None:
    try:
        cluster.create(COLLECTION, body)
    except ClusterError as error:
        if error.status != CONFLICT:  # another run made it a moment ago
            raise


def _replace(cluster: Cluster, path: str, body: Object) -> None:
    cluster.replace(path, body)


def _taint(node: WindowsNode, taints: Sequence[str], pods: Pods) -> Change | None:
    patch = node_object.build_taint_patch(node.body, taints)
    if patch is None:
        return None
    before = (node.body.get("spec") or {}).get("taints") or []
    return Change(
        node_object.taint_step(node.name, node_object.find_missing_taints(node.body, taints), pods(node.name)),
        {"taints": list(before)},
        {"taints": patch["spec"]["taints"]},
        lambda cluster: _patch_taints(cluster, node.name, taints),
    )


def _patch_taints(cluster: Cluster, name: str, taints: Sequence[str]) -> None:
    """Patch the taints. They also change by themselves (not-ready): the patch names its resource version, and is
    repeated after a conflict."""
    for attempt in range(TRIES):
        node = cluster.node(name)
        patch = node_object.build_taint_patch(node, taints) if node is not None else None
        if patch is None:
            return
        try:
            cluster.patch(f"/api/v1/nodes/{name}", patch)
            return
        except ClusterError as error:
            if error.status != CONFLICT or attempt == TRIES - 1:
                raise


def _label(node: WindowsNode, labels: Mapping[str, str]) -> Change | None:
    present = node_object.labels(node.body)
    differs = {name: value for name, value in labels.items() if present.get(name) != value}
    if not differs:
        return None
    said = ", ".join(f"{name}={value}" for name, value in sorted(differs.items()))
    return Change(
        f"label the Node {node.name} with {said}",
        {"labels": {name: present.get(name) for name in differs}},
        {"labels": differs},
        lambda cluster: _patch_labels(cluster, node.name, differs),
    )


def _patch_labels(cluster: Cluster, name: str, labels: Mapping[str, str]) -> None:
    cluster.patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": dict(labels)}})
