"""A hundred healthy nodes without a finding, and a hundred broken ones, each found by the right id."""

from __future__ import annotations

from random import Random

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.check import Needs
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.table import CHECKS
from ansible_collections.winkube.node.plugins.plugin_utils.words.cause import Area
from ansible_collections.winkube.node.plugins.plugin_utils.words.causes_cni import RULES

from tests.unit.network.random_faults import FAULTS, Fault
from tests.unit.network.random_nodes import Node, healthy
from tests.unit.network.reading import find

pytestmark = pytest.mark.slow

SEED = 20261121
OWN_TESTS = {
    "hns.ports-exhausted",
    "host.mac-spoofing",
    "host.adapter-wireless",
    "host.bad-revision",
    "cni.unreadable",
    "cni.pods-on-nat",
    "hns.endpoint-policy-unfilled",
}


@pytest.mark.exhaustive(but_one_in=3)
@pytest.mark.parametrize("number", range(100))
def test_a_healthy_node_has_no_finding(number: int) -> None:
    node = healthy(Random(SEED + number))
    assert [each.text for each in find(node)] == []
    assert find(node, cluster=False) == ()


def broken(number: int) -> tuple[Node, Fault]:
    """A broken node and its fault: each fault in turn, then again on other nodes."""
    random = Random(SEED + number)
    fault = FAULTS[number % len(FAULTS)]
    while True:
        node = healthy(random)
        if fault.may(node):
            fault.change(node, random)
            return node, fault


ONCE = len(FAULTS) + 12
"""Each fault, and so many on another node: two of those take ways that no other test takes."""
AGAIN = [pytest.param(number, marks=pytest.mark.exhaustive) for number in range(ONCE, 2 * max(len(FAULTS), 50))]


@pytest.mark.row("NW-05", "HP-10", "TS-15", "TS-22")
@pytest.mark.parametrize("number", [*range(ONCE), *AGAIN])
def test_each_fault_is_found_by_the_right_id(number: int) -> None:
    node, fault = broken(number)
    found = {each.id for each in find(node)}
    assert fault.id in found, (fault.change.__name__, found)
    assert found <= {fault.id, *fault.also}, fault.change.__name__
    if not fault.needs_cluster:
        assert fault.id in {each.id for each in find(node, cluster=False)}


def test_every_check_has_a_fault() -> None:
    looked = [each for each in CHECKS.values() if each.needs != Needs.TRIED]
    network = {each.id for each in looked if each.cause.area == Area.NETWORK}
    assert network - {each.id for each in FAULTS} - set(RULES) == OWN_TESTS - set(RULES)


@pytest.mark.row("NW-05")
@pytest.mark.parametrize("kind", ["networks", "endpoints", "namespaces", "policylists"])
def test_what_hns_did_not_list_is_said_and_not_taken_for_missing(kind: str) -> None:
    node = healthy(Random(SEED))
    node.errors[kind] = {"error": f"HNS did not list its {kind}: it gave no answer within 10000 ms"}
    assert {each.id for each in find(node)} == {"hns.unreadable"}


@pytest.mark.row("TS-15")
@pytest.mark.parametrize("number", range(5))
def test_an_adapter_that_is_not_there_names_those_that_are(number: int) -> None:
    node = healthy(Random(SEED + number))
    node.expect["interface_name"] = "Local Area Connection"
    found = next(each for each in find(node) if each.id == "host.no-adapter")
    assert found.seen == f"it is not there; there are: {node.adapter}"
    assert found.remedy.plain == f"Name the one that has the host's address: {node.adapter}."


PAINS: dict[int, tuple[str, ...]] = {
    4: ("flannel.net-conf-vxlan", "flannel.net-conf-name", "hns.network-pod-cidr", "hns.no-management-address"),
    5: ("hns.no-network",),
    7: ("flannel.bridge-endpoint",),
    10: ("kube-proxy.source-vip", "kube-proxy.source-vip-taken", "kube-proxy.rule-source-vip"),
    20: ("cni.not-first", "cni.plugin-missing"),
    21: (
        "hns.endpoint-duplicate-address",
        "hns.endpoint-without-namespace",
        "hns.endpoint-remote-stale",
        "kube-proxy.rule-backends",
    ),
    22: ("kube-proxy.no-rules", "kube-proxy.rule-missing", "kube-proxy.rule-twice", "hns.restarted"),
}
"""What people on the public trackers suffer most from, by the number in the project's survey: its findings."""


@pytest.mark.parametrize(("pain", "identity"), [(pain, each) for pain, ids in PAINS.items() for each in ids])
def test_each_pain_is_found_and_its_healthy_twin_is_not(pain: int, identity: str) -> None:
    random = Random(SEED + pain)
    fault = next(each for each in FAULTS if each.id == identity)
    node = healthy(random)
    while not fault.may(node):
        node = healthy(random)
    assert find(node) == ()
    fault.change(node, random)
    assert identity in {each.id for each in find(node)}
