"""Hosts of a task share what one of them was answered, as far as they have the same cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from ansible import constants
from ansible_collections.winkube.node.plugins.plugin_utils.components.shared_options import Access
from ansible_collections.winkube.node.plugins.plugin_utils.task.cluster_action import ClusterAction


class Action(ClusterAction):
    """A worker of the task `task`."""

    def __init__(self, task: str) -> None:
        super().__init__(MagicMock(_uuid=task), *(MagicMock() for _argument in range(5)))


def ask(action: Action, kubeconfig: str, answer: str) -> Any:
    shared = action.share_answers(Access(kubeconfig=kubeconfig))
    return shared("/api/v1/nodes", lambda: {"answer": answer})


def test_hosts_share_the_answers_of_their_own_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(tmp_path))
    assert ask(Action("look"), "east.conf", "first") == {"answer": "first"}
    assert ask(Action("look"), "east.conf", "second") == {"answer": "first"}, "another host of the same cluster"
    assert ask(Action("look"), "west.conf", "third") == {"answer": "third"}, "a host of another cluster"
    assert ask(Action("keep"), "east.conf", "fourth") == {"answer": "fourth"}, "another task"
