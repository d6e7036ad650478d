"""A previously deleted node: how it is recognised, and which remains are removed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.join import join
from ansible_collections.winkube.node.plugins.plugin_utils.engine.answer import Answer
from ansible_collections.winkube.node.plugins.plugin_utils.engine.batch import Batch
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_key, system_query
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.repair import hns, rejoin

from tests.unit.components.nodes import LAYOUT, bare, file

from .repair_cuts import cut_everywhere
from .repair_machine import NEW, OLD, REQUEST, SUBNET_ENV, VIP, Machine, env, request, vip

pytestmark = pytest.mark.slow

OURS = hns.Ours(hns.list_own_names(""), "10.244.0.0/16")
CONF = r"C:\k\cni\config\cni.conf"
CERTIFICATE = join.certificate_key(LAYOUT)
SERVICES = ("kube-proxy", "kubelet", "flanneld")


def node(cidr: str = OLD) -> dict[str, Any]:
    return {"metadata": {"name": "win1"}, "spec": {"podCIDR": cidr}}


def reading(*, joined: bool = True, files: dict[str, bytes] | None = None) -> Reading:
    """A machine without HNS whose identity is there, and these files."""
    found = bare((system_query(), *rejoin.reads(LAYOUT), *join.reads(LAYOUT)))
    parts: dict[str, Any] = {hns.ALL: {"available": False}, "adapters": []}
    if joined:
        parts[file_key(LAYOUT.kubelet_kubeconfig)] = {"exists": True, "kind": "file"}
        parts[CERTIFICATE] = {"exists": True, "subject": "O=system:nodes, CN=system:node:win1"}
    return found.merge(parts | {file_key(path): file(content) for path, content in (files or {}).items()})


def past(found: Reading, there: dict[str, Any] | None, *, always: bool = False) -> rejoin.Past:
    situation = join.Situation(LAYOUT, "kubeadm", "win1", found, there, asked=True)
    return rejoin.past(situation, OURS, always=always)


@pytest.mark.row("JR-05")
def test_a_node_that_is_gone_from_the_api_while_its_identity_is_there() -> None:
    found = past(reading(), None)
    assert "the cluster has no Node win1: it was deleted" in found.why
    assert found.was_deleted


@pytest.mark.row("JR-05")
@pytest.mark.parametrize("path", [VIP, REQUEST, SUBNET_ENV])
def test_a_node_that_is_gone_while_only_a_file_of_its_range_is_there(path: str) -> None:
    found = past(reading(joined=False, files={path: env()}), None)
    assert found.why == f"the cluster has no Node win1, but {path} of an earlier one is there"
    assert [each for each, _said in found.stale] == [path]


@pytest.mark.row("JR-05")
def test_a_network_of_another_range_is_enough() -> None:
    """The files may have been removed by hand, as the documents say."""
    made = Machine()
    made.network("cbr0", OLD)
    found = made.read((*rejoin.reads(LAYOUT), *join.reads(LAYOUT)))
    parts = {file_key(LAYOUT.kubelet_kubeconfig): {"exists": True, "kind": "file"}}
    certificate = {"exists": True, "subject": "O=system:nodes, CN=system:node:win1"}
    seen = past(found.merge(parts | {CERTIFICATE: certificate}), node(NEW))
    assert (seen.why, seen.stale, seen.networks, seen.was_deleted) == ("", (), ("cbr0",), True)


@pytest.mark.row("JR-05")
def test_a_bare_machine_is_no_deleted_node() -> None:
    assert not past(reading(joined=False), None).was_deleted


@pytest.mark.row("JR-05", "FL-10", "TS-11")
@pytest.mark.parametrize(("path", "content"), [(VIP, vip()), (REQUEST, request()), (SUBNET_ENV, env())])
def test_a_file_of_another_range_than_the_podcidr(path: str, content: bytes) -> None:
    stale = past(reading(files={path: content}), node(NEW))
    assert not stale.why, "the Node is there, and its certificate: only the range has changed"
    assert stale.was_deleted
    assert [each for each, _said in stale.stale] == [path]
    assert OLD in stale.stale[0][1]
    assert not past(reading(files={path: content}), node(OLD)).was_deleted


@pytest.mark.row("FL-10", "TS-11")
def test_files_of_the_present_range_stay_on_every_run() -> None:
    """kube-proxy needs the VIP."""
    files = {VIP: vip(), REQUEST: request(), SUBNET_ENV: env()}
    assert not past(reading(files=files), node()).was_deleted
    assert past(reading(files=files), node(), always=True).why == "it is to join again (winkube_rejoin_always)"


@pytest.mark.row("FL-10")
def test_the_pods_network_in_subnet_env_is_not_its_range() -> None:
    """A node with the first range of all: FLANNEL_NETWORK begins with the same address."""
    assert past(reading(files={SUBNET_ENV: env(OLD)}), node("10.244.0.0/24")).stale
    assert not past(reading(files={SUBNET_ENV: env("10.244.0.0/24")}), node("10.244.0.0/24")).was_deleted


def test_a_node_that_gives_no_range_is_left_alone() -> None:
    assert not past(reading(files={VIP: vip()}), {"metadata": {"name": "win1"}, "spec": {}}).was_deleted


@pytest.mark.row("JR-04")
def test_the_roles_that_follow_are_in_the_order_of_a_first_join() -> None:
    found = Machine().read(rejoin.reads(LAYOUT))
    assert rejoin.roles(LAYOUT, found) == ("join", "kubelet", "flannel", "kube_proxy")
    assert rejoin.roles(LAYOUT, Machine(services=["containerd", "kubelet"]).read(rejoin.reads(LAYOUT))) == (
        "join",
        "kubelet",
    )


# -- on a simulated node -----------------------------------------------------------------------------------------------


def machine(**more: Any) -> Machine:
    return Machine(files={VIP: vip(), REQUEST: request(), SUBNET_ENV: env(), CONF: b"{}"}, **more)


def clean(made: Machine, there: dict[str, Any] | None = None, *, conf: bool = True) -> Answer | None:
    """The node's answer to the clean-up of a node that joins again; None if nothing is to be done."""
    found = made.read((*rejoin.reads(LAYOUT), *join.reads(LAYOUT)))
    seen = past(found, there, always=there is None)
    batch = made.plan("rejoin", [rejoin.Leftovers(LAYOUT, seen, OURS, conf=conf)], found).batch
    return None if batch is None else made.send(batch)


