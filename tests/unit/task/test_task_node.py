"""The node of a task: what is read of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Query, Reading, file_query
from ansible_collections.winkube.node.plugins.plugin_utils.node.link import NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.task.task_node import TaskNode

from tests.unit.components.nodes import LAYOUT

ASKED = file_query(r"C:\k\config.yaml", sha256=True)


class Link:
    """Answers with these parts, and counts."""

    def __init__(self, **file: Any) -> None:
        self.file, self.calls = file, 0

    def probe(self, queries: Sequence[Query]) -> dict[str, Any]:
        self.calls += 1
        return {query.key: self.file for query in queries}


def node(link: Link) -> TaskNode:
    return TaskNode(link, LAYOUT, "win1", None, print)  # type: ignore[arg-type]


def test_what_is_known_is_not_asked_again() -> None:
    link = Link(exists=True, kind="file", sha256="00")
    found = node(link).complete(Reading(), (ASKED,))
    assert node(link).complete(found, (ASKED,)) is found
    assert link.calls == 1


def test_a_node_that_leaves_out_a_part_is_asked_once_and_refused() -> None:
    link = Link(exists=True, kind="file")
    with pytest.raises(NodeError, match=r"asked for file:c:.k.config\.yaml, and its answer leaves out"):
        node(link).complete(Reading(), (ASKED,))
    assert link.calls == 1
