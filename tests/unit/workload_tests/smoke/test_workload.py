"""From the API's objects to facts, and a wait that has an end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.client import Cluster
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.connection import Connection
from ansible_collections.winkube.node.plugins.plugin_utils.engine.clock import Clock
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.smoke import workload

from tests.unit.cluster.fake import as_api
from tests.unit.workload_tests import told
from tests.unit.workload_tests.smoke.clusters import HOW
from tests.unit.workload_tests.smoke.objects import windows_node


def ready(status: str, message: str = "") -> list[dict[str, str]]:
    return [{"type": "Ready", "status": status, "message": message}]


@pytest.mark.row("SM-05")
@pytest.mark.parametrize(
    ("conditions", "usable", "problem"),
    [
        (ready("True"), True, ""),
        (ready("False", "no CNI"), False, "no CNI"),
        (ready("Unknown", "kubelet stopped posting"), False, "kubelet stopped posting"),
        (ready("Unknown"), False, "Ready is Unknown"),
        ([{"type": "MemoryPressure", "status": "False"}], False, "Ready is absent"),
    ],
)
def test_a_node_is_healthy_where_it_says_that_it_is_ready(
    conditions: list[dict[str, str]], usable: bool, problem: str
) -> None:
    node = workload.node_fact(windows_node("win1", 1, conditions=conditions))
    assert (node.usable, node.problem) == (usable, problem)
    cordoned = windows_node("win1", 1, conditions=conditions)
    cordoned["spec"]["unschedulable"] = True
    assert (workload.node_fact(cordoned).usable, workload.node_fact(cordoned).problem) == (False, problem)


def pod(name: str, address: str, status: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "spec": {"nodeName": "win1", "containers": [{"name": "x", "image": "x"}]},
        "status": {"phase": "Pending", "podIP": address, "conditions": [{"type": "Ready", "status": status}]},
    }


@pytest.mark.row("SM-06")
@pytest.mark.parametrize(
    ("address", "status", "problem"),
    [
        ("10.244.1.2", "True", ""),
        ("10.244.1.2", "False", "it is Pending, and not Ready"),
        ("", "True", "it is Pending, and not Ready"),
    ],
)
def test_a_pod_is_ready_with_its_condition_and_its_address(address: str, status: str, problem: str) -> None:
    assert workload.pod_fact(pod("web-a", address, status)).problem == problem


class Services(Cluster):
    """A cluster with these Services in kube-system, and nothing else."""

    def __init__(self, **addresses: str) -> None:
        self.addresses = addresses
        super().__init__(lambda: Connection("https://api", b"", self._answer))

    def _answer(self, method: str, path: str, body: Mapping[str, Any] | None, content_type: str) -> tuple[int, bytes]:
        folder, _slash, name = path.rpartition("/")
        address = self.addresses.get(name.replace("-", "_"))
        if folder != "/api/v1/namespaces/kube-system/services" or address is None:
            return 404, json.dumps({"kind": "Status", "apiVersion": "v1", "reason": "NotFound", "code": 404}).encode()
        made = {"kind": "Service", "apiVersion": "v1", "metadata": {"name": name}, "spec": {"clusterIP": address}}
        return 200, json.dumps(made).encode()


@pytest.mark.parametrize(
    ("services", "address"),
    [
        ({"kube_dns": "10.96.0.10"}, "10.96.0.10"),
        ({"coredns": "10.233.0.3"}, "10.233.0.3"),
        ({"kube_dns": "10.96.0.10", "coredns": "10.233.0.3"}, "10.96.0.10"),
        ({"nodelocaldns": "169.254.25.10"}, ""),
        ({}, ""),
    ],
)
def test_the_dns_of_the_cluster_is_kubeadms_or_kubesprays(services: dict[str, str], address: str) -> None:
    """Failed before: with kubespray the smoke test knew no DNS server, and did not check its pods' one."""
    assert workload.dns_address(Services(**services)) == address


