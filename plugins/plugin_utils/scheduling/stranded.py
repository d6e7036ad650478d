# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods that taints would strand: recreated, no Windows node would take them. The linter says what they lack; it sees
them as on no node yet.

A file of its own: nothing else about scheduling uses the linter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..components.join import node_object
from ..facts.node_labels import OS_LABEL
from ..facts.taint import follows_state
from ..lint.engine import lint
from ..lint.manifest import live_documents
from ..lint.profile import Profile
from ..lint.rules_scheduling import RULES
from .nodes import WindowsNode

Object = Mapping[str, Any]
_RULES = frozenset(rule.id for rule in RULES)


def find_stranded(
    nodes: Sequence[WindowsNode], taints: Sequence[str], pods: Callable[[str], Iterable[Object]]
) -> list[dict[str, Any]]:
    """The pods that could not be scheduled again once the Nodes have `taints`.

    Args:
        nodes: The Windows nodes.
        taints: The taints that some of them get.
        pods: Lists the pods of a Node.

    Returns:
        `{pod, owner, node, advice: [{rule, message, remedy}]}` for each.
    """
    after = [_taint(node.body, taints) for node in nodes]
    return [
        {
            "pod": f"{metadata.get('namespace')}/{metadata.get('name')}",
            "owner": node_object.owner(metadata),
            "node": node.name,
            "advice": list(_advice(pod, after)),
        }
        for node in nodes
        if node_object.find_missing_taints(node.body, taints)
        for pod in pods(node.name)
        if not node_object.is_over(pod) and not any(_takes(each, pod) for each in after)
        for metadata in (pod.get("metadata") or {},)
    ]


def _taint(node: Object, taints: Sequence[str]) -> Object:
    patch = node_object.build_taint_patch(node, taints)
    return node if patch is None else {**node, "spec": {**(node.get("spec") or {}), **patch["spec"]}}


def _takes(node: Object, pod: Object) -> bool:
    """Whether the scheduler may put the pod here, by its selector and the present taints. Affinity and capacity are
    ignored: they do not change."""
    selector = (pod.get("spec") or {}).get("nodeSelector") or {}
    labels = node_object.labels(node)
    stay = [each for each in (node.get("spec") or {}).get("taints") or () if not follows_state(each.get("key"))]
    return all(labels.get(name) == value for name, value in selector.items()) and node_object.tolerates_all(
        pod, stay, (node_object.KEEPS_OFF, node_object.EVICTS)
    )


def _advice(pod: Object, nodes: Sequence[Object]) -> Iterator[dict[str, str]]:
    """The linter's advice about the pod as it is, and with a selector: without one the linter cannot tell that it
    needs the toleration."""
    spec = {name: value for name, value in (pod.get("spec") or {}).items() if name != "nodeName"}
    selected = {**spec, "nodeSelector": {OS_LABEL: "windows", **(spec.get("nodeSelector") or {})}}
    told = set()
    for each in (spec, selected):
        again = {**pod, "apiVersion": "v1", "kind": "Pod", "spec": each}
        seen = live_documents([*({**node, "apiVersion": "v1", "kind": "Node"} for node in nodes), again])
        for one in lint(seen, Profile()).findings:
            if one.rule in _RULES and one.object.startswith("Pod") and one.rule not in told:
                told.add(one.rule)
                yield {"rule": one.rule, "message": one.message, "remedy": one.remedy}