@pytest.mark.row("JR-04", "FL-10")
def test_services_stop_in_order_and_files_and_the_old_network_go() -> None:
    made = machine()
    made.network("External", "192.168.255.0/30")
    cbr0 = made.network("cbr0", OLD)
    made.endpoint(cbr0, "Ethernet", IsRemoteEndpoint=True, IPAddress="10.244.7.4")
    made.endpoint(cbr0, "cbr0_ep", IPAddress="10.244.3.2")
    found = made.read((*rejoin.reads(LAYOUT), *join.reads(LAYOUT)))
    plan = made.plan("rejoin", [rejoin.Leftovers(LAYOUT, past(found, None, always=True), OURS, conf=True)], found)
    assert plan.batch is not None
    (step,) = plan.steps
    assert (step.label, step.text) == (
        "rejoin",
        f"remove {VIP}, {REQUEST}, {SUBNET_ENV}, {CONF}, the HNS network cbr0, "
        "with kube-proxy, kubelet, flanneld stopped",
    )
    stops = [op.args["args"][1] for op in plan.batch.ops if op.op == "run" and op.args["args"][0] == "stop"]
    assert stops == list(SERVICES)
    waits = [op.args for op in plan.batch.ops if op.op == "wait" and op.args.get("state") == "stopped"]
    assert [(each["name"], each["timeout_s"]) for each in waits] == [(name, 120) for name in SERVICES]
    answer = made.send(plan.batch)
    assert answer.outcome == "done", answer
    assert [made.state(name) for name in SERVICES] == ["stopped"] * 3
    assert made.state("containerd") == "running"
    assert not any(made.there(path) for path in (VIP, REQUEST, SUBNET_ENV, CONF))
    assert made.networks() == ["External"]


