"""Remedies for a stuck network: chosen by the fault, in the documentation's order, and never more than allowed."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine.batch import Batch
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.network.parse import parse
from ansible_collections.winkube.node.plugins.plugin_utils.repair import check_options, hns, network
from ansible_collections.winkube.node.plugins.plugin_utils.repair.network import NodeNetwork, Remedy
from ansible_collections.winkube.node.plugins.plugin_utils.repair.options import RepairOptions

from tests.lab.machine.hns import Object
from tests.unit.components.nodes import LAYOUT
from tests.unit.told import told

from .repair_cuts import cut_everywhere
from .repair_machine import NEW, OLD, SUBNET_ENV, Machine, env

pytestmark = pytest.mark.slow

OURS = hns.Ours(hns.list_own_names(""), "10.244.0.0/16")


def wanted_network(**options: Any) -> NodeNetwork:
    """What win_k8s_repair wants by these options."""
    given = {"action": "network", "node_name": "win1", "network_timeout": 60, **options}
    return NodeNetwork(told(RepairOptions, "win_k8s_repair", **given), LAYOUT, OURS, OLD)


WANTED = wanted_network()
ARGUMENTS = "--kubeconfig-file=C:\\flannel\\flanneld.kubeconfig --iface=10.0.2.15 --ip-masq=1 --kube-subnet-mgr=1"
KEY = "HKLM\\SYSTEM\\CurrentControlSet\\Services\\flanneld"


def nodes(**ranges: str) -> list[dict[str, Any]]:
    return [{"metadata": {"name": name}, "spec": {"podCIDR": cidr}} for name, cidr in ranges.items()]


def machine(*, lease: bytes | None = None, named: bool = True) -> Machine:
    """A node whose flanneld has the documents' arguments; its network is made by the tests."""
    made = Machine(files={SUBNET_ENV: lease} if lease else {})
    if named:
        made.node.registry.set(KEY, "Environment", "multi_string", ["NODE_NAME=win1"])
    line = f'"{LAYOUT.flanneld_binary}" --run 1000000 {ARGUMENTS}'
    made.node.registry.set(KEY, "ImagePath", "expand_string", line)
    return made


def read(made: Machine) -> Reading:
    return made.read(network.reads(LAYOUT))


def come_up(made: Machine, after_s: float) -> None:
    """After so many seconds flanneld makes its network and writes its lease."""

    def now() -> None:
        part: Object = {"AddressPrefix": OLD, "GatewayAddress": "10.244.3.1"}
        made.node.hns.create_network(
            {"Name": "cbr0", "Type": "L2Bridge", "NetworkAdapterName": "Ethernet", "Subnets": [part]}
        )
        made.write(SUBNET_ENV, env())

    made.node.clock.call_later(after_s, now)


# -- a stuck flanneld --------------------------------------------------------------------------------------------------


@pytest.mark.row("FL-11", "TS-12")
@pytest.mark.parametrize(
    ("comes_at", "tries", "made_times", "works"), [(3, 3, 3, True), (3, 2, 2, False), (1, 3, 1, True)]
)
def test_flanneld_is_launched_again_until_its_network_is_there_at_most_so_often(
    comes_at: int, tries: int, made_times: int, works: bool
) -> None:
    made = machine()
    made.network("External", "192.168.255.0/30")
    sent: list[Remedy] = []

    def send(remedy: Remedy) -> str:
        sent.append(remedy)
        if len(sent) == comes_at:  # absent, absent, present
            come_up(made, 10)
        answer = made.send(remedy.batch)
        return "" if answer.outcome == "done" else answer.error.message

    launches = network.launch_until_there(WANTED, tries, read(made), send, lambda: read(made))
    assert len(launches) == len(sent) == made_times
    assert bool(launches[-1].error) is not works
    assert all("cbr0 did not appear" in each.error for each in launches[: -1 if works else None])
    assert launches[0].remedy.why == "flanneld is there, but its HNS network cbr0 is not"
    waits = [op.args for op in launches[0].remedy.batch.ops if op.op == "wait" and op.args["for"] == "hns_network"]
    assert [(each["name"], each["timeout_s"], each["management_ip"]) for each in waits] == [("cbr0", 60, True)]
    assert made.state("flanneld") == "running"


@pytest.mark.row("FL-11", "TS-12")
def test_a_flanneld_that_has_its_network_is_left_alone() -> None:
    made = machine(lease=env())
    made.network("cbr0", OLD)
    assert network.launch_until_there(WANTED, 3, read(made), lambda remedy: "", lambda: read(made)) == ()


