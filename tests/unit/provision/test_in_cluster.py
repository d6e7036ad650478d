"""What a push asks of the cluster, and how long the node may take."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.shared_options import SharedOptions
from ansible_collections.winkube.node.plugins.plugin_utils.provision.in_cluster import ask_daemon_sets
from ansible_collections.winkube.node.plugins.plugin_utils.provision.options import ProvisionerOptions, Timeouts

from tests.unit.told import told


def daemon_set(path: str) -> dict[str, Any]:
    container = {"name": "kube-proxy", "env": [{"name": "KUBEPROXY_PATH", "value": path}]}
    return {
        "metadata": {"name": "kube-proxy-windows", "namespace": "kube-system"},
        "spec": {"template": {"spec": {"nodeSelector": {"kubernetes.io/os": "windows"}, "containers": [container]}}},
    }


@pytest.mark.parametrize(
    ("path", "found"),
    [(r"C:\k\kube-proxy.exe", ("kube-system/kube-proxy-windows",)), (r"C:\other\kube-proxy.exe", ())],
)
def test_pods_that_run_the_hosts_kube_proxy_are_found(path: str, found: tuple[str, ...]) -> None:
    item: Any = SimpleNamespace(name="Kube-Proxy", destination=r"C:\k\kube-proxy.exe")
    cluster: Any = SimpleNamespace(daemon_sets=lambda: [daemon_set(path)], node=lambda _name: None)
    question = ask_daemon_sets([item], "win1")
    assert question is not None
    assert question(cluster) == found


def test_the_cluster_is_not_asked_where_kube_proxy_stays() -> None:
    item: Any = SimpleNamespace(name="kubelet", destination=r"C:\k\kubelet.exe")
    assert ask_daemon_sets([item], "win1") is None


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"node_name": "Win-A", "drain": {"node_name": "win-b"}}, "win-a"),
        ({"node_name": "", "drain": {"node_name": "win-b"}}, "win-b"),
        ({"node_name": "", "drain": {}}, "host1"),
    ],
)
def test_the_modules_node_name_comes_before_the_drains(given: dict[str, Any], name: str) -> None:
    how = told(ProvisionerOptions, "win_k8s_provisioner", **given)
    shared = told(SharedOptions, "win_k8s_provisioner", **given)
    assert how.find_node_name(shared.drain, "HOST1") == name


def test_a_node_has_time_for_each_service_that_is_watched() -> None:
    assert Timeouts().deadline_s(3) == 900
    assert Timeouts(start_timeout=300, stable=60).deadline_s(2) == 1320
