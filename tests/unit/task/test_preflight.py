"""What the first task of a run says of all that later tasks would refuse."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.client import Cluster
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.connection import Connection
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import FORBIDDEN, ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_key
from ansible_collections.winkube.node.plugins.plugin_utils.task import preflight

from tests.unit.cluster.fake import as_api
from tests.unit.components.nodes import LAYOUT

ADAPTER = {
    "name": "Ethernet", "description": "", "index": 1, "mac": "00-15-5D-00-00-01", "up": True, "dhcp": False,
    "mtu": 1500, "ipv4": [{"address": "192.168.122.220", "prefix": 24}], "gateways": ["192.168.122.1"], "dns": [],
}  # fmt: skip
GOOD = {
    "kubernetes_version": "1.37.1",
    "container_runtime": "containerd",
    "containerd_version": "2.3.7",
    "cni_managed_by": "service",
    "kube_proxy_managed_by": "service",
    "join": "kubeadm",
    "network_mode": "l2bridge",
    "cluster_cidr": "10.244.0.0/16",
    "cluster_domain": "cluster.local",
    "service_cidr": "10.96.0.0/12",
    "dns_service_ip": "10.96.0.10",
    "interface_name": "Ethernet",
    "management_ip": "",
    "cluster": {"kubeconfig": ""},
    "allow_unverified": [],
    **{f"{name}_url": f"https://example.com/{name}.exe" for name in ("kubelet", "kubeadm", "kube_proxy", "flannel")},
    **{f"{name}_checksum": "sha256:" + "a" * 64 for name in ("kubelet", "kubeadm", "kube_proxy", "flannel")},
    "containerd_url": "https://example.com/containerd-2.3.7-windows-amd64.tar.gz",
    "containerd_checksum": "https://example.com/sums",
}


def said(*skipped: str, **more: Any) -> tuple[str, ...]:
    parts = {"system": {"os": {"build": 20348}}, "adapters": [ADAPTER]}
    return preflight.find_problems(
        preflight.Run((GOOD | more).get, Reading(parts=parts), lambda role: role not in skipped, LAYOUT)
    )


TAKEN_AT = datetime(2026, 11, 23, 9, tzinfo=UTC).timestamp()


def bare(clock: str = "2026-11-23T09:00:00Z", free: int = 80 * 1024**3, *, full: bool = False, **more: Any) -> str:
    """What is said of a machine without programs; `full`: with all of them, and joined."""
    files = {
        file_key(path): {"exists": full}
        for path in (LAYOUT.containerd_binary, LAYOUT.kubelet_binary, LAYOUT.kubelet_kubeconfig)
    }
    system = {"os": {"build": 20348}, "clock": clock, "free_bytes": {"C:": free}}
    reading = Reading(parts={"system": system, "adapters": [ADAPTER], **files}, taken_at=TAKEN_AT)
    run = preflight.Run((GOOD | more).get, reading, lambda _role: True, LAYOUT)
    return " ".join(preflight.find_problems(run))


@pytest.mark.parametrize(
    "name", sorted(each.name for each in fields(LAYOUT) if each.name.endswith(("_dir", "_binary")))
)
def test_a_path_on_a_drive_that_is_not_there_is_refused(name: str) -> None:
    """Whichever path it is: a later task would end at its first folder there."""
    other: dict[str, Any] = {name: r"D:\elsewhere\x.exe"}
    elsewhere = replace(LAYOUT, **other)
    reading = Reading(parts={"system": {"os": {"build": 20348}, "free_bytes": {"C:": 80 * 1024**3}}})
    found = preflight.find_problems(preflight.Run(GOOD.get, reading, lambda _role: True, elsewhere))
    told = rf"The machine has no fixed drive D: (it has C:), where winkube_{name} (D:\elsewhere\x.exe) would lie."
    assert told in found


@pytest.mark.parametrize(
    ("clock", "wrong"),
    [
        ("2026-11-23T08:56:00Z", False),
        ("2026-11-23T08:54:00Z", True),
        ("2026-11-23T20:00:00Z", False),
        ("2026-11-25T09:00:00Z", True),
    ],
)
def test_a_clock_with_which_no_certificate_is_valid_is_said(
    clock: str, wrong: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = FakeApi()
    dates = ["Mon, 23 Nov 2026 09:00:00 GMT"]
    cluster = Cluster(lambda: Connection("https://api", b"", api.send, dates=dates))
    monkeypatch.setattr(Cluster, "open", lambda _options: cluster)
    monkeypatch.setattr("time.time", lambda: TAKEN_AT)
    sentence = f"The node's clock says {clock}, the API server's 2026-11-23T09:00:00Z"
    assert (sentence in bare(clock)) == wrong
    assert bare(clock, full=True) == ""
    dates[:] = ["noon"]
    assert "clock" not in bare(clock)


def test_room_is_asked_of_a_machine_that_lacks_its_programs() -> None:
    assert "The volume C: has 1.5 GB free" in bare(free=3 * 1024**3 // 2)
    assert bare(free=preflight.ROOM_BYTES) == ""
    assert bare(free=1, full=True) == ""


class FakeApi:
    """An API server that allows nothing but what it is told."""

    def __init__(self, *allowed: tuple[str, str]) -> None:
        self.allowed = allowed
        self.asked: list[tuple[str, str]] = []

    def send(self, method: str, path: str, body: Any, content_type: str) -> tuple[int, bytes]:
        if path != "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews":
            status = {"kind": "Status", "apiVersion": "v1", "code": 403, "reason": "Forbidden", "message": "no"}
            return 403, json.dumps(status).encode()
        assert method == "POST"
        wanted = body["spec"]["resourceAttributes"]
        sub = wanted.get("subresource")
        self.asked.append((wanted["verb"], f"{wanted['resource']}/{sub}" if sub else wanted["resource"]))
        return 201, as_api(method, path, 201, {"status": {"allowed": self.asked[-1] in self.allowed}})


def test_rights_that_the_join_needs_are_asked_before_the_first_change(monkeypatch: pytest.MonkeyPatch) -> None:
    api = FakeApi(("get", "nodes"), ("list", "certificatesigningrequests"), ("create", "secrets"), ("list", "pods"))
    monkeypatch.setattr(Cluster, "open", lambda _options: Cluster(lambda: Connection("https://api", b"", api.send)))
    found = bare(cluster={"kubeconfig": "/srv/config"}, drain="true")
    assert "winkube_cluster.kubeconfig /srv/config: its user may not patch nodes (to set its taints); " in found
    assert "delete secrets in kube-system" in found and "create pods/eviction (to drain)" in found
    assert "create secrets" not in found

    api.asked.clear()
    assert bare(cluster={"kubeconfig": "/srv/config"}, full=True) == ""
    assert api.asked == []
    bare(cluster={"kubeconfig": "/srv/config"}, join="kubeconfig")
    assert not {what for _verb, what in api.asked} & {"secrets", "pods", "pods/eviction"}


def test_nothing_is_said_of_a_node_that_can_be_made() -> None:
    assert said() == ()


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"dns_service_ip": "10.97.300.1"}, "winkube_dns_service_ip: '10.97.300.1' is not an IP address."),
        ({"dns_service_ip": "10.200.0.10"}, "winkube_dns_service_ip: 10.200.0.10 does not lie in winkube_service_cidr"),
        ({"cluster_cidr": "10.96.0.0/16"}, "winkube_cluster_cidr 10.96.0.0/16 and winkube_service_cidr 10.96.0.0/12"),
        ({"cluster_cidr": "192.168.0.0/16"}, "the subnet of the node's own address"),
        ({"network_mode": "vxlan"}, "winkube_network_mode: 'vxlan' is not one of"),
        ({"interface_name": "LAN"}, "winkube_interface_name: there is no network adapter 'LAN'"),
        ({"containerd_version": "1.6.27"}, "1.6"),
        ({"cluster": {"kubeconfig": "/nowhere/config"}}, "there is no file /nowhere/config on the controller"),
        (
            {"cluster": {"kubeconfig": "~no-such-user/config"}},
            "there is no file ~no-such-user/config on the controller",
        ),
        ({"node_name": "Win_1"}, "winkube_node_name: 'Win_1' is not a Node's name"),
        ({"http_proxy": "proxy:3128"}, "winkube_http_proxy: 'proxy:3128' is not a proxy; give http://"),
        ({"node_https_proxy": "socks5://me:pw@proxy"}, "winkube_node_https_proxy: 'socks5://***@proxy' is not a proxy"),
        ({"flannel_checksum": ""}, "flanneld: the source https://example.com/flannel.exe has no checksum."),
        ({"kubelet_url": "ftp://example.com/kubelet.exe"}, "kubelet: the source 'ftp://example.com/kubelet.exe' has"),
    ],
)
def test_what_a_later_task_would_refuse_is_said_first(wrong: dict[str, Any], sentence: str) -> None:
    """Failed before: a wrong DNS address reached the kubelet's configuration before flannel's task refused it."""
    (problem,) = said(**wrong)
    assert sentence in problem


TWO = {"cluster_cidr": "10.244.0.0/16,fd00:10:244::/56", "service_cidr": "10.96.0.0/12,fd00:10:96::/112"}


@pytest.mark.parametrize(
    ("managed_by", "mode", "sets", "build", "why"),
    [
        ("service", "l2bridge", (), 20348, "which flannel does not support on Windows"),
        ("service", "overlay", (), 20348, "which overlay networks on Windows do not support"),
        ("cluster", "overlay", (), 20348, "which overlay networks on Windows do not support"),
        ("cluster", "l2bridge", ("calico-node-windows",), 20348, "which Calico does not support on Windows"),
        ("cluster", "l2bridge", ("kube-flannel-ds-windows",), 20348, "which flannel does not support on Windows"),
        ("cluster", "l2bridge", ("antrea-agent-windows",), 17763, "which Windows of build 17763 does not support"),
        ("cluster", "l2bridge", ("antrea-agent-windows",), 20348, ""),
    ],
)
def test_ipv4_and_ipv6_side_by_side_are_refused_first_where_they_cannot_be(
    managed_by: str, mode: str, sets: tuple[str, ...], build: int, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Cluster, "open", lambda _options: FakeSets(sets))
    given = GOOD | TWO | {"cni_managed_by": managed_by, "network_mode": mode}
    reading = Reading(parts={"system": {"os": {"build": build}}, "adapters": [ADAPTER]})
    found = preflight.find_problems(preflight.Run(given.get, reading, lambda role: role != "join", LAYOUT))
    wanted = [f"winkube_{name}: {text} has two families, {why}" for name, text in TWO.items()] if why else []
    assert [sentence[: len(start)] for sentence, start in zip(found, wanted, strict=True)] == wanted


class FakeSets:
    """A cluster that has these DaemonSets, and lets nobody see anything else."""

    server, ca_pem = "https://api", b""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    def items(self, _path: str) -> list[dict[str, Any]]:
        return [{"metadata": {"name": name}} for name in self.names]

    def get(self, _path: str) -> None:
        raise ClusterError("no", FORBIDDEN)

    def ask(self, _path: str, _body: Any) -> None:
        raise ClusterError("no", FORBIDDEN)


def test_all_of_it_is_said_at_once() -> None:
    found = said(dns_service_ip="1.2.3.4", kubelet_checksum="", flannel_checksum="", containerd_version="1.6.27")
    assert len(found) == 4


def test_what_takes_no_part_in_the_run_is_not_judged(tmp_path: Path) -> None:
    wrong = {"dns_service_ip": "1.2.3.4", "flannel_checksum": "", "cluster": {"kubeconfig": str(tmp_path / "none")}}
    assert said(*preflight.KNOWING, **wrong) == ()
    assert said(**wrong | {"cluster": {}}, cni_managed_by="cluster") == ()
    assert said(**wrong, kubernetes_version="") == ()
    assert said(flannel_checksum="", allow_unverified=["flanneld"]) == ()