@pytest.mark.row("FL-11")
def test_a_network_without_a_management_address_counts_as_missing() -> None:
    made = machine(lease=env())
    made.node.faults.management_ip_s = 100_000
    made.network("cbr0", OLD)
    assert network.waits_for_network(WANTED, read(made)) == "the HNS network cbr0 has no management address"


@pytest.mark.row("FL-11")
def test_one_that_is_not_told_its_node_or_lacks_an_argument_is_refused() -> None:
    with pytest.raises(Refused, match=r"flanneld should be started again, but it lacks NODE_NAME=win1 and"):
        network.relaunch(WANTED, "", read(machine(named=False)))
    with pytest.raises(Refused, match=r"lacks NODE_NAME=win2 and"):
        network.relaunch(wanted_network(node_name="win2"), "", read(machine()))
    made = machine()
    made.node.registry.set(KEY, "ImagePath", "expand_string", f'"{LAYOUT.flanneld_binary}" --run 1')
    with pytest.raises(Refused, match="lacks --kubeconfig-file, --iface, --ip-masq, --kube-subnet-mgr and"):
        network.relaunch(WANTED, "", read(made))


# -- subnet.env --------------------------------------------------------------------------------------------------------


@pytest.mark.row("FL-09", "TS-13")
def test_first_flanneld_is_launched_again_for_a_missing_subnet_env() -> None:
    made = machine()
    made.network("cbr0", OLD)
    sent: list[Remedy] = []

    def send(remedy: Remedy) -> str:
        sent.append(remedy)
        made.node.clock.call_later(5, lambda: made.write(SUBNET_ENV, env()))
        return made.send(remedy.batch).error.message

    (launch,) = network.launch_until_there(WANTED, 3, read(made), send, lambda: read(made))
    assert launch.error == ""
    assert launch.remedy.why == rf"there is no {SUBNET_ENV}, so pods cannot start"
    stops = [op.args["args"] for op in sent[0].batch.ops if op.op == "run"]
    assert stops[0] == ["stop", "flanneld"]
    assert stops[1] == ["start", "flanneld"]
    assert network.lacks_lease(WANTED, read(made)) == ""


@pytest.mark.row("FL-09")
def test_the_generated_file_has_the_nodes_own_range() -> None:
    made = machine()
    remedy = network.write_lease(WANTED, "", nodes(win1=OLD, win2=NEW), 1500, read(made))
    assert made.send(remedy.batch).is_done
    assert made.node.drive.read(SUBNET_ENV) == env()
    overlay = wanted_network(network_mode="overlay")
    assert "FLANNEL_MTU=1450\n" in network.lease(overlay, "", nodes(win1=OLD), 1500)


@pytest.mark.row("FL-09", "TS-13")
@pytest.mark.parametrize("subnet", [NEW, "10.244.9.128/25", "10.244.8.0/23"])
def test_a_range_that_another_node_has_is_refused(subnet: str) -> None:
    with pytest.raises(Refused, match=r"overlaps 10\.244\.9\.0/24 of the node win2"):
        network.lease(WANTED, subnet, nodes(win1=OLD, win2=NEW, new=""), 1500)
    assert "FLANNEL_SUBNET=10.244.10.1/24" in network.lease(WANTED, "10.244.10.0/24", nodes(win1=OLD, win2=NEW), 1500)


@pytest.mark.row("FL-09")
def test_without_knowing_the_others_and_outside_the_cluster_it_is_refused() -> None:
    with pytest.raises(Refused, match="only where all nodes' ranges are known"):
        network.lease(WANTED, "", None, 1500)
    with pytest.raises(Refused, match="has no podCIDR"):
        network.lease(replace(WANTED, pod_cidr=""), "", [], 1500)
    with pytest.raises(Refused, match=r"10\.99\.0\.0/24 does not lie in winkube_cluster_cidr"):
        network.lease(WANTED, "10.99.0.0/24", [], 1500)


# -- HNS ---------------------------------------------------------------------------------------------------------------


@pytest.mark.row("KP-17")
def test_policy_lists_go_while_kube_proxy_is_stopped() -> None:
    made = machine()
    cbr0 = made.network("cbr0", OLD)
    end = made.endpoint(cbr0, "Ethernet", IsRemoteEndpoint=True, IPAddress="10.244.7.4")
    policy = {"Type": "ELB", "Protocol": 6, "InternalPort": 80, "ExternalPort": 80, "VIPs": ["10.96.0.1"]}
    made.node.hns.create_policy_list({"References": [f"/endpoints/{end['ID']}"], "Policies": [policy]})
    remedy = network.remove_policy_lists(WANTED, read(made))
    assert remedy is not None
    kinds = [op.args["args"][0] if op.op == "run" else op.op for op in remedy.batch.ops if op.op != "wait"]
    assert kinds == ["stop", "hns_remove", "start"]
    assert made.send(remedy.batch).is_done
    assert made.node.hns.policy_lists == []
    assert [each["Name"] for each in made.node.hns.endpoints] == ["Ethernet"], "only the policy lists"
    assert made.state("kube-proxy") == "running"
    assert network.remove_policy_lists(WANTED, read(made)) is None