class Waiting(Cluster):
    """A cluster with Deployments of two web servers and a peer, whose pods come and get Ready one after the other."""

    def __init__(self) -> None:
        self.passed = 0.0
        super().__init__(lambda: Connection("https://api", b"", self._answer))

    def _answer(self, method: str, path: str, body: Mapping[str, Any] | None, content_type: str) -> tuple[int, bytes]:
        items: list[dict[str, Any]] = []
        if path.endswith("/deployments"):
            items = [{"spec": {"replicas": 2}}, {"spec": {"replicas": 1}}]
        else:
            names = ("web-a", "web-b") if path.endswith("app%3Dwin-webserver") else ("peer",)
            since = {"web-a": (0, 4), "web-b": (6, 10), "peer": (0, 14)}
            for name in names:
                made, up = since[name]
                if self.passed >= made:
                    items.append(pod(name, "10.244.1.2", "True" if self.passed >= up else "False"))
        return 200, as_api(method, path, 200, {"items": items})

    def sleep(self, seconds: float) -> None:
        self.passed += seconds


@pytest.mark.row("SM-06")
@pytest.mark.parametrize(("timeout", "waited"), [(60, 14.0), (8, 8.0)])
def test_it_is_waited_until_all_pods_are_ready_and_no_longer_than_was_said(timeout: int, waited: float) -> None:
    cluster = Waiting()
    how = told.smoke(**{**HOW, "timeout": timeout})
    clock = Clock(lambda: cluster.passed, cluster.sleep)
    workload.Workload(cluster, how, told.TAINTS, clock, lambda: datetime.now(UTC)).wait()
    assert cluster.passed == waited


@pytest.mark.parametrize(
    ("corefile", "serves"),
    [
        ("kubernetes cluster.local {\n  pods insecure\n}", True),
        ("kubernetes cluster.local {\n\tpods verified\n}", True),
        ("kubernetes cluster.local {\n  pods disabled\n}", False),
        ("kubernetes cluster.local {\n  ttl 30\n}", False),
        ("", None),
    ],
)
def test_whether_the_clusters_dns_serves_names_of_pods(corefile: str, serves: bool | None) -> None:
    assert workload.serves_pod_names({"data": {"Corefile": corefile}}) is serves
    assert workload.serves_pod_names(None) is None


QUOTA = (
    'pods "win-webserver-7c4d-" is forbidden: exceeded quota: small, requested: requests.memory=300Mi, used: '
    "requests.memory=0, limited: requests.memory=100Mi"
)
LEVEL = 'pods "win-webserver-7c4d-x" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true'
HOOK = 'admission webhook "validate.kyverno.svc-fail" denied the request: no privileged images'


@pytest.mark.parametrize(
    ("message", "way"),
    [
        (QUOTA, "Something puts a ResourceQuota into new namespaces"),
        (LEVEL, "The namespace asks for the level baseline"),
        (HOOK, "An admission rule of the cluster forbids it"),
    ],
)
def test_what_keeps_pods_from_being_made_is_told(message: str, way: str) -> None:
    condition = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": message}
    made = [{"metadata": {"name": "win-webserver"}, "status": {"conditions": [condition]}}]
    said = workload.refusal(made)
    assert said.startswith("The cluster refuses the pods of the Deployment win-webserver: ") and way in said
    assert (
        workload.refusal([{"metadata": {"name": "a"}, "status": {"conditions": [condition | {"status": "False"}]}}])
        == ""
    )


def test_the_second_family_of_a_pod() -> None:
    found = pod("web-a", "10.244.1.2", "True")
    assert workload.pod_fact(found).second == ""
    found["status"]["podIPs"] = [{"ip": "10.244.1.2"}, {"ip": "fd00:10:244:1::2"}]
    assert workload.pod_fact(found).second == "fd00:10:244:1::2"
