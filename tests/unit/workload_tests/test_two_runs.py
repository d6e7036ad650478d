"""Two runs at the same time: each deletes what it has made, and nothing of the other's."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster import run_namespace
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError, passes
from ansible_collections.winkube.node.plugins.plugin_utils.engine.clock import Clock
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests import cpu_limits, density
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.smoke import manifests

from tests.unit.workload_tests import told
from tests.unit.workload_tests.smoke.clusters import NAMESPACE, Smoke, cluster


def test_the_smoke_tests_namespace_stays_with_the_run_that_made_it(tmp_path: Path) -> None:
    with cluster(tmp_path) as lab:
        first, second = Smoke(lab), Smoke(lab)
        first.workload.deploy()
        with pytest.raises(ClusterError, match=f"The namespace {NAMESPACE} is there already: another run uses it"):
            second.workload.deploy()
        assert not run_namespace.delete_own(second.cluster, manifests.LABEL, NAMESPACE, second.workload.run_id)
        assert first.cluster.get(f"{run_namespace.PATH}/{NAMESPACE}") is not None
        assert run_namespace.delete_own(first.cluster, manifests.LABEL, NAMESPACE, first.workload.run_id)


def test_a_density_run_that_finds_its_namespace_taken_deletes_nothing(tmp_path: Path) -> None:
    with cluster(tmp_path) as lab:
        found = Smoke(lab).cluster
        wish = told.density("taken", "2099", pods=1)
        found.create(run_namespace.PATH, {"metadata": {"name": "taken"}})
        with pytest.raises(ClusterError, match="The namespace taken is there already"):
            density.measure(found, wish, (), Clock())
        assert (found.get(f"{run_namespace.PATH}/taken") or {})["metadata"].get("deletionTimestamp") is None


def test_a_namespace_that_was_made_anew_meanwhile_stays(tmp_path: Path) -> None:
    with cluster(tmp_path) as lab:
        found = Smoke(lab).cluster
        path, uid = f"{run_namespace.PATH}/a", found.create(run_namespace.PATH, {"metadata": {"name": "a"}})
        assert not found.delete(path, "the uid of the one before")
        assert found.get(path) is not None
        assert found.delete(path, uid["metadata"]["uid"])


@pytest.mark.parametrize(
    ("path", "status", "said", "wanted"),
    [
        ("/api/v1/pods", 500, "etcdserver: leader changed", True),
        ("/api/v1/nodes/win1/proxy/configz", 500, "error dialing backend: i/o timeout", False),
        ("/api/v1/namespaces/a/pods/b/exec?command=c", 500, "error dialing backend: i/o timeout", False),
        ("/api/v1/namespaces/a/pods/b/exec?command=c", 500, "etcdserver: leader changed", True),
        ("/api/v1/namespaces/a/pods/b/exec?command=c", 503, "apiserver is shutting down", True),
        ("/api/v1/namespaces/a/pods/exec", 500, "", True),
        ("/api/v1/pods", 501, "", False),
    ],
)
def test_what_a_dead_kubelet_costs_is_not_a_minute(path: str, status: int, said: str, wanted: bool) -> None:
    assert passes(path, status, said) is wanted


def test_two_runs_of_cpu_limits_have_pods_of_their_own() -> None:
    names = [
        {pod["metadata"]["name"] for pod in cpu_limits.manifests(told.burning("a", "win1", run))} for run in ("1", "2")
    ]
    assert names[0].isdisjoint(names[1])
