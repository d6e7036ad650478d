"""The action win_k8s_diagnose: what it notes of the Node."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ansible_collections.winkube.node.plugins.action.win_k8s_diagnose import ActionModule
from ansible_collections.winkube.node.plugins.plugin_utils.task.recorded import Adding


def test_a_node_with_a_strange_field_is_a_sentence_and_ends_no_diagnosis() -> None:
    warned: list[str] = []
    action: Any = object.__new__(ActionModule)
    action.adds, action.warn_once = Adding(), warned.append
    action._task = SimpleNamespace(delegate_to="win1")
    action._see({"metadata": {"name": "win1", "creationTimestamp": 5}})
    (sentence,) = warned
    assert sentence.startswith("win1: the record says nothing of the Node, since in it metadata.creationTimestamp is 5")
    assert action.adds.seen == Adding().seen
    action._see({"metadata": {"name": "win1"}})
    assert len(warned) == 1 and action.adds.seen.node == "win1"
