"""Random nodes as readings and cluster views: the only file that knows both sides."""

from __future__ import annotations

import base64
from typing import Any

from ansible_collections.winkube.node.plugins.plugin_utils.components.node import Node as WantedNode
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.cluster_view import ClusterView, view_of
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.scene import Scene, reads, scene_of
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.table import HNS_CHECK, findings_in
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_key
from ansible_collections.winkube.node.plugins.plugin_utils.words.finding import Finding

from tests.unit.components.nodes import LAYOUT
from tests.unit.network.random_nodes import Node, answers


def reading_of(node: Node) -> Reading:
    """The reading that a probe would return."""
    said = answers(node)
    parts: dict[str, Any] = {key: said[key] for key in ("hns", "adapters", "services", "processes")}
    for path, text in said["files"].items():
        content = None if text is None else base64.b64encode(text.encode()).decode()
        parts[file_key(path)] = {"exists": False} if text is None else {"exists": True, "content": content}
    for path, names in said["folders"].items():
        parts[file_key(path)] = {"exists": True, "kind": "directory", "entries": names}
    return Reading().merge(parts, reads(LAYOUT))


def view(node: Node) -> ClusterView:
    """What the cluster would have said."""
    return view_of(**node.cluster, node=node.node, node_name=node.name)


def scene(node: Node, *looked: Any) -> Scene:
    """What hns_check, told what the random node is to be, sees of it."""
    told = {name: value for name, value in node.expect.items() if name != "subnet"}
    expected = WantedNode.unknown(LAYOUT, **told)
    return scene_of(reading_of(node), expected, *looked, subnet=node.expect.get("subnet", ""))


def find(node: Node, *, cluster: bool = True) -> tuple[Finding, ...]:
    return findings_in(scene(node, view(node) if cluster else None), HNS_CHECK)
