"""After the join, against a cluster in memory: podCIDR, labels, taints, serving certificates."""

from __future__ import annotations

import base64
import ipaddress
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.components.join import after_join, material, node_object
from ansible_collections.winkube.node.plugins.plugin_utils.components.join.after_join import Joined, look_after
from ansible_collections.winkube.node.plugins.plugin_utils.components.join.options import JoinOptions
from ansible_collections.winkube.node.plugins.plugin_utils.engine.clock import Clock
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from cryptography import x509

from tests.unit.cluster.fake import Fake, certificate_request, subject

from .nodes import LAYOUT
from .test_join import fresh

OPTIONS = JoinOptions(node_name="win1", version="1.37.1", taints=("os=windows:NoSchedule",), node_timeout=60)
JOINED = Joined(OPTIONS, architecture="amd64", build=20348, just_now=True)
LABELS = {
    "kubernetes.io/os": "windows",
    "kubernetes.io/arch": "amd64",
    "node.kubernetes.io/windows-build": "10.0.20348",
}
TAINT = {"key": "os", "value": "windows", "effect": "NoSchedule"}


class Time:
    """A clock that advances when somebody sleeps; each second it may trigger something."""

    def __init__(self, each: Callable[[float], None] = lambda now: None) -> None:
        self.passed = 0.0
        self.each = each
        self.clock = Clock(now=lambda: self.passed, sleep=self._sleep)

    def _sleep(self, seconds: float) -> None:
        self.passed += seconds
        self.each(self.passed)


def cluster_with_node(**spec: Any) -> tuple[Fake, dict[str, Any]]:
    fake = Fake()
    node = fake.add_node("win1", **LABELS)
    node["spec"] = {"podCIDR": "10.244.3.0/24", "taints": [TAINT], **spec}
    node["status"]["addresses"] = [
        {"type": "InternalIP", "address": "10.0.0.21"},
        {"type": "Hostname", "address": "win1"},
    ]
    return fake, node


@pytest.mark.row("JR-07", "JR-08")
def test_a_node_that_is_as_it_should_be_is_only_read() -> None:
    fake, node = cluster_with_node()
    report = look_after(fake.cluster, replace(JOINED, just_now=False), Time().clock)
    assert (report.steps, report.warnings, report.node) == ((), (), node)
    assert fake.writes == []


def test_node_and_pod_cidr_are_waited_for() -> None:
    fake = Fake()

    def each(now: float) -> None:
        if now == 5:
            fake.add_node("win1", **LABELS)["spec"] = {"taints": [TAINT]}
        if now == 20:
            fake.objects["/api/v1/nodes/win1"]["spec"]["podCIDR"] = "10.244.3.0/24"

    time = Time(each)
    report = look_after(fake.cluster, JOINED, time.clock)
    assert node_object.pod_cidr(report.node) == "10.244.3.0/24"
    assert time.passed == 20


def test_a_node_or_a_pod_cidr_that_never_comes_is_said() -> None:
    with pytest.raises(ClusterError, match="within 60 s the cluster got no Node win1"):
        look_after(Fake().cluster, JOINED, Time().clock)
    fake, _ = cluster_with_node(podCIDR="")
    with pytest.raises(ClusterError, match=r"within 60 s it got no podCIDR.*--allocate-node-cidrs"):
        look_after(fake.cluster, JOINED, Time().clock)
    assert (
        look_after(fake.cluster, replace(JOINED, options=replace(OPTIONS, wait_for_pod_cidr=False)), Time().clock).steps
        == ()
    )


@pytest.mark.row("JR-07")
@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("kubernetes.io/os", "linux", "the label kubernetes.io/os is linux, not windows"),
        ("kubernetes.io/arch", "arm64", "the label kubernetes.io/arch is arm64, not amd64"),
        ("node.kubernetes.io/windows-build", "10.0.17763", "is 10.0.17763, not 10.0.20348"),
        ("node.kubernetes.io/windows-build", "", "windows-build is missing, not 10.0.20348"),
    ],
)
def test_labels_that_are_not_this_machines_are_said(name: str, value: str, said: str) -> None:
    fake, node = cluster_with_node()
    node["metadata"]["labels"][name] = value
    with pytest.raises(ClusterError, match=said):
        look_after(fake.cluster, JOINED, Time().clock)


@pytest.mark.row("JR-08")
def test_a_missing_taint_is_patched_beside_the_others() -> None:
    other = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    fake, node = cluster_with_node(taints=[other])
    report = look_after(fake.cluster, JOINED, Time().clock)
    assert report.steps == ("taint the Node win1 with os=windows:NoSchedule",)
    assert fake.writes == [
        ("PATCH", "/api/v1/nodes/win1", {"metadata": {"resourceVersion": "7"}, "spec": {"taints": [other, TAINT]}})
    ]
    assert node["spec"]["taints"] == [other, TAINT]
    assert look_after(fake.cluster, JOINED, Time().clock).steps == ()


