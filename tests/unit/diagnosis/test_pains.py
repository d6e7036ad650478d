"""What people wrote about on public issue trackers, as a broken node each; the healthy twins are in test_whole."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.table import report_of
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import file_key
from ansible_collections.winkube.node.plugins.plugin_utils.words.remedy import Action

from tests.unit.components.nodes import LAYOUT

from .nodes import (
    ADDRESS,
    CNI_CONF,
    CONFIG_2,
    POD_IP,
    SUBNET_ENV,
    Node,
    broken,
    conf,
    endpoint,
    fine,
    healthy,
    pod,
    service,
    slice_of,
    stuck,
)

Breaks = Callable[[Node], None]


def names_that_differ(node: Node) -> None:
    """microsoft/SDN#320, MicrosoftDocs/Virtualization-Documentation#1013."""
    exceptions = ("10.244.0.0/16", "10.96.0.0/12", "192.168.122.0/24")
    node.file(CNI_CONF, conf(*exceptions, name="cbr1"))


def no_lease(node: Node) -> None:
    """microsoft/SDN#371: subnet.env is never created."""
    node.file(SUBNET_ENV, None)


def network_gone_after_a_restart(node: Node) -> None:
    """kubernetes-sigs/sig-windows-tools#89: after a restart the network is not found."""
    node.hns("networks", lambda found: [])


def address_lost(node: Node) -> None:
    """kubernetes-sigs/sig-windows-tools#162: the address fell back to 169.254."""
    node.parts["adapters"][1]["ipv4"] = [{"address": "169.254.7.7", "prefix": 16}]


def image_that_does_not_exist(node: Node) -> None:
    """kubernetes-sigs/sig-windows-tools#343: documentation points to an image that is not there."""
    stuck(node, "ImagePullBackOff", "manifest unknown", "sigwindowstools/flannel:v0.28.9-hostprocess")


def flanneld_without_its_adapter(node: Node) -> None:
    """flannel-io/flannel#1391, #1423: after a restart it takes another adapter."""
    node.line("flanneld", lambda line: line.replace(f"--iface={ADDRESS} ", ""))


def no_source_vip(node: Node) -> None:
    """kubernetes/kubernetes#78338: source-vip flag not set."""
    node.line("kube-proxy", lambda line: line.replace(" --source-vip=10.244.3.2", ""))


def vip_of_a_pod(node: Node) -> None:
    """kubernetes/kubernetes#123014."""
    node.pods.append(pod("thief", "10.244.3.2"))
    node.hns("endpoints", lambda found: [*found, endpoint("10.244.3.2")])


def other_folders(node: Node) -> None:
    """microsoft/windows-container-networking#70: cni plugin not initialized."""
    node.file(LAYOUT.containerd_config, CONFIG_2.replace(r"C:\k\cni\config", r"C:\etc\cni\net.d"))


def stale_endpoint(node: Node) -> None:
    """microsoft/Windows-Containers#631: the pod is gone, its endpoint is not."""
    node.hns("endpoints", lambda found: [*found, endpoint("10.244.3.99")])


def duplicate_endpoint(node: Node) -> None:
    """Azure/AKS#5653."""
    node.hns("endpoints", lambda found: [*found, endpoint(POD_IP, ID="e-second")])


def rules_gone(node: Node) -> None:
    """kubernetes/kubernetes#110849: load balancers disappear."""
    node.hns("policylists", lambda found: [])


def one_rule_gone(node: Node) -> None:
    """kubernetes/kubernetes#139519."""
    node.hns("policylists", lambda found: found[:-1])


@pytest.mark.parametrize(
    ("breaks", "overlay", "check", "piece"),
    [
        (no_lease, False, "flannel.no-subnet-env", "flanneld has no lease"),
        (network_gone_after_a_restart, True, "hns.no-network", "network vxlan0: it is not there"),
        (network_gone_after_a_restart, False, "hns.no-network", "network cbr0: it is not there"),
        (address_lost, False, "host.address-lost", "169.254."),
        (image_that_does_not_exist, False, "pod.stuck", "ImagePullBackOff (manifest unknown)"),
        (flanneld_without_its_adapter, False, "flannel.no-iface", "it has no --iface"),
        (no_source_vip, True, "kube-proxy.source-vip", "it has no --source-vip"),
        (vip_of_a_pod, True, "kube-proxy.source-vip-taken", "is the address of pod default/thief"),
        (other_folders, False, "containerd.cni-folders", r"reads CNI configurations in C:\etc\cni\net.d"),
        (stale_endpoint, False, "hns.endpoint-without-pod", "10.244.3.99"),
        (duplicate_endpoint, True, "hns.endpoint-duplicate-address", POD_IP),
        (names_that_differ, False, "cni.network-name", "cbr1"),
        (rules_gone, True, "kube-proxy.no-rules", ""),
        (one_rule_gone, False, "kube-proxy.rule-missing", ""),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_each_is_found_by_its_check(breaks: Breaks, overlay: bool, check: str, piece: str) -> None:
    fine(healthy(overlay))
    node = healthy(overlay)
    breaks(node)
    broken(node, check, piece)


@pytest.mark.parametrize(("count", "dsr", "told"), [(64, False, False), (65, False, True), (70, True, False)])
def test_a_service_of_more_endpoints_than_a_rule_takes_without_dsr(count: int, dsr: bool, told: bool) -> None:
    """Before HNS refuses the rule: the healthy node has its rules still."""
    node = healthy()
    many = [f"10.244.9.{number}" for number in range(1, count + 1)]
    node.services.append(service("big", "default", "10.96.7.7"))
    node.slices.append(slice_of("big", "default", *many))
    if dsr:
        node.line("kube-proxy", lambda line: f"{line} --enable-dsr=true")
    found = node.find("kube-proxy.rule-too-many")
    assert bool(found) == told
    if told:
        assert f"Service default/big: it has {count} endpoints" in found[0].text
        assert "winkube_kube_proxy_dsr" in found[0].remedy.ours("win1")
        (cause,) = [each for each in report_of(node.looked()[1]).causes if each.finding.id == found[0].id]
        assert "kube-proxy.rule-missing" in {each.id for each in cause.consequences}, "the rule is not there, either"


def test_a_fault_is_told_once() -> None:
    """An edited lease gave four findings with four remedies."""
    node = healthy()
    lease = base64.b64decode(node.parts[file_key(SUBNET_ENV)]["content"]).decode()
    node.file(SUBNET_ENV, lease.replace("10.244.3.1", "10.244.9.1"))
    (cause,) = report_of(node.looked()[1]).causes
    assert (cause.finding.id, cause.finding.remedy.action) == ("flannel.subnet-env-stale", Action.CONVERGE)


def test_a_stale_remote_endpoint_is_seen() -> None:
    node = healthy()
    remote: dict[str, Any] = endpoint("10.244.0.77", Name="Ethernet", IsRemoteEndpoint=True, Namespace=None)
    node.hns("endpoints", lambda found: [*found, remote])
    broken(node, "hns.endpoint-remote-stale")
