"""What a run notes is deleted when Ansible ends, and only that."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests import interrupted
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.smoke import manifests

from tests.unit.workload_tests.smoke.clusters import NAMESPACE, Smoke, cluster

NOTED = {"test": "smoke", "label": manifests.LABEL, "name": NAMESPACE, "run": ""}


@pytest.mark.row("SM-18")
def test_what_is_still_noted_is_deleted_once(tmp_path: Path) -> None:
    said: list[str] = []
    with cluster(tmp_path) as lab:
        smoke = Smoke(lab)
        smoke.workload.deploy()
        interrupted.note(tmp_path, NOTED, {"kubeconfig": str(lab.kubeconfig), "context": ""})
        interrupted.delete_noted(tmp_path, said.append)
        lab.advance(20)
        assert smoke.cluster.get(f"/api/v1/namespaces/{NAMESPACE}") is None
        assert list(tmp_path.glob("*.json")) == []
        interrupted.delete_noted(tmp_path, said.append)
    assert said == [f"The test smoke was interrupted; its namespace {NAMESPACE} is being deleted."]


@pytest.mark.row("SM-18")
def test_what_is_forgotten_stays(tmp_path: Path) -> None:
    said: list[str] = []
    with cluster(tmp_path) as lab:
        smoke = Smoke(lab)
        smoke.workload.deploy()
        interrupted.note(tmp_path, NOTED, {"kubeconfig": str(lab.kubeconfig), "context": ""})
        interrupted.forget(tmp_path, NAMESPACE)
        interrupted.delete_noted(tmp_path, said.append)
        assert smoke.cluster.get(f"/api/v1/namespaces/{NAMESPACE}") is not None
    assert said == []


@pytest.mark.row("SM-18")
def test_a_cluster_that_is_gone_is_told(tmp_path: Path) -> None:
    said: list[str] = []
    access = {"kubeconfig": str(tmp_path / "none"), "context": ""}
    interrupted.note(tmp_path, {**NOTED, "name": "winkube-smoke-1"}, access)
    interrupted.delete_noted(tmp_path, said.append)
    assert len(said) == 1
    assert "could not be deleted" in said[0]
    assert said[0].endswith("kubectl delete namespace winkube-smoke-1.")