@pytest.mark.row("JR-04")
def test_a_node_with_another_podcidr_loses_what_is_stale_and_a_second_run_does_nothing() -> None:
    made = machine()
    made.network("External", "192.168.255.0/30")
    made.network("cbr0", OLD)
    first = clean(made, node(NEW))
    assert first is not None and first.is_done
    assert made.networks() == ["External"]
    assert clean(made, node(NEW)) is None


@pytest.mark.row("JR-04")
def test_networks_of_others_stay() -> None:
    made = machine()
    made.network("External", "192.168.255.0/30")
    made.network("cbr0", "10.99.3.0/24")  # our name, but not the cluster's range
    made.network("theirs", OLD)  # our range, but not our name
    made.node.hns.create_network({"Name": "nat", "Type": "nat", "Subnets": []})
    answer = clean(made)
    assert answer is not None and answer.is_done
    assert made.networks() == ["External", "cbr0", "theirs", "nat"]


@pytest.mark.row("JR-04")
def test_a_network_that_a_pod_uses_is_refused_before_anything_is_done() -> None:
    made = machine()
    cbr0 = made.network("cbr0", OLD)
    made.pod(cbr0)
    with pytest.raises(
        Refused, match=r"cbr0 must be removed, but endpoint .* \(pod, .* on it is in use\. Empty the node"
    ):
        clean(made)
    assert made.state("kubelet") == "running"


@pytest.mark.row("JR-04")
def test_the_last_network_of_an_adapter_breaks_the_connection_and_the_addresses_come_back() -> None:
    made = machine()
    made.network("cbr0", OLD)
    before = made.addresses("vEthernet (Ethernet)")
    answer = clean(made)
    assert answer is not None and answer.is_done
    assert made.networks() == []
    assert made.addresses("Ethernet") == before != []


def test_a_service_of_others_that_depends_on_the_kubelet_is_refused() -> None:
    made = machine()
    made.write(r"C:\o\other.exe", made.node.drive.read(LAYOUT.kubelet_binary))
    made.node.services.create("other", r"C:\o\other.exe --run 1000000", start=2, depends_on=["kubelet"])
    made.node.run("C:\\Windows\\System32\\sc.exe", ["start", "other"])
    made.node.clock.advance(5)
    with pytest.raises(Refused, match=r"kubelet has to be stopped, but other depends on it and runs"):
        clean(made)


def test_what_fails_is_put_back() -> None:
    made = machine()
    cbr0 = made.network("cbr0", OLD)
    found = made.read((*rejoin.reads(LAYOUT), *join.reads(LAYOUT)))
    seen = past(found, None, always=True)
    batch = made.plan("rejoin", [rejoin.Leftovers(LAYOUT, seen, OURS)], found).batch
    assert batch is not None
    made.pod(cbr0)  # somebody was faster
    answer = made.send(replace(batch, pre=()))
    assert answer.outcome == "undone", answer
    assert all(made.there(path) for path in (VIP, REQUEST, SUBNET_ENV))
    assert [made.state(name) for name in SERVICES] == ["running"] * 3
    assert made.node.drive.read(VIP) == vip()


@pytest.mark.row("JR-04")
def test_cut_anywhere_the_clean_up_is_whole_or_not_there() -> None:
    """flanneld and kube-proxy remake what they made themselves, including the network."""

    def make() -> Machine:
        made = machine()
        made.network("External", "192.168.255.0/30")
        made.network("cbr0", OLD)
        return made

    def plan(made: Machine) -> Batch:
        found = made.read((*rejoin.reads(LAYOUT), *join.reads(LAYOUT)))
        seen = past(found, None, always=True)
        batch = made.plan("rejoin", [rejoin.Leftovers(LAYOUT, seen, OURS, conf=True)], found).batch
        assert batch is not None
        return batch

    count, wrong = cut_everywhere(make, plan, "External", every=3)
    assert wrong == []
    assert count >= 15
