"""What HNS really said, in public threads, as the model; and what it holds, counted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.node import Node
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.cluster_view import ClusterView
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.scene import scene_of
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.table import (
    HNS_CHECK,
    counts_of,
    findings_in,
    list_left_out,
)
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading
from ansible_collections.winkube.node.plugins.plugin_utils.network import parse
from ansible_collections.winkube.node.plugins.plugin_utils.network.model import Endpoint, Hns, Policy, Subnet

from tests.unit.components.nodes import LAYOUT
from tests.unit.network.random_nodes import RECORDED, as_v2, healthy, recorded


def endpoint(name: str) -> Endpoint:
    return parse.endpoint(recorded(name)[0])


def test_each_recording_names_its_source_and_can_be_read() -> None:
    read: dict[str, Callable[[Any], Any]] = {
        "networks": parse.network,
        "endpoints": parse.endpoint,
        "namespaces": parse.namespace,
        "policylists": parse.policy_list,
    }
    seen = set()
    for file in sorted(RECORDED.glob("*.json")):
        document = json.loads(file.read_text(encoding="utf-8"))
        assert document["source"].startswith("https://github.com/"), file
        seen.add(document["kind"])
        for each in document["answer"] if document["kind"] in read else ():
            assert read[document["kind"]](each).id == str(each.get("ID", "")).lower()
    assert seen >= set(read)


def test_a_pod_of_calico() -> None:
    found = endpoint("calico-4682-endpoint")
    assert found.addresses == ("10.1.18.67",)
    assert found.mac == "0E-2A-0A-01-12-43"
    assert found.encap_overhead == 50
    assert found.dns_suffixes == ("default.svc.cluster.local", "svc.cluster.local", "cluster.local")
    assert found.dns_servers == ("10.152.183.10",)
    assert found.policies == (Policy("OutBoundNAT", ("10.152.183.0/24", "10.1.0.0/16")),)
    assert not found.remote


def test_policies_of_the_old_form() -> None:
    document = {"ID": "1", "Policies": recorded("acn-1752-policies")}
    assert parse.endpoint(document).policies == (
        Policy("OutBoundNAT", ("10.96.0.0/12", "192.168.0.0/16")),
        Policy("ROUTE", prefix="10.96.0.0/12"),
        Policy("PA", provider_address="10.1.0.5"),
        Policy("ACL"),
    )


def test_an_endpoint_in_a_namespace() -> None:
    found = endpoint("windows-containers-563-endpoint")
    assert found.namespace == "2c094b9e-af3a-4dc1-97d8-821b68603d23"
    assert (found.network_name, found.state) == ("nat", 1)


def test_remote_endpoints() -> None:
    assert endpoint("acs-engine-1903-endpoint").remote
    found = [parse.endpoint(each) for each in recorded("windows-containers-631-endpoints")]
    assert len(found) == 8
    assert all(each.remote and each.name == "Ethernet" for each in found)


def test_networks() -> None:
    nat, external = (parse.network(each) for each in recorded("rke2-3925-networks"))
    assert (nat.type, nat.adapter) == ("nat", "")
    assert (external.name, external.type, external.adapter) == ("External", "overlay", "Ethernet 2")
    assert external.management_ip == "10.7.0.25"
    assert external.subnets == (Subnet("192.168.255.0/30", "192.168.255.1", 9999),)
    assert external.mac_range == "00-15-5D-EB-40-00"
    flannel = parse.network(recorded("flannel-1944-network")[0])
    assert (flannel.name, flannel.management_ip) == ("flannel.4096", "192.168.79.40")


def test_namespaces_and_policy_lists() -> None:
    pod, default = (parse.namespace(each) for each in recorded("calico-8465-namespaces"))
    assert (pod.default, default.default, default.compartment) == (False, True, 1)
    found = parse.policy_list(recorded("calico-8465-policylist")[0])
    assert found.endpoints == ("c55b2c86-bd06-400e-bca7-8fb7de11e635",)
    (rule,) = found.balancers
    assert (rule.protocol, rule.external, rule.internal) == ("TCP", 55680, 55680)
    assert (rule.source_vip, rule.dsr) == ("10.244.178.2", True)


def test_an_error_of_hns_is_a_sentence_with_its_code() -> None:
    answer = {"available": True, "networks": json.dumps(recorded("kubernetes-100962-error")), "endpoints": "[]"}
    found = parse.parse(answer)
    said = dict(found.errors)
    assert said["networks"] == (
        "HNS did not list its networks: An address provided is invalid or reserved. (0x803b002f)"
    )
    assert found.unasked == ("namespaces", "policylists")
    assert set(said) == {"networks"}
    assert not found.knows("namespaces")


@pytest.mark.parametrize("answer", ["{", '"text"', "3"])
def test_what_is_no_list_is_an_error(answer: str) -> None:
    found = parse.parse({"available": True, "networks": answer})
    assert not found.knows("networks")


def test_a_list_of_one_as_powershell_writes_it() -> None:
    one = json.dumps(recorded("calico-4682-endpoint")[0])
    assert len(parse.parse({"available": True, "endpoints": one}).endpoints) == 1


def both() -> Iterator[tuple[Hns, Hns]]:
    for seed in range(40):
        node = healthy(Random(seed))
        made = []
        for shown in (node.hns, as_v2(node.hns)):
            answer = {kind: json.dumps({"Success": True, "Output": found}) for kind, found in shown.items()}
            made.append(parse.parse({"available": True, **answer}))
        yield made[0], made[1]


def test_both_apis_say_the_same() -> None:
    """Except for what only one of them has: states, names of networks, ranges of MAC addresses, old policies."""
    for v1, v2 in both():
        assert [(e.id, e.addresses, e.remote, e.namespace, e.network, e.dns_suffixes) for e in v1.endpoints] == [
            (e.id, e.addresses, e.remote, e.namespace, e.network, e.dns_suffixes) for e in v2.endpoints
        ]
        assert [(n.id, n.name, n.type, n.adapter, n.management_ip, n.subnets) for n in v1.networks] == [
            (n.id, n.name, n.type, n.adapter, n.management_ip, n.subnets) for n in v2.networks
        ]
        assert [(p.endpoints, p.balancers) for p in v1.policy_lists] == [
            (p.endpoints, p.balancers) for p in v2.policy_lists
        ]
        assert [(n.id, n.default) for n in v1.namespaces] == [(n.id, n.default) for n in v2.namespaces]


@pytest.mark.row("NW-05")
def test_what_hns_manages_is_counted_by_type() -> None:
    answer = {
        "available": True,
        "networks": json.dumps(recorded("rke2-3925-networks")),
        "endpoints": json.dumps(recorded("windows-containers-631-endpoints") + recorded("calico-4682-endpoint")),
        "namespaces": json.dumps(recorded("calico-8465-namespaces")),
        "policylists": json.dumps(recorded("calico-8465-policylist")),
    }
    assert counts_of(parse.parse(answer)) == {
        "networks": 2,
        "networks_nat": 1,
        "networks_overlay": 1,
        "endpoints": 9,
        "endpoints_local": 1,
        "endpoints_remote": 8,
        "namespaces": 2,
        "policy_lists": 1,
        "policies_elb": 1,
        "errors": 0,
        "warnings": 0,
    }


def test_a_dump_alone_is_compared_with_itself() -> None:
    """Without adapters, services and files only HNS' own content is checked."""
    twice = recorded("calico-4682-endpoint") * 2
    twice[1] = twice[1] | {"ID": "2"}
    answer = {
        "available": True,
        "networks": "[]",
        "namespaces": "[]",
        "policylists": "[]",
        "endpoints": json.dumps(twice),
    }
    reading, expected = Reading(parts={"hns": answer}), Node.unknown(LAYOUT)
    found = findings_in(scene_of(reading, expected), HNS_CHECK)
    assert [each.id for each in found] == ["hns.endpoint-duplicate-address", *2 * ["hns.endpoint-without-namespace"]]
    assert list_left_out(scene_of(reading, expected))
    assert not list_left_out(scene_of(reading, expected, ClusterView()))
