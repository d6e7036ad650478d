"""What a run notes is deleted when Ansible ends, and only that."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.smoke import workload

from tests.unit.smoke.clusters import NAMESPACE, Smoke, cluster


@pytest.mark.row("SM-18")
def test_what_is_still_noted_is_deleted_once(tmp_path: Path) -> None:
    said: list[str] = []
    with cluster(tmp_path) as lab:
        smoke = Smoke(lab)
        smoke.workload.deploy()
        workload.note(tmp_path, NAMESPACE, {"kubeconfig": str(lab.kubeconfig), "context": ""})
        workload.delete_noted(tmp_path, said.append)
        lab.advance(20)
        assert smoke.cluster.get(f"/api/v1/namespaces/{NAMESPACE}") is None
        assert list(tmp_path.glob("*.json")) == []
        workload.delete_noted(tmp_path, said.append)
    assert said == [f"The smoke test was interrupted; its namespace {NAMESPACE} is being deleted."]


@pytest.mark.row("SM-18")
def test_what_is_forgotten_stays(tmp_path: Path) -> None:
    said: list[str] = []
    with cluster(tmp_path) as lab:
        smoke = Smoke(lab)
        smoke.workload.deploy()
        workload.note(tmp_path, NAMESPACE, {"kubeconfig": str(lab.kubeconfig), "context": ""})
        workload.forget(tmp_path, NAMESPACE)
        workload.delete_noted(tmp_path, said.append)
        assert smoke.cluster.get(f"/api/v1/namespaces/{NAMESPACE}") is not None
    assert said == []


@pytest.mark.row("SM-18")
def test_a_cluster_that_is_gone_is_told(tmp_path: Path) -> None:
    said: list[str] = []
    workload.note(tmp_path, "winkube-smoke-1", {"kubeconfig": str(tmp_path / "none"), "context": ""})
    workload.delete_noted(tmp_path, said.append)
    assert len(said) == 1
    assert "could not be deleted" in said[0]
    assert said[0].endswith("kubectl delete namespace winkube-smoke-1.")