def test_endpoints_of_dead_pods_go_if_they_keep_an_address() -> None:
    made = machine()
    cbr0, other = made.network("cbr0", OLD), made.network("l2", "10.99.0.0/24")
    made.pod(cbr0, "alive")
    made.endpoint(cbr0, "harmless")
    made.endpoint(cbr0, "cbr0_ep")
    made.endpoint(other, "foreign")
    stale = made.endpoint(cbr0, "stale")
    before = hns.hns(read(made))
    assert network.find_blocking(WANTED, before, before) == ()
    moved = replace(WANTED, pod_cidr=f"{stale['IPAddress']}/32")  # all but its address are of another range now
    dead = network.find_blocking(moved, before, before)
    assert [each.name for each in dead] == ["harmless"]
    assert network.find_blocking(moved, replace(before, endpoints=()), before) == (), "seen once is not enough"
    assert made.send(network.remove_endpoints(moved, dead, read(made)).batch).is_done
    assert sorted(each["Name"] for each in made.node.hns.endpoints) == ["alive", "cbr0_ep", "foreign", "stale"]


def test_an_address_that_two_have_is_taken_from_the_dead_one() -> None:
    answer = [
        {"ID": "A", "Name": "alive", "VirtualNetwork": "N", "IPAddress": "10.244.3.9", "Namespace": {"ID": "S"}},
        {"ID": "D", "Name": "dead", "VirtualNetwork": "N", "IPAddress": "10.244.3.9"},
    ]
    pods = {"ID": "N", "Name": "cbr0", "Type": "L2Bridge", "Subnets": [{"AddressPrefix": OLD}]}
    texts = {"networks": [pods], "endpoints": answer, "policylists": [], "namespaces": []}
    found = parse({"available": True, **{name: json.dumps(each) for name, each in texts.items()}})
    assert [each.name for each in network.find_blocking(WANTED, found, found)] == ["dead"]


def test_services_that_stayed_down_start_in_the_order_of_a_boot() -> None:
    made = machine()
    made.network("cbr0", OLD)
    for name in ("kube-proxy", "kubelet"):
        made.node.run("C:\\Windows\\System32\\sc.exe", ["stop", name])
    made.node.clock.advance(10)
    names = network.find_down(WANTED, read(made))
    assert names == ("kubelet", "kube-proxy")
    assert made.send(network.start_in_order(WANTED, names, read(made)).batch).is_done
    assert network.find_down(WANTED, read(made)) == ()
    made.node.services.change("kubelet", "Start", "dword", 3)
    made.node.run("C:\\Windows\\System32\\sc.exe", ["stop", "kubelet"])
    made.node.clock.advance(10)
    assert network.find_down(WANTED, read(made)) == (), "one that Windows is not to start is stopped on purpose"


def test_the_other_modes_networks_go_but_not_those_of_others() -> None:
    made = machine()
    placeholder = made.network("External", "192.168.255.0/30", "Overlay")
    made.network("vxlan0", OLD, "Overlay")
    made.node.hns.create_network({"Name": "nat", "Type": "nat", "Subnets": []})
    recorded = replace(OURS, recorded=(placeholder["ID"].lower(),))
    wanted = replace(WANTED, ours=recorded)
    going = network.find_other_mode(wanted, read(made))
    assert sorted(each.name for each in going) == ["External", "vxlan0"]
    assert [each.name for each in network.find_other_mode(WANTED, read(made))] == ["vxlan0"], (
        "External is nobody's here"
    )
    assert made.send(network.switch_mode(wanted, going, read(made)).batch).is_done
    assert made.networks() == ["nat"]
    assert made.addresses("Ethernet")
    assert (
        network.find_other_mode(replace(wanted, options=replace(wanted.options, network_mode="overlay")), read(made))
        == ()
    )


