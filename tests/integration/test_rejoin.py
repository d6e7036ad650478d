"""A node that was deleted and gets another range: joined anew, everything of the old range gone, Ready."""

from __future__ import annotations

import json

import pytest

from tests.integration.lab import ROOT, Bench
from tests.integration.whole import BRIDGE, SITE, Whole
from tests.lab.cluster.kinds import BY_NAME
from tests.lab.machine.builds import build
from tests.lab.machine.processes import Process

REPAIR = ROOT / "playbooks" / "repair.yml"
VIP, REQUEST = r"C:\k\SourceVip.json", r"C:\k\SourceVipRequest.json"
SUBNET_ENV = r"C:\run\flannel\subnet.env"
CNI_CONF = r"C:\k\cni\config\cni.conf"
SERVICES = ("containerd", "kubelet", "flanneld", "kube-proxy")


def put(whole: Whole, path: str, text: str) -> None:
    whole.host.in_turn(lambda: whole.host.node.drive.write(path, text.encode()))


def kind(whole: Whole, path: str) -> str | None:
    return whole.host.in_turn(lambda: whole.host.node.drive.kind(path))


def at_a_console(whole: Whole, path: str, program: bytes) -> Process:
    """Somebody has started a program at the machine itself."""
    node = whole.host.node

    def start() -> Process:
        node.drive.mkdir(node.drive.parent(path), "S-1-5-18")
        node.drive.write(path, program)
        node.clock.advance(node.faults.antivirus_s)
        process, _said = node.start_program(path, ["--run", "1000000"])
        return process

    return whole.host.in_turn(start)


def lose_network(whole: Whole, name: str) -> None:
    """As after a restart, or somebody's hands."""
    hns = whole.host.node.hns
    whole.host.in_turn(lambda: hns.delete_network(str((hns.network(name) or {})["ID"])))


@pytest.mark.row("JR-04", "FL-10", "TS-11")
def test_a_deleted_node_joins_anew_in_another_range_and_a_second_run_changes_nothing(bench: Bench) -> None:
    whole = Whole(bench, BRIDGE, containers=True)
    by_hand = at_a_console(whole, r"C:\k\kube-proxy.exe", build("worker", "1"))
    taken = whole.converge(SITE, playbook=REPAIR, winkube_repair="take_over")
    assert rf"ended C:\k\kube-proxy.exe (pid {by_hand.pid}), which no service has started" in taken.output
    old = str(whole.cluster.nodes["win1"]["spec"]["podCIDR"])
    # What the documents' kube-proxy script leaves, and a node that takes the range over.
    put(whole, VIP, json.dumps({"ip4": {"ip": old.replace(".0/24", ".2/24")}}))
    put(whole, REQUEST, json.dumps({"ipam": {"type": "host-local", "ranges": [[{"subnet": old}]]}}))
    whole.cluster.store.delete(BY_NAME["Node"], "", "win1")
    other = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "other"}, "spec": {}}
    whole.cluster.store.create(BY_NAME["Node"], "", other)
    whole.cluster.advance(5)
    assert whole.cluster.nodes["other"]["spec"]["podCIDR"] == old

    planned = whole.site("--check", "--diff", playbook=REPAIR, winkube_repair="rejoin")
    gone = f"{VIP}, {REQUEST}, {SUBNET_ENV}, {CNI_CONF}, the HNS network cbr0"
    assert f"would remove {gone}, with kube-proxy, kubelet, flanneld stopped" in planned.output
    assert kind(whole, VIP) == "file"

    anew = whole.converge(playbook=REPAIR, winkube_repair="rejoin")
    assert "the HNS network cbr0" in anew.output
    new = str(whole.cluster.nodes["win1"]["spec"]["podCIDR"])
    assert new != old
    assert kind(whole, VIP) is None
    assert kind(whole, REQUEST) is None
    networks = whole.host.in_turn(lambda: {each["Name"]: each["Subnets"] for each in whole.host.node.hns.networks})
    assert [each["AddressPrefix"] for each in networks["cbr0"]] == [new]
    assert "External" in networks, "the virtual switch stays: the connection is not broken a second time"
    assert new.replace(".0/24", ".1/24") in whole.host.in_turn(lambda: whole.host.node.drive.read(SUBNET_ENV).decode())
    assert {service: whole.state(service) for service in SERVICES} == dict.fromkeys(SERVICES, "running")
    whole.cluster.advance(30)
    assert whole.cluster.is_ready("win1")

    again = whole.converge(playbook=REPAIR, winkube_repair="rejoin")
    assert again.recap["win1"].changed == 0, again

    # Nothing is wrong: nothing is done. flanneld is stuck without its network: it is launched again.
    assert whole.converge(playbook=REPAIR, winkube_repair="network").recap["win1"].changed == 0
    lose_network(whole, "cbr0")
    repaired = whole.converge(playbook=REPAIR, winkube_repair="network")
    assert "relaunched flanneld, with 120 s for its network cbr0" in repaired.output
    assert "cbr0" in whole.host.in_turn(lambda: [each["Name"] for each in whole.host.node.hns.networks])
