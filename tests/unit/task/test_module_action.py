"""What ends a task, as a sentence; what nobody has foreseen stays an exception."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleActionFail
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.record.node_record import Failure
from ansible_collections.winkube.node.plugins.plugin_utils.record.store import Store
from ansible_collections.winkube.node.plugins.plugin_utils.task.module_action import ControllerAction

from tests.unit.action_task import HOST, give_run, give_task


class Works(ControllerAction):
    """One whose work ends with `error`."""

    module = "k8s_windows_calico"
    topic = "calico"
    refusals = (FileNotFoundError,)
    error: Exception

    def check_options(self) -> dict[str, Any]:
        return {}

    def work(self, options: dict[str, Any]) -> dict[str, Any]:
        raise self.error


def action(error: Exception, kind: type[Works] = Works) -> Any:
    made: Any = kind.__new__(kind)
    give_task(made)
    made.error = error
    return made


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """What ansible-core makes for a run."""
    give_run(monkeypatch, tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (Refused("No service.", "No program."), "No service.\nNo program."),
        (ClusterError("it does not answer"), "calico: it does not answer"),
        (FileNotFoundError("no x.yml"), "no x.yml"),
    ],
)
def test_what_is_foreseen_is_a_sentence(folder: Path, error: Exception, said: str) -> None:
    with pytest.raises(AnsibleActionFail) as failed:
        action(error).run(None, HOST)
    assert failed.value.message == said
    assert failed.value.__cause__ is None, "Ansible would print it a second time"
    (record,) = Store(folder).records()
    assert record.failed == Failure(state="failed", task="Work", reason=said), "whole"


def test_without_a_topic_the_clusters_own_words_are_all() -> None:
    class Nameless(Works):
        topic = ""

    with pytest.raises(AnsibleActionFail, match=r"^it does not answer$"):
        action(ClusterError("it does not answer"), Nameless).run(None, HOST)


def test_other_errors_are_not_hidden() -> None:
    with pytest.raises(PermissionError):
        action(PermissionError("no")).run(None, HOST)
