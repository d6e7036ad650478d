"""k8s_windows_cri_info: who has to be named for what is gathered, and what is judged without asking anybody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleActionFail
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.winkube.node.plugins.action import k8s_windows_cri_info
from ansible_collections.winkube.node.plugins.action.k8s_windows_cri_info import ActionModule
from ansible_collections.winkube.node.plugins.plugin_utils.task.argument_spec import load_spec

from tests.unit.action_task import HOST, give_run, give_task


def run(monkeypatch: pytest.MonkeyPatch, folder: Path, check: bool = True, **given: Any) -> dict[str, Any]:
    """The module's result for these options, in check mode unless it is said otherwise."""
    validated = ArgumentSpecValidator(load_spec("k8s_windows_cri_info")).validate(given)
    assert not validated.error_messages
    action = ActionModule.__new__(ActionModule)
    give_task(action, check=check)
    give_run(monkeypatch, folder)
    monkeypatch.setattr(
        ActionModule, "validate_argument_spec", lambda *_given, **_spec: (None, validated.validated_parameters)
    )
    return action.run(task_vars=HOST)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "gather: containers asks the runtime, so it needs address."),
        ({"gather": ["stats"]}, "give address, or node_name and cluster, or stats.crictl, or stats.summaries."),
        (
            {"gather": ["stats"], "stats": {"second_caller": 1, "summaries": ["{}"]}},
            "stats.second_caller: it asks the runtime, so it needs address.",
        ),
        ({"gather": ["stats"], "stats": {"samples": 0}}, "stats.samples: 0 is less than 1."),
        ({"gather": ["stats"], "stats": {"crictl": ["no"]}}, r"stats.crictl\[0\]: this is not JSON"),
        ({"gather": ["stats"], "node_name": "win1"}, "node_name is given, but no way to the cluster"),
    ],
)
def test_what_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: dict[str, Any], said: str) -> None:
    with pytest.raises(AnsibleActionFail, match=said):
        run(monkeypatch, tmp_path, **given)


def test_outputs_of_others_are_judged_without_asking_anybody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """And nothing of the runtime is returned, which was not asked."""
    stats = {"crictl": ['{"stats": []}'], "csv": "/proc/none/stats.csv"}
    found = run(monkeypatch, tmp_path, gather=["stats"], stats=stats)
    assert found["msg"] == "0 looked at, nothing wrong"
    assert (found["changed"], found["findings"], "calls" in found) == (False, [], False)


def test_readings_are_on_the_disk_before_the_end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Ctrl-C after an hour left nothing: all was written at the end."""
    kept, asked = tmp_path / "kept.csv", list[int]()
    subject = {"labels": {"io.kubernetes.container.name": "burn"}}

    class Client:
        def __enter__(self) -> Client:
            return self

        def __exit__(self, *_given: object) -> None:
            """Nothing."""

        def version(self) -> dict[str, Any]:
            return {"runtimeName": "containerd", "runtimeVersion": "2.3.0"}

        def call(self, name: str) -> dict[str, Any]:
            asked.append(len(kept.read_text().splitlines()) if kept.exists() else 0)
            if len(asked) > 4:
                raise KeyboardInterrupt
            cpu = {"timestamp": str(len(asked)), "usageCoreNanoSeconds": {"value": "5"}}
            return {"stats": [{"attributes": subject, "cpu": cpu}]} if name == "ListContainerStats" else {}

    monkeypatch.setattr(k8s_windows_cri_info, "CriClient", lambda *_given: Client())
    stats = {"csv": str(kept), "interval": 0, "samples": 9}
    with pytest.raises(KeyboardInterrupt):
        run(monkeypatch, tmp_path, False, gather=["stats"], address="a:1", stats=stats)
    assert asked == [0, 0, 2, 2, 3], "a head and a line, then a line more"
    assert kept.read_text().splitlines()[0].startswith("namespace,pod,container,source")
