"""k8s_windows_conformance: several tests in one task, and the smoke test at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.action import k8s_windows_conformance
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.task.argument_spec import check_arguments
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests import density
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.outcome import Context, Outcome
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.smoke import stages

from tests.unit.action_task import HOST, give_run, give_task
from tests.unit.workload_tests import told
from tests.unit.workload_tests.smoke.clusters import Smoke, cluster


def done(monkeypatch: pytest.MonkeyPatch, folder: Path, tests: dict[str, Any], *names: str) -> dict[str, Any]:
    """The result of a task with these tests in place of ours; an exception is raised."""

    def run(given: Any) -> Any:
        def test(_context: Context, _options: Any) -> Outcome:
            if isinstance(given, Exception):
                raise given
            assert isinstance(given, Outcome)
            return given

        return test

    action: Any = object.__new__(k8s_windows_conformance.ActionModule)
    give_task(action)
    options = check_arguments("k8s_windows_conformance", {"tests": list(names)})
    action.validate_argument_spec = lambda argument_spec: (None, options)
    give_run(monkeypatch, folder)
    for name, given in tests.items():
        monkeypatch.setattr({"smoke": stages, "density": density}[name], "run", run(given))
    result: dict[str, Any] = action.run(task_vars=HOST)
    del result["ansible_facts"]
    return result


def test_one_that_fails_does_not_keep_the_next_from_running(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tests = {"smoke": Refused("no session."), "density": Outcome(True, ("run pods",), {"summary": 1})}
    found = done(monkeypatch, tmp_path, tests, "smoke", "density", "density")
    assert found == {
        "smoke": {},
        "density": {"summary": 1},
        "changed": True,
        "failed": True,
        "msg": "smoke: no session.",
        "steps": [{"text": "ran pods", "state": "done"}],
    }
    both = {"smoke": Outcome(False, said="Smoke test, 1 checks."), "density": ClusterError("gone.")}
    assert done(monkeypatch, tmp_path, both, "density", "smoke")["msg"] == "density: gone.\nSmoke test, 1 checks."


@pytest.mark.slow
@pytest.mark.row("SM-07", "SM-18")
def test_the_smoke_test_at_once_reports_and_leaves_nothing(tmp_path: Path) -> None:
    how = told.smoke(linux_host="control-plane", report=str(tmp_path / "reports"))
    with cluster(tmp_path) as lab:
        lab.flows.broken.add("outbound")
        taints = ("os=windows:NoSchedule",)
        smoke = Smoke(lab)
        context = Context({"kubeconfig": str(lab.kubeconfig)}, taints, False, tmp_path, smoke.clock())
        outcome = stages.run(context, how)
        left = [item["metadata"]["name"] for item in smoke.cluster.items("/api/v1/namespaces")]
        planned = stages.run(replace(context, check_mode=True), how)
    assert outcome.failed and "Broken: outbound connectivity." in outcome.said
    assert outcome.result["report"]["checks"]["service"] == "ok"
    inbound = [one for one in outcome.result["report"]["findings"] if one["id"].startswith("inbound/linux/")]
    assert {one["seen"] for one in inbound} == {"Its command was not run."}, "no host is asked"
    assert outcome.steps[-1].startswith("delete the namespace winkube-smoke-")
    assert not [name for name in left if name.startswith("winkube-smoke")]
    assert sorted(path.name for path in (tmp_path / "reports").iterdir()) == ["smoke.json", "smoke.txt", "smoke.xml"]
    assert not list(tmp_path.glob("winkube-test-*.json")), "nothing is noted for Ansible's end any more"
    assert (planned.changed, planned.result) == (True, {"commands": []})
