"""Values of the cluster's network: as they were set, else as the cluster says them, else kubeadm's."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleError
from ansible.plugins.loader import lookup_loader
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.documents import Kubeconfig
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.network import (
    SOURCES,
    WITHOUT_CLUSTER,
    list_known,
    open_for_run,
    resolve,
)
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.reading import ClusterReading, Known
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.records import ClusterConfiguration
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.remembered import FOR_THE_RUN, Remembered

LOCAL = "https://127.0.0.1:6443"
FULL = ClusterReading(
    server=LOCAL,
    published=Kubeconfig("https://10.0.0.10:6443"),
    kubelet_config={"clusterDomain": "site.local", "clusterDNS": ["169.254.25.10"]},
    cluster_configuration=ClusterConfiguration("10.1.0.0/16", "10.2.0.0/16", "other.local"),
    pod_network=Known("10.233.64.0/18", "ConfigMap kube-system/kube-flannel-cfg"),
    dns=Known("10.233.0.3", "Service kube-system/coredns"),
    service_ranges=Known("10.233.0.0/18", "ServiceCIDR kubernetes"),
)


def test_the_first_source_counts_and_what_is_set_counts_more() -> None:
    assert resolve({"dns_service_ip": "10.233.0.4"}, FULL) == {
        "cluster_cidr": "10.233.64.0/18",
        "service_cidr": "10.233.0.0/18",
        "dns_service_ip": "10.233.0.4",
        "cluster_domain": "site.local",
        "api_server": "https://10.0.0.10:6443",
    }


def test_kubeadms_own_object_counts_where_the_first_is_not_there() -> None:
    found = list_known(ClusterReading(server=LOCAL, cluster_configuration=FULL.cluster_configuration))
    assert {name: (each.value, each.source) for name, each in found.items()} == {
        name: (value, "ConfigMap kube-system/kubeadm-config")
        for name, value in (
            ("cluster_cidr", "10.2.0.0/16"),
            ("service_cidr", "10.1.0.0/16"),
            ("cluster_domain", "other.local"),
        )
    }


def test_nothing_is_made_up_for_a_cluster_that_does_not_say_it() -> None:
    """Failed before: kubeadm's defaults were taken for any cluster."""
    assert set(resolve({}, ClusterReading(server=LOCAL)).values()) == {""}
    assert resolve({}, None) == WITHOUT_CLUSTER


def look_up(*terms: Any, **given: Any) -> dict[str, str]:
    plugin = lookup_loader.get("winkube.node.k8s_windows_network")
    (found,) = plugin.run(list(terms), variables={}, **given)
    return dict(found)


def test_the_lookup_asks_no_cluster_where_there_is_none_or_all_is_set(tmp_path: Path) -> None:
    assert look_up({}) == WITHOUT_CLUSTER
    every = dict.fromkeys(SOURCES, "set")
    assert look_up({"kubeconfig": str(tmp_path / "none")}, given=every) == every


def test_a_cluster_that_does_not_answer_ends_what_needs_it(tmp_path: Path) -> None:
    nowhere = {"kubeconfig": str(tmp_path / "none")}
    with pytest.raises(AnsibleError, match=r"was not found out: .*there is no file"):
        look_up(nowhere)
    assert look_up(nowhere, given={"service_cidr": "10.1.0.0/16"}, needed=False) == {
        **dict.fromkeys(SOURCES, ""),
        "service_cidr": "10.1.0.0/16",
    }


def test_answers_are_kept_for_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def ask() -> dict[str, Any]:
        asked.append("once")
        return {"spec": {}}

    now = time.time()
    for hours in range(3):
        monkeypatch.setattr("time.time", lambda hours=hours: now + 3600 * hours)
        assert Remembered(tmp_path, "the run", FOR_THE_RUN)("/version", ask) == {"spec": {}}
    assert asked == ["once"]
    assert open_for_run({"kubeconfig": "", "context": ""}, tmp_path) is None