@pytest.mark.row("JR-08")
@pytest.mark.parametrize("other", [{"effect": "NoExecute"}, {"value": "linux"}, {"key": "os2"}])
def test_a_taint_that_is_another_does_not_count(other: dict[str, str]) -> None:
    fake, node = cluster_with_node(taints=[TAINT | other])
    assert look_after(fake.cluster, JOINED, Time().clock).steps
    assert node["spec"]["taints"] == [TAINT | other, TAINT]


@pytest.mark.row("JR-08")
def test_taints_that_change_meanwhile_are_not_lost() -> None:
    fake, node = cluster_with_node(taints=[])
    fake.refused["PATCH", "/api/v1/nodes/win1"] = 409
    assert look_after(fake.cluster, JOINED, Time().clock).steps
    assert node["spec"]["taints"] == [TAINT]
    assert len(fake.writes) == 2


def add_request(fake: Fake, address: str) -> None:
    pem = certificate_request(
        subject("system:node:win1", "system:nodes"), x509.DNSName("win1"), x509.IPAddress(ipaddress.ip_address(address))
    )
    fake.objects[f"{after_join.REQUESTS}/csr-1"] = {
        "metadata": {"name": "csr-1"},
        "spec": {
            "signerName": after_join.SIGNER,
            "username": "system:node:win1",
            "groups": ["system:nodes", "system:authenticated"],
            "usages": ["digital signature", "server auth"],
            "request": base64.b64encode(pem).decode(),
        },
    }


@pytest.mark.row("JR-01")
def test_a_serving_certificate_of_this_node_is_approved_once() -> None:
    fake, _ = cluster_with_node()
    add_request(fake, "10.0.0.21")
    report = look_after(fake.cluster, JOINED, Time().clock)
    assert report.steps == ("approve the serving certificate of win1 (csr-1)",)
    assert fake.objects[f"{after_join.REQUESTS}/csr-1"]["status"]["conditions"][0]["type"] == "Approved"
    assert look_after(fake.cluster, JOINED, Time().clock).steps == ()


def test_a_serving_certificate_is_left_to_others_where_it_is_not_asked_for() -> None:
    fake, _ = cluster_with_node()
    add_request(fake, "10.0.0.21")
    left = replace(JOINED, options=replace(OPTIONS, approve_serving=False))
    report = look_after(fake.cluster, left, Time().clock)
    assert (report.steps, report.warnings, fake.writes) == ((), (), [])


@pytest.mark.row("JR-01")
def test_one_for_another_address_is_not() -> None:
    fake, _ = cluster_with_node()
    add_request(fake, "10.0.0.10")
    report = look_after(fake.cluster, JOINED, Time().clock)
    assert report.steps == ()
    assert "csr-1 of win1 was not approved: 10.0.0.10 is not an address of the node" in report.warnings[0]
    assert fake.writes == []


def test_a_request_is_waited_for_only_where_the_kubelet_makes_one() -> None:
    fake, _ = cluster_with_node()
    time = Time(lambda now: add_request(fake, "10.0.0.21") if now == 10 else None)
    assert look_after(fake.cluster, JOINED, time.clock).steps == ()
    assert time.passed == 0
    assert look_after(fake.cluster, replace(JOINED, serving_csr=True), time.clock).steps
    assert time.passed == 10


@pytest.mark.parametrize(("served", "check", "waited"), [(False, False, 10), (True, False, 0), (False, True, 0)])
def test_a_kubelet_that_begins_to_ask_for_one_is_waited_for(served: bool, check: bool, waited: int) -> None:
    """A node that had joined before, and whose kubelet was told only now to ask."""
    fake, _ = cluster_with_node()
    time = Time(lambda now: add_request(fake, "10.0.0.21") if now == 10 else None)
    joined = replace(JOINED, serving_csr=True, served=served, just_now=False)
    assert bool(look_after(fake.cluster, joined, time.clock, check=check).steps) == bool(waited)
    assert time.passed == waited


@pytest.mark.row("HP-01")
def test_a_join_without_a_linux_node_is_refused_before_anything_is_done() -> None:
    fake = Fake()
    fake.add_node("win2", **LABELS)
    options = JoinOptions(node_name="win1", version="1.37.1")
    with pytest.raises(Refused, match="has no Linux node that is Ready"):
        material.check_possible(fake.cluster, options, LAYOUT, fresh())
    fake.add_node("cp1", **{"kubernetes.io/os": "linux"})
    material.check_possible(fake.cluster, options, LAYOUT, fresh())


@pytest.mark.row("HP-01")
def test_a_linux_node_has_to_be_ready() -> None:
    fake = Fake()
    windows = fake.add_node("win1", **LABELS)
    linux = fake.add_node("cp1", **{"kubernetes.io/os": "linux"})
    assert node_object.has_ready_linux([windows, linux])
    assert not node_object.has_ready_linux([windows])
    linux["status"]["conditions"][0]["status"] = "Unknown"
    assert not node_object.has_ready_linux([windows, linux])


def test_ready_is_a_condition() -> None:
    assert node_object.is_ready({"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    assert not node_object.is_ready({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}})
    assert not node_object.is_ready({})
