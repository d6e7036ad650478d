"""What each action asks of the cluster, over HTTPS, through every mode of the lab's fault lane: now and then, it ends
as on a calm cluster; for good, it ends in a sentence, soon, and never as if there were nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.budget.mark import ANNOTATION, Mark
from ansible_collections.winkube.node.plugins.plugin_utils.calico.view import look
from ansible_collections.winkube.node.plugins.plugin_utils.cluster import client, connection, endpoint, run_namespace
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.exec import exec_in_pod
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.rights import is_allowed
from ansible_collections.winkube.node.plugins.plugin_utils.components import inbound
from ansible_collections.winkube.node.plugins.plugin_utils.components.flannel.in_cluster import Answers
from ansible_collections.winkube.node.plugins.plugin_utils.components.join import identities, node_object
from ansible_collections.winkube.node.plugins.plugin_utils.cri.kubelet import KubeletProxy
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis import cluster_view
from ansible_collections.winkube.node.plugins.plugin_utils.engine.clock import Clock
from ansible_collections.winkube.node.plugins.plugin_utils.scheduling.nodes import windows_nodes
from ansible_collections.winkube.node.plugins.plugin_utils.scheduling.runtime_class import COLLECTION
from ansible_collections.winkube.node.plugins.plugin_utils.task import drain, preflight

from tests.conftest import ROOT
from tests.lab.cluster import tenants
from tests.lab.cluster.cluster import Cluster
from tests.lab.cluster.kinds import BY_NAME
from tests.lab.cluster.trouble import MODES, NOT_CARRIED_OUT, Trouble
from tests.unit.budget.nodes import claim_of
from tests.unit.workload_tests.smoke.clusters import Smoke, cluster

pytestmark = pytest.mark.slow
SHORT_S = 0.4
"""How long a request may take here."""
STREAMS = {"dropped"}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("trouble")) as made:
        made.api.proxied["win1", "stats/summary"] = {"node": {"nodeName": "win1"}, "pods": []}
        pod: dict[str, Any] = {
            "metadata": {"name": "shell", "labels": {"app": "shell"}},
            "spec": {"nodeName": "win2", "containers": [{"name": "c", "image": "i"}]},
            "status": {"phase": "Running"},
        }
        made.store.create(BY_NAME["Pod"], "kube-system", pod)
        yield made


def _emptied(lab: Cluster, found: client.Cluster) -> object:
    for name in tenants.pods(lab, "win1"):
        lab.store.delete(BY_NAME["Pod"], "default", name)
    tenants.move_in(lab, "win1")
    rules = drain.Rules(force=True, delete_emptydir_data=True)
    node = drain.NodeDrain(found, "win1", claim_of(found), rules, found.clock)
    node.cordon_and_drain()
    return tenants.pods(lab, "win1"), lab.nodes["win1"]["spec"].get("unschedulable")


def _back(lab: Cluster, found: client.Cluster) -> object:
    claim = claim_of(found)
    mark = Mark(claim.run, cordoned=True).to_text()
    lab.request("PATCH", "/api/v1/nodes/win1", {"metadata": {"annotations": {ANNOTATION: mark}}})
    drain.NodeDrain(found, "win1", claim, clock=found.clock).uncordon()
    return lab.nodes["win1"]["metadata"].get("annotations")


def _joined(lab: Cluster, found: client.Cluster) -> object:
    with endpoint.bootstrap_token(found, "win9"):
        there = endpoint.endpoint(found).server
    wanted = identities.objects("winkube-flanneld")
    identities.make(found, identities.find_missing(found, wanted))
    left = [each.name for each in identities.find_missing(found, wanted)]
    tokens = [item for item in lab.store.list(BY_NAME["Secret"], "kube-system") if "bootstrap" in item["type"]]
    return there, left, len(tokens)


def _taken_away(lab: Cluster, found: client.Cluster) -> object:
    path = "/api/v1/nodes/win7"
    if not (lab.store.find(BY_NAME["Node"], "", "win7")):
        lab.store.create(BY_NAME["Node"], "", {"metadata": {"name": "win7"}, "spec": {}, "status": {}})
    if found.get(path) is not None:
        found.delete(path)
    return lab.store.find(BY_NAME["Node"], "", "win7")


def _tested(lab: Cluster, found: client.Cluster) -> object:
    lab.request("DELETE", "/api/v1/namespaces/winkube-x")  # what a case before has left
    lab.advance(30)
    body = run_namespace.body("winkube.node/x", "winkube-x", "2030-01-01T00:00:00Z", "run")
    run_namespace.create(found, body)
    run_namespace.delete_own(found, "winkube.node/x", "winkube-x", "run")
    run_namespace.wait_until_gone(found, "winkube-x", found.clock, 120)
    return lab.store.find(BY_NAME["Namespace"], "", "winkube-x")


def _ran(lab: Cluster, found: client.Cluster) -> object:
    done = exec_in_pod(found, "kube-system", "shell", ["whoami.exe"], timeout=SHORT_S)
    if not done.ok and "without the exit status" in done.stderr:
        raise ClusterError(f"{found.server}: {done.stderr}")
    return done.ok


def _rights(lab: Cluster, found: client.Cluster) -> object:
    return [is_allowed(found, *right[:4]) for right in (*preflight.JOIN_RIGHTS, *preflight.DRAIN_RIGHTS)]


def _names(items: list[dict[str, Any]]) -> list[str]:
    return [str(item["metadata"]["name"]) for item in items]


def _flannel(lab: Cluster, found: client.Cluster) -> object:
    said = Answers.of(found, found, "win1", ours=True, waits=False)
    return said.node is not None, len(said.daemon_sets), said.where


Asks = Callable[[Cluster, client.Cluster], object]
ASKS: dict[str, Asks] = {
    "win_k8s_drain": _emptied,
    "win_k8s_uncordon": _back,
    "win_k8s_join": _joined,
    "win_k8s_reset": _taken_away,
    "win_k8s_repair": lambda lab, found: _names(found.nodes()),
    "k8s_windows_conformance": _tested,
    "k8s_windows_scheduling": lambda lab, found: (len(windows_nodes(found.nodes())), _names(found.items(COLLECTION))),
    "k8s_windows_calico": lambda lab, found: look(found).kubernetes,
    "k8s_windows_look": lambda lab, found: _names(found.nodes()),
    "k8s_windows_cri_info": lambda lab, found: KubeletProxy(found, "win1").summary(),
    "win_k8s_diagnose": lambda lab, found: len(cluster_view.ask(found, "win1").addresses),
    "hns_check": lambda lab, found: sorted(cluster_view.ask(found, "win1").behind),
    "win_k8s_collect_logs": lambda lab, found: (found.version(), found.node("win1") is not None),
    "win_k8s_node_info": _rights,
    "win_k8s_host": lambda lab, found: (found.version(), inbound.addresses(found)),
    "win_kubelet": lambda lab, found: found.version(),
    "win_flannel": _flannel,
    "win_kube_proxy": lambda lab, found: (_names(found.daemon_sets()), found.node("win1") is not None),
    "win_k8s_provisioner": lambda lab, found: node_object.is_ready(found.node("win1") or {}),
    "cluster_nodes": lambda lab, found: _names(found.items("/api/v1/nodes?labelSelector=kubernetes.io%2Fos%3Dwindows")),
    "host_process": _ran,
}
"""By action (the last two: inventory and connection)."""
CASES = [
    (name, mode)
    for name in ASKS
    for mode in MODES
    if (mode not in STREAMS if name != "host_process" else mode in STREAMS | NOT_CARRIED_OUT)
]


def opened(lab: Cluster) -> client.Cluster:
    found = client.Cluster.open({"kubeconfig": str(lab.kubeconfig)})
    assert found is not None
    found.clock = Smoke(lab).clock()
    found._has_answered = True  # else an address that never answered is given up after three seconds
    return found


@pytest.fixture
def calm(lab: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(connection, "REQUEST_S", SHORT_S)
    yield
    lab.https.released.set()  # those who hang
    lab.https.trouble = lambda request: ""
    lab.https.released.clear()
    lab.request("PATCH", "/api/v1/nodes/win1", {"spec": {"unschedulable": None}})
    lab.advance(60)


def test_a_certificate_of_an_hour_that_ends_during_a_drain(lab: Cluster, calm: None, tmp_path: Path) -> None:
    """By the cluster's clock: a budget keeps a pod for 15 s, and the hour ends meanwhile."""
    file = tmp_path / "ann.conf"
    file.write_text(lab.kubeconfig_for("ann", "system:masters", days=1 / 24), encoding="utf-8")
    found = client.Cluster.open({"kubeconfig": str(file)})
    assert found is not None
    ours = Smoke(lab).clock()

    def sleep(seconds: float) -> None:
        ours.sleep(seconds)
        lab.skew = timedelta(minutes=61)

    found.clock = Clock(ours.now, sleep)
    try:
        with pytest.raises(ClusterError, match=r"401: Unauthorized.*still cordoned.*kubectl uncordon win1") as refused:
            _emptied(lab, found)
        assert refused.value.status == 401
        assert lab.nodes["win1"]["spec"].get("unschedulable") is True
    finally:
        lab.skew = timedelta()
    assert _emptied(lab, opened(lab)) == (list(tenants.STAYS), True), "with new credentials it goes on"


