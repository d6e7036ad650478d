"""What ends a task, as a sentence; what nobody has foreseen stays an exception."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.task.module_action import ControllerAction


class Works(ControllerAction):
    """One whose work ends with `error`."""

    topic = "calico"
    refusals = (FileNotFoundError,)
    error: Exception

    def check_options(self) -> dict[str, Any]:
        return {}

    def work(self, options: dict[str, Any]) -> dict[str, Any]:
        raise self.error


def action(error: Exception, kind: type[Works] = Works) -> Any:
    made: Any = kind.__new__(kind)
    made._task, made.error = SimpleNamespace(args={"taken": "from here"}), error
    return made


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (Refused("No service.", "No program."), "No service.\nNo program."),
        (ClusterError("it does not answer"), "calico: it does not answer"),
        (FileNotFoundError("no x.yml"), "no x.yml"),
    ],
)
def test_what_is_foreseen_is_a_sentence(monkeypatch: pytest.MonkeyPatch, error: Exception, said: str) -> None:
    monkeypatch.setattr(ActionBase, "run", lambda *_given: {})
    with pytest.raises(AnsibleActionFail) as failed:
        action(error).run()
    assert failed.value.message == said
    assert failed.value.__cause__ is None, "Ansible would print it a second time"


def test_without_a_topic_the_clusters_own_words_are_all(monkeypatch: pytest.MonkeyPatch) -> None:
    class Nameless(Works):
        topic = ""

    monkeypatch.setattr(ActionBase, "run", lambda *_given: {})
    with pytest.raises(AnsibleActionFail, match=r"^it does not answer$"):
        action(ClusterError("it does not answer"), Nameless).run()


def test_other_errors_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ActionBase, "run", lambda *_given: {})
    with pytest.raises(PermissionError):
        action(PermissionError("no")).run()
