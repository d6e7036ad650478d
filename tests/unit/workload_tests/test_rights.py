"""Each file of examples/rbac is sufficient, and no verb is superfluous: by RBAC of the lab's API server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster import client, run_namespace
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.pods import pods_of
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.reading import read_network
from ansible_collections.winkube.node.plugins.plugin_utils.cri.samples import Sample
from ansible_collections.winkube.node.plugins.plugin_utils.scheduling import converge
from ansible_collections.winkube.node.plugins.plugin_utils.scheduling.nodes import (
    list_tolerated,
    select_nodes,
    windows_nodes,
)
from ansible_collections.winkube.node.plugins.plugin_utils.scheduling.runtime_class import COLLECTION
from ansible_collections.winkube.node.plugins.plugin_utils.task import drain
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests import cpu_limits, density, readiness
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.smoke import manifests, workload
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.smoke.plan import plan

from tests.lab.cluster import shipped, tenants
from tests.lab.cluster.cluster import Cluster
from tests.lab.cluster.kinds import BY_NAME
from tests.unit.budget.nodes import claim_of
from tests.unit.scheduling.objects import windows
from tests.unit.workload_tests import told
from tests.unit.workload_tests.smoke.clusters import NAMESPACE, Smoke, cluster

IMAGE = "mcr.microsoft.com/windows/servercore:ltsc2022"
GKE = {"key": "node.kubernetes.io/os", "value": "windows", "effect": "NoSchedule"}
STATE = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def tainted(name: str, *taints: dict[str, str]) -> dict[str, Any]:
    node = windows(name, 20348)
    node["spec"]["taints"] = list(taints)
    return node


def test_pods_tolerate_what_the_nodes_have_and_what_is_named() -> None:
    nodes = windows_nodes([tainted("a", GKE, STATE), tainted("b", {"key": "lonely", "effect": "NoExecute"})])
    named = ("os=windows:NoSchedule",)
    wanted = ("os=windows:NoSchedule", "node.kubernetes.io/os=windows:NoSchedule", "lonely:NoExecute")
    assert list_tolerated(nodes, named) == wanted
    assert list_tolerated([], named) == named


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Cluster]:
    with cluster(tmp_path) as made:
        yield made


@pytest.mark.slow
def test_the_smoke_tests_pods_run_on_nodes_with_a_providers_taint(lab: Cluster) -> None:
    for name in ("win1", "win2"):
        lab.request("PATCH", f"/api/v1/nodes/{name}", {"spec": {"taints": [GKE]}})
    assert all(pod.is_ready for pod in Smoke(lab, taints=()).facts().web)


def opened(lab: Cluster, tmp_path: Path, name: str, left_out: tuple[int, str] | None = None) -> client.Cluster:
    """As a user of the file's group, with exactly its rights; `left_out`: but for this rule's verb."""
    path = lab.shipped(name)
    if left_out is not None:
        role = lab.store.get(BY_NAME["ClusterRole"], "", f"winkube-{name}")
        role["rules"][left_out[0]]["verbs"].remove(left_out[1])
        lab.store.replace(BY_NAME["ClusterRole"], "", f"winkube-{name}", role)
    found = client.Cluster.open({"kubeconfig": str(path)})
    assert found is not None
    return found


def run_tests(lab: Cluster, found: client.Cluster) -> None:
    """What smoke, density and cpu_limits do, from sweep to end. ClusterError, also where a check was refused."""
    smoke, now = Smoke(lab), datetime.now(UTC)
    found.clock = clock = smoke.clock()
    load = workload.Workload(found, smoke.how, told.TAINTS, clock, lambda: now)
    read_network(found)
    run_namespace.sweep(found, manifests.LABEL, now)
    load.deploy()
    found.create(f"/api/v1/namespaces/{NAMESPACE}/secrets", {"metadata": {"name": manifests.PULL_SECRET}})
    load.wait()
    facts = load.facts()
    said = [answer.error for answer in load.run(plan(facts)).values()] + [node.unasked for node in facts.nodes]
    if refused := [text for text in said if "forbidden" in text]:
        raise ClusterError(refused[0], 403)
    run_namespace.delete_own(found, manifests.LABEL, NAMESPACE, load.run_id)
    run_namespace.wait_until_gone(found, NAMESPACE, clock, 60)
    wish = told.density("winkube-density-a", run_namespace.until(now, 60), pods=1, image=IMAGE, timeout=60)
    density.measure(found, wish, density.pods(wish, select_nodes(windows_nodes(found.nodes()), ())), clock)
    burning = told.burning("default", "win1", "a", image=IMAGE)
    try:
        cpu_limits.burn(found, burning, lambda: Sample("", {}), clock)
    except ClusterError as error:
        if "does not run after" not in str(error):  # the lab runs no pods that are bound without its scheduler
            raise


def run_suite(lab: Cluster, found: client.Cluster) -> None:
    """What operational_readiness does, with rights that a killed run has left."""
    clock, now = Smoke(lab).clock(), datetime.now(UTC)
    found.clock = clock
    until = run_namespace.until(now, 600)
    wish = readiness.Wish(
        told.readiness(image="reg/op:1", timeout=600, start_timeout=120), "winkube-readiness-a", until, "r"
    )
    lab.store.create(
        BY_NAME["ClusterRoleBinding"], "", readiness.binding(replace(wish, namespace="winkube-readiness-b"))
    )
    run_namespace.sweep(found, readiness.LABEL, now)
    readiness.sweep_bindings(found)
    readiness.warn_of_linux_nodes(found)
    readiness.make(found, wish)
    readiness.wait(found, wish, clock)
    readiness.take_away(found, wish)


def configure(lab: Cluster, found: client.Cluster) -> None:
    """What playbooks/scheduling.yml does: makes, changes, taints and labels."""
    for taints, labels in ((("os=windows:NoSchedule",), {}), (("a=b:NoSchedule",), {"c": "d"})):
        wanted = converge.Options("runhcs-wcow-process", taints, labels)
        nodes = windows_nodes(found.nodes())
        pods = lambda name: found.items(pods_of(name))  # noqa: E731
        for change in converge.plan(wanted, nodes, found.items(COLLECTION), {}, pods):
            change.do(found)


def drain_and_uncordon(lab: Cluster, found: client.Cluster) -> None:
    """What winkube_drain, win_k8s_drain and win_k8s_uncordon do."""
    tenants.move_in(lab, "win1")
    found.clock = clock = Smoke(lab).clock()
    node = drain.NodeDrain(found, "win1", claim_of(found), drain.Rules(force=True, delete_emptydir_data=True), clock)
    assert [pod["name"] for pod in node.list_evictable()] == list(tenants.GOES)
    assert node.cordon_and_drain() == ("cordon win1", "drain win1 (4 pods)")
    assert tenants.pods(lab, "win1") == list(tenants.STAYS)
    assert lab.nodes["win1"]["spec"]["unschedulable"] is True
    assert node.uncordon() == ("uncordon win1",)
    assert not lab.nodes["win1"]["spec"].get("unschedulable")


RUNS: dict[str, Callable[[Cluster, client.Cluster], None]] = {
    "test": run_tests,
    "operational_readiness": run_suite,
    "scheduling": configure,
    "site": drain_and_uncordon,
}
DRAINING = {"nodes": {"get", "patch"}, "pods": {"list"}, "pods/eviction": {"create"}}
"""Of examples/rbac/site.yml; with the rest machines join, and are taken away."""
VERBS = [
    (name, index, verb)
    for name in RUNS
    for index, rule in enumerate(shipped.documents(name)[0]["rules"])
    for verb in rule["verbs"]
    if name != "site" or verb in DRAINING.get(rule["resources"][0], ())
]


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_exactly_these_rights_are_enough(lab: Cluster, tmp_path: Path, name: str) -> None:
    RUNS[name](lab, opened(lab, tmp_path, name))
    assert [call for call in lab.refusals if call.user.startswith(shipped.USER)] == []


@pytest.mark.exhaustive(but_one_in=3)
@pytest.mark.slow
@pytest.mark.parametrize(("name", "rule", "verb"), VERBS)
def test_none_of_them_is_too_much(lab: Cluster, tmp_path: Path, name: str, rule: int, verb: str) -> None:
    """Without one the run ends with a sentence, or a fact stays unknown."""
    try:
        RUNS[name](lab, opened(lab, tmp_path, name, (rule, verb)))
    except ClusterError as error:
        assert "forbidden" in str(error)
    assert [call for call in lab.refusals if call.user.startswith(shipped.USER)]
