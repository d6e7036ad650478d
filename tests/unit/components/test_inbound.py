"""Rules of the Windows firewall: who may connect, which existing rules are enough, which are made, and for which
address."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.client import Cluster
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.connection import Connection
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.records import SLICES_OF_API
from ansible_collections.winkube.node.plugins.plugin_utils.components import inbound
from ansible_collections.winkube.node.plugins.plugin_utils.components.networks import Adapter, Management
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.scene import scene_of
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.table import VERIFY, diagnose
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import make_plan
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.firewall_rule import FirewallRule

from tests.unit.cluster.fake import as_api, without_limit

from .nodes import lines, wanted_node

PODS = "10.244.0.0/16"
OWN = Management("192.168.122.231", 24, Adapter("Ethernet", True, False, 1500, (("192.168.122.231", 24),), (), ()))
SOURCES = inbound.scope((), OWN, PODS, ("192.168.122.10",))
OURS = (
    "v2.31|Action=Allow|Active=TRUE|Dir=In|Protocol=6|LPort=10250|RA4=10.244.0.0/255.255.0.0|"
    "RA4=192.168.122.0/255.255.255.0|Name=winkube-kubelet|"
)
SIG_WINDOWS = "v2.31|Action=Allow|Active=TRUE|Dir=In|Protocol=6|LPort=10250|Name=kubelet|"
ADD = (
    "run netsh.exe advfirewall firewall add rule name=winkube-kubelet dir=in action=allow protocol=TCP "
    "localport=10250 remoteip=10.244.0.0/16,192.168.122.0/24"
)
DELETE = "run netsh.exe advfirewall firewall delete rule name=winkube-kubelet"


def node(rule: FirewallRule, *texts: str) -> Reading:
    (query,) = rule.reads()
    values = {f"{{{n}}}": {"type": "string", "value": text} for n, text in enumerate(texts)}
    system = {"machine": "m", "boot_id": "b", "elevated": True, "os": {"build": 20348}}
    return Reading().merge({"system": system, query.key: {"exists": True, "values": values, "keys": []}})


def ops(rule: FirewallRule, *texts: str) -> list[str]:
    batch = make_plan("kubelet", (rule,), node(rule, *texts)).batch
    return lines(batch.ops) if batch else []


@pytest.mark.row("NW-15")
def test_without_a_rule_one_is_made_and_the_undo_takes_it_away() -> None:
    rule = inbound.kubelet(SOURCES)
    assert ops(rule) == [ADD]
    batch = make_plan("kubelet", (rule,), node(rule)).batch
    assert batch is not None
    assert lines(batch.ops[0].undo) == [DELETE]
    assert ops(rule, OURS) == []
    assert ops(inbound.vxlan(SOURCES)) == [
        "run netsh.exe advfirewall firewall add rule name=winkube-vxlan dir=in action=allow protocol=UDP "
        "localport=4789 remoteip=10.244.0.0/16,192.168.122.0/24"
    ]
    assert ops(inbound.kubelet()) == [ADD.rpartition("=")[0] + "=any"]


@pytest.mark.row("NW-15")
@pytest.mark.parametrize(
    "other",
    [
        SIG_WINDOWS,
        SIG_WINDOWS.replace("LPort=10250", "LPort=10250|LPort=10255"),
        SIG_WINDOWS.replace("|Name", "|RA4=10.0.0.0/255.0.0.0|RA4=192.168.0.0/255.255.0.0|Name"),
    ],
)
def test_a_rule_of_somebody_elses_that_lets_the_same_in_is_adopted(other: str) -> None:
    assert ops(inbound.kubelet(SOURCES), other) == []


@pytest.mark.parametrize(
    "other",
    [
        SIG_WINDOWS.replace("Active=TRUE", "Active=FALSE"),
        SIG_WINDOWS.replace("Allow", "Block"),
        SIG_WINDOWS.replace("Dir=In", "Dir=Out"),
        SIG_WINDOWS.replace("Protocol=6", "Protocol=17"),
        SIG_WINDOWS.replace("10250", "10255"),
        SIG_WINDOWS.replace("|Name", "|Profile=Domain|Name"),
        SIG_WINDOWS.replace("|Name", r"|App=C:\\other.exe|Name"),
        SIG_WINDOWS.replace("|Name", "|RA4=LocalSubnet|Name"),
        SIG_WINDOWS.replace("|Name", "|RA4=10.244.0.0/255.255.0.0|Name"),
    ],
)
def test_a_rule_that_lets_less_in_is_not_enough(other: str) -> None:
    assert ops(inbound.kubelet(SOURCES), other) == [ADD]


def test_a_rule_for_some_is_not_enough_where_everybody_shall_come_in() -> None:
    other = SIG_WINDOWS.replace("|Name", "|RA4=10.0.0.0/255.0.0.0|Name")
    assert len(ops(inbound.kubelet(), other)) == 1


def test_our_own_rule_is_made_anew_where_it_differs_and_put_back_by_the_undo() -> None:
    old = OURS.replace("192.168.122.0", "192.168.7.0")
    rule = inbound.kubelet(SOURCES)
    assert ops(rule, old) == [DELETE, ADD]
    batch = make_plan("kubelet", (rule,), node(rule, old)).batch
    assert batch is not None
    assert lines(batch.ops[0].undo) == [DELETE, ADD.replace("192.168.122.0", "192.168.7.0")]


def test_a_rule_that_is_not_wanted_goes_and_other_peoples_stay() -> None:
    rule = FirewallRule("winkube-kubelet", wanted=False)
    assert ops(rule, OURS) == [DELETE]
    assert ops(rule, SIG_WINDOWS) == []


HEALTH = (
    "run netsh.exe advfirewall firewall add rule name=winkube-kube-proxy dir=in action=allow protocol=TCP "
    "localport=10256,30000-32767 remoteip={}"
)


def test_load_balancers_ask_from_wherever_they_are() -> None:
    assert ops(inbound.health_checks(port="10256")) == [HEALTH.format("any")]
    kept = "v2.31|Action=Allow|Active=TRUE|Dir=In|Protocol=6|LPort=10256|LPort2_10=30000-32767|Name=winkube-kube-proxy|"
    assert ops(inbound.health_checks(port="10256"), kept) == []
    narrowed = inbound.health_checks(("10.9.0.0/16",), "10256")
    assert ops(narrowed)[-1:] == [HEALTH.format("10.9.0.0/16")]
    gone = "run netsh.exe advfirewall firewall delete rule name=winkube-kube-proxy"
    assert ops(narrowed, kept) == [gone, HEALTH.format("10.9.0.0/16")]
    assert ops(inbound.health_checks(()), kept) == [gone]
    with pytest.raises(Refused, match="winkube_health_check_sources: 'lb' is neither"):
        inbound.health_checks(("lb",))
    with pytest.raises(Refused, match="winkube_node_port_range: '30000' is not a range of ports such as 30000-32767"):
        inbound.health_checks(port="10256", node_ports="30000")


@pytest.mark.parametrize(
    ("given", "known", "found"),
    [
        ((), ("192.168.122.10", "192.168.122.231"), [PODS, "192.168.122.0/24"]),
        ((), ("192.168.122.10", "10.9.0.1"), []),
        ((), None, []),
        (("any",), ("192.168.122.10",), []),
        (("10.0.0.1", "10.9.0.0/16"), ("192.168.122.10",), ["10.0.0.1/32", "10.9.0.0/16"]),
    ],
)
def test_who_may_come_in(given: tuple[str, ...], known: tuple[str, ...] | None, found: list[str]) -> None:
    assert [str(each) for each in inbound.scope(given, OWN, PODS, known)] == found


def test_a_source_that_is_no_network_is_refused() -> None:
    with pytest.raises(Refused, match="winkube_firewall_sources: 'jump' is neither an IP address nor a network"):
        inbound.scope(("jump",), OWN, PODS, None)
    with pytest.raises(Refused, match="The cluster says that a node has the address 'win1', which is not an address"):
        inbound.scope((), OWN, PODS, ("win1",))


def cluster(status: int = 200) -> Cluster:
    answers: dict[str, Any] = {
        "/api/v1/nodes": '{"items": [{"status": {"addresses": [{"type": "Hostname", "address": "a"}, '
        '{"type": "InternalIP", "address": "10.0.0.1"}]}}]}',
        SLICES_OF_API: '{"items": [{"metadata": {"labels": {"kubernetes.io/service-name": "kubernetes"}}, '
        '"endpoints": [{"addresses": ["10.0.0.9"]}]}, {"metadata": {"labels": {}}, '
        '"endpoints": [{"addresses": ["10.244.1.7"]}]}]}',
    }

    def send(method: str, path: str, body: object, content_type: str) -> tuple[int, bytes]:
        return status, as_api(method, path, status, json.loads(answers[without_limit(path)]))

    return Cluster(lambda: Connection("https://c", b"", send))


def test_the_clusters_own_addresses() -> None:
    assert inbound.addresses(cluster()) == ("10.0.0.1", "10.0.0.9")
    assert inbound.addresses(cluster(403)) is None


@pytest.mark.row("KU-33")
def test_verify_compares_the_nodes_address() -> None:
    adapters = [{"name": "Ethernet", "up": True, "ipv4": [{"address": "192.168.122.231", "prefix": 24}]}]
    reading = Reading().merge({"adapters": adapters})
    expected = wanted_node()
    status = {"addresses": [{"type": "InternalIP", "address": "10.244.1.2"}]}

    def said(known: dict[str, Any]) -> list[str]:
        scene = scene_of(reading, expected, whole=True, node={"status": known}, asked=True)
        return [found.text for found in diagnose(scene, VERIFY).findings if found.id == "node.address"]

    assert said(status) == ["Node win1: its InternalIP is 10.244.1.2; wanted 192.168.122.231."]
    assert said({"addresses": [{"type": "InternalIP", "address": "192.168.122.231"}]}) == []