def test_cut_anywhere_no_service_stays_down() -> None:
    """kube-proxy remakes what is removed from HNS; the services are as before."""

    def make() -> Machine:
        made = machine(lease=env())
        cbr0 = made.network("cbr0", OLD)
        end = made.endpoint(cbr0, "Ethernet", IsRemoteEndpoint=True, IPAddress="10.244.7.4")
        policy = {"Type": "ELB", "Protocol": 6, "InternalPort": 80, "ExternalPort": 80, "VIPs": ["10.96.0.1"]}
        made.node.hns.create_policy_list({"References": [f"/endpoints/{end['ID']}"], "Policies": [policy]})
        return made

    def lists(made: Machine) -> Batch:
        remedy = network.remove_policy_lists(WANTED, read(made))
        assert remedy is not None
        return remedy.batch

    def again(made: Machine) -> Batch:
        return network.relaunch(WANTED, "stuck", read(made)).batch

    for plan in (lists, again):
        count, wrong = cut_everywhere(make, plan, "cbr0", every=4, changes=False)
        assert wrong == []
        assert count >= 5


# -- all of them, one after the other ----------------------------------------------------------------------------------


@dataclass
class Told:
    """A node that keeps the remedies' texts; launches of flanneld are rolled back unless it `works`."""

    made: Machine
    works: bool = False
    texts: list[str] = field(default_factory=list)

    def look(self, after_s: float = 0) -> Reading:
        self.seen = read(self.made)
        return self.seen

    def send(self, remedy: Remedy) -> None:
        self.texts.append(remedy.text)

    def attempt(self, remedy: Remedy) -> str:
        self.send(remedy)
        return "" if self.works else "it did not come"


def repaired(made: Machine, *, works: bool = False, **options: Any) -> list[str]:
    """What is done, and why flanneld is still stuck."""
    node = Told(made, works)
    node.look()
    stuck = network.repair(replace(wanted_network(**options), nodes=nodes(win1=OLD)), node)
    return [*node.texts, *([stuck] if stuck else [])]


@pytest.mark.row("KP-17")
def test_policy_lists_go_only_if_it_was_said() -> None:
    made = machine(lease=env())
    cbr0 = made.network("cbr0", OLD)
    end = made.endpoint(cbr0, "Ethernet", IsRemoteEndpoint=True, IPAddress="10.244.7.4")
    policy = {"Type": "ELB", "Protocol": 6, "InternalPort": 80, "ExternalPort": 80, "VIPs": ["10.96.0.1"]}
    made.node.hns.create_policy_list({"References": [f"/endpoints/{end['ID']}"], "Policies": [policy]})
    assert repaired(made) == []
    (text,) = repaired(made, remove_policy_lists=True)
    assert text.startswith("remove 1 policy lists")


@pytest.mark.row("FL-11")
@pytest.mark.parametrize(("retries", "launches"), [(0, 1), (2, 3)])
def test_flanneld_is_launched_once_and_so_often_again(retries: int, launches: int) -> None:
    *texts, error = repaired(machine(), retries=retries)
    assert texts == ["relaunch flanneld, with 60 s for its network cbr0"] * launches
    assert error.startswith(f"flanneld was launched {launches} times, and its network cbr0")


@pytest.mark.row("FL-09")
@pytest.mark.parametrize("allowed", [False, True])
def test_subnet_env_is_written_after_the_launches_and_only_if_it_was_said(allowed: bool) -> None:
    made = machine()
    made.network("cbr0", OLD)
    *launches, last = repaired(made, retries=1, generate_subnet_env=allowed)
    assert len(launches) == 2
    assert all(text.startswith("relaunch flanneld") for text in launches)
    assert last.startswith(rf"write {SUBNET_ENV}: FLANNEL_NETWORK=" if allowed else "flanneld was launched 2")


@pytest.mark.row("FL-09")
def test_without_its_network_a_lease_would_help_nobody() -> None:
    texts = repaired(machine(), retries=0, generate_subnet_env=True)
    assert not [text for text in texts if text.startswith("write")]


# -- the module's options ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"action": "acknowledge"}, r"The action acknowledge needs batch: set it \(for repair\.yml, winkube_batch\)\."),
        ({"action": "network", "node_name": ""}, "The action network needs node_name"),
        (
            {"action": "rejoin", "switch_mode": True},
            "switch_mode has no effect with the action rejoin: leave it out, or",
        ),
        ({"action": "take_over", "batch": "0"}, "batch has no effect with the action take_over"),
    ],
)
def test_options_that_an_action_lacks_or_does_nothing_with_are_refused(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        check_options(told(RepairOptions, "win_k8s_repair", **{"node_name": "win1", **given}))


@pytest.mark.parametrize(
    "given", [{"action": "rejoin", "always": True}, {"action": "take_over", "node_name": ""}, {"action": "network"}]
)
def test_options_that_fit_the_action_are_taken(given: dict[str, Any]) -> None:
    check_options(told(RepairOptions, "win_k8s_repair", **{"node_name": "win1", **given}))
