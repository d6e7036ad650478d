"""What people wrote about on public issue trackers, as a broken node each; the healthy twins are in test_checks."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.finding import Action
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.table import report_of
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import file_key
from ansible_collections.winkube.node.plugins.plugin_utils.troubleshoot import table

from tests.unit.components.nodes import LAYOUT

from .scene import ADDRESS, CNI_CONF, CONFIG_2, POD_IP, SUBNET_ENV, Node, conf, endpoint, healthy, pod, stuck

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
        (no_lease, False, "flannel.lease", "flanneld has not launched correctly"),
        (network_gone_after_a_restart, True, "host.adapter", "There is no HNS network vxlan0"),
        (network_gone_after_a_restart, False, "flannel.waits", "There is no HNS network cbr0"),
        (address_lost, False, "host.adapter", "169.254."),
        (image_that_does_not_exist, False, "pod.stuck", "ImagePullBackOff (manifest unknown)"),
        (flanneld_without_its_adapter, False, "flannel.waits", "flanneld has no --iface"),
        (no_source_vip, True, "kube-proxy.source-vip", "it has no --source-vip"),
        (vip_of_a_pod, True, "kube-proxy.source-vip", "The pod default/thief has the source VIP"),
        (other_folders, False, "containerd.cni-folders", r"reads CNI configurations in C:\etc\cni\net.d"),
        (stale_endpoint, False, "hns.endpoints", "HNS endpoints of no pod: 10.244.3.99"),
        (duplicate_endpoint, True, "hns.endpoints", POD_IP),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_each_is_found_by_its_check(breaks: Breaks, overlay: bool, check: str, piece: str) -> None:
    assert healthy(overlay).answer(check).verdict == "ok"
    node = healthy(overlay)
    breaks(node)
    answer = node.answer(check)
    assert answer.verdict == "broken", answer
    assert piece in answer.why
    assert answer.remedy


@pytest.mark.parametrize(
    ("breaks", "overlay", "identity"),
    [
        (names_that_differ, False, "cni.network-name"),
        (rules_gone, True, "kube-proxy.no-rules"),
        (one_rule_gone, False, "kube-proxy.rule-missing"),
    ],
)
def test_what_the_table_of_checks_finds(breaks: Breaks, overlay: bool, identity: str) -> None:
    assert healthy(overlay).evidence().of("*") == []
    node = healthy(overlay)
    breaks(node)
    assert identity in [found.id for found in node.evidence().findings]


def test_a_fault_is_told_once() -> None:
    """An edited lease gave four findings with four remedies."""
    node = healthy()
    lease = base64.b64decode(node.parts[file_key(SUBNET_ENV)]["content"]).decode()
    node.file(SUBNET_ENV, lease.replace("10.244.3.1", "10.244.9.1"))
    evidence = node.evidence()
    more = table.as_findings(table.examine(evidence), evidence.findings)
    (cause,) = report_of((*evidence.findings, *more)).causes
    assert (cause.finding.id, cause.finding.remedy.action) == ("flannel.subnet-env-stale", Action.CONVERGE)


def test_a_stale_remote_endpoint_is_seen() -> None:
    node = healthy()
    remote: dict[str, Any] = endpoint("10.244.0.77", Name="Ethernet", IsRemoteEndpoint=True, Namespace=None)
    node.hns("endpoints", lambda found: [*found, remote])
    assert any("hns.endpoint-remote-stale" in line for line in node.answer("hns.endpoints").seen)


@pytest.mark.parametrize(
    ("message", "check"),
    [
        ("Waiting for the Network to be created", "flannel.waits"),
        ("open /run/flannel/subnet.env: no such file or directory", "flannel.lease"),
        ("unable to create proxier: source-vip flag not set", "kube-proxy.source-vip"),
        ("container runtime network not ready: cni plugin not initialized", "containerd.cni-folders"),
        (
            "hcs::CreateComputeSystem: The container operating system does not match the host operating system.",
            "pod.stuck",
        ),
        ("proxyconnect tcp: dial tcp: lookup proxy", "host.proxy"),
        ("something else", None),
    ],
)
def test_a_message_leads_to_its_check(message: str, check: str | None) -> None:
    assert [one.id for one in table.about(message)] == ([check] if check else [])
