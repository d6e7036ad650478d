"""The cluster's time and the nodes': what polling from outside moves, and whose node is lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes.client as typed_client
import pytest
from kubernetes import config

from tests.lab.cluster.cluster import TICK_S
from tests.lab.cluster.seed import Settings
from tests.lab.server.host import NodeHost
from tests.lab.server.lab import Lab
from tests.lab.server.nodes import NodesError, NodeSpec

client: Any = typed_client  # its types differ from release to release
load: Any = config.load_kube_config


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path / "lab") as made:
        yield made


def core(lab: Lab) -> Any:
    (cluster,) = lab.clusters.values()
    configuration = client.Configuration()
    load(str(cluster.kubeconfig), client_configuration=configuration, persist_config=False)
    return client.CoreV1Api(client.ApiClient(configuration))


def now(host: NodeHost) -> float:
    return host.in_turn(host.node.clock.now)


def test_each_request_from_outside_moves_every_powered_node_s_clock(lab: Lab) -> None:
    one = lab.add_node(NodeSpec("win1", "192.168.122.220"))
    lab.start_cluster(Settings())
    other = lab.add_node(NodeSpec("win2", "192.168.122.221"))
    other.in_turn(other.node.power_off)
    before = now(one), now(other)
    core(lab).list_node()
    assert (now(one), now(other)) == (before[0] + TICK_S, before[1])


def test_nodes_of_before_and_after_reach_the_server(lab: Lab) -> None:
    one = lab.add_node(NodeSpec("win1", "192.168.122.220"))
    cluster = lab.start_cluster(Settings())
    other = lab.add_node(NodeSpec("win2", "192.168.122.221"))
    for host in (one, other):
        assert host.node.network.resolve("127.0.0.1", int(cluster.address.partition(":")[2])) == cluster.address
    with pytest.raises(NodesError, match="has a cluster cluster already"):
        lab.start_cluster(Settings())


def test_requests_of_many_at_once_do_not_wait_for_each_other_for_ever(lab: Lab) -> None:
    host = lab.add_node(NodeSpec("win1", "192.168.122.220"))
    lab.start_cluster(Settings())
    done: list[int] = []

    def poll() -> None:
        api = core(lab)
        for _ in range(10):
            done.append(len(api.list_node().items))

    threads = [threading.Thread(target=poll) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(50):
        host.in_turn(lambda: host.node.clock.advance(0.1))
    for thread in threads:
        thread.join(timeout=30)
    assert done == [1] * 40


def test_a_node_whose_kubelet_is_silent_is_unknown_after_a_while(lab: Lab) -> None:
    host = lab.add_node(NodeSpec("win1", "192.168.122.220"))
    cluster = lab.start_cluster(Settings())
    cluster.request("POST", "/api/v1/nodes", {"metadata": {"name": "win1"}})
    status = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    cluster.request("PATCH", "/api/v1/nodes/win1/status", status)
    cluster.advance(5)
    assert cluster.is_ready("win1")
    host.in_turn(host.node.power_off)
    for _ in range(60):
        cluster.advance(1)
    ready = cluster.nodes["win1"]["status"]["conditions"][0]
    assert (ready["status"], ready["reason"]) == ("Unknown", "NodeStatusUnknown")
    assert cluster.nodes["win1"]["spec"]["taints"][-1]["key"] == "node.kubernetes.io/unreachable"
    assert cluster.is_ready("control-plane")


def test_pod_ranges_come_after_a_while_and_are_not_given_twice(lab: Lab) -> None:
    cluster = lab.start_cluster(Settings())
    for name in ("win1", "win2"):
        cluster.request("POST", "/api/v1/nodes", {"metadata": {"name": name}})
    assert "podCIDR" not in cluster.nodes["win1"]["spec"]
    cluster.advance(5)
    assert [cluster.nodes[name]["spec"]["podCIDR"] for name in ("win1", "win2")] == ["10.244.1.0/24", "10.244.2.0/24"]
    cluster.request("DELETE", "/api/v1/nodes/win1")
    cluster.controllers.cidr_after_s = None
    cluster.request("POST", "/api/v1/nodes", {"metadata": {"name": "win3"}})
    cluster.advance(60)
    assert "podCIDR" not in cluster.nodes["win3"]["spec"]