RESULTS: dict[str, object] = {}


@pytest.mark.exhaustive(but_one_in=4)
@pytest.mark.parametrize(("name", "mode"), CASES)
def test_now_and_then_it_ends_as_on_a_calm_cluster(lab: Cluster, calm: None, name: str, mode: str) -> None:
    if name not in RESULTS:
        RESULTS[name] = ASKS[name](lab, opened(lab))
        lab.advance(60)
    trouble = lab.https.trouble = Trouble(mode, every=2, times=3)
    if mode == "401" or (mode == "dropped" and name == "host_process"):
        with pytest.raises(ClusterError):
            ASKS[name](lab, opened(lab)), ASKS[name](lab, opened(lab))
        return
    assert ASKS[name](lab, opened(lab)) == RESULTS[name], trouble


@pytest.mark.exhaustive(but_one_in=4)
@pytest.mark.parametrize(("name", "mode"), CASES)
def test_for_good_it_ends_in_a_sentence(lab: Cluster, calm: None, name: str, mode: str) -> None:
    lab.https.trouble = Trouble(mode, after=1 if name != "host_process" else 0)
    found = opened(lab)
    found.clock = Clock(lambda: sum(slept), lambda seconds: slept.append(seconds))
    slept: list[float] = []
    began = time.monotonic()
    try:
        for _ in range(3):
            ASKS[name](lab, found)
    except ClusterError as error:
        assert len(str(error)) > 20 and "login.example.com/?" not in str(error)
    else:
        assert mode == "contradiction", "no error"
    assert time.monotonic() - began < 60


def test_every_action_that_asks_the_cluster_is_here() -> None:
    """By what its file imports; actions that use another file for it are named beside it."""
    asking = {
        path.stem
        for path in (ROOT / "plugins" / "action").glob("*.py")
        if "cluster.client" in path.read_text(encoding="utf-8")
    }
    assert asking - ASKS.keys() == set()
