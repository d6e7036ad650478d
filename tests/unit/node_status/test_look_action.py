"""The action k8s_windows_look while it waits for a Node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.action import k8s_windows_look
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.records import NodeCondition, NodeObject
from ansible_collections.winkube.node.plugins.plugin_utils.engine.waiting import Voice, telling
from ansible_collections.winkube.node.plugins.plugin_utils.task.recorded import Adding

AWAY = NodeObject("win1")
READY = replace(AWAY, conditions=(NodeCondition("Ready", "True"),))


class FakeClock:
    """Time passes by sleeping alone."""

    seconds = 0.0

    def now(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


def waited(
    monkeypatch: pytest.MonkeyPatch, first: NodeObject | None, find: Callable[[FakeClock], NodeObject | None]
) -> tuple[NodeObject | None, list[str], int]:
    """The Node, what was said, and how often the cluster was opened."""
    clock, said, opened = FakeClock(), list[str](), list[object]()
    monkeypatch.setattr(k8s_windows_look, "Clock", lambda: clock)
    action: Any = object.__new__(k8s_windows_look.ActionModule)
    action.recall_cluster = lambda access: SimpleNamespace(find_node=lambda name: first)

    def open_cluster(access: object) -> SimpleNamespace:
        opened.append(access)
        return SimpleNamespace(find_node=lambda name: find(clock))

    action.open_cluster = open_cluster
    with telling(Voice(said.append, 8.0)):
        found = action._wait(SimpleNamespace(node_name="win1", timeout=60, cluster=None))
    return found, said, len(opened)


def test_a_wait_says_what_for_and_since_when(monkeypatch: pytest.MonkeyPatch) -> None:
    found, said, opened = waited(monkeypatch, AWAY, lambda clock: READY if clock.seconds >= 20 else AWAY)
    assert found == READY and opened == 1
    assert said == [f"waiting for the Node win1 to be Ready, {seconds} s so far" for seconds in (8, 16)]
    assert waited(monkeypatch, AWAY, lambda clock: AWAY)[0] == AWAY, "as it is when the time is up"


@pytest.mark.parametrize("node", [READY, None])
def test_the_cluster_is_not_opened_where_nothing_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, node: NodeObject | None
) -> None:
    assert waited(monkeypatch, node, lambda clock: AWAY) == (node, [], 0)


def test_what_is_waited_for_is_noted_for_the_record() -> None:
    action: Any = object.__new__(k8s_windows_look.ActionModule)
    action.adds = Adding()
    for seconds in (8, 16):
        action.say(f"waiting for the Node win1 to be Ready, {seconds} s so far")
    assert list(action.adds.waits.values()) == ["waiting for the Node win1 to be Ready, 16 s so far"]
