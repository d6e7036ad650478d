"""Both nodes that the collection is shown with: from bare to Ready, again, and after a restart of the machine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.bench.figures import API_REQUESTS
from tests.integration.lab import ROOT, Bench
from tests.integration.site import differences
from tests.integration.test_diagnose import diagnose, found
from tests.integration.test_flannel import daemon_set
from tests.integration.whole import BRIDGE, KINDS, OVERLAY, Kind, Whole
from tests.lab.cluster import tenants
from tests.lab.cluster.kinds import BY_NAME

RESET = ROOT / "playbooks" / "reset.yml"
SERVICES = ("containerd", "kubelet", "flanneld", "kube-proxy")


@pytest.fixture(params=KINDS)
def whole(request: pytest.FixtureRequest, bench: Bench) -> Whole:
    """Each of the two nodes, bare."""
    kind = KINDS[request.param]
    # One of the two speaks German: nothing may be read out of what Windows' own programs say.
    return Whole(bench, kind, language="de" if kind.mode == "overlay" else "en")


@pytest.mark.exhaustive
@pytest.mark.row("FL-13", "OB-01", "KU-33", "JR-03")
def test_from_bare_to_ready_again_and_after_a_restart(whole: Whole) -> None:
    whole.converge()
    assert {service: whole.state(service) for service in SERVICES} == dict.fromkeys(SERVICES, "running")
    whole.cluster.advance(30)
    assert whole.cluster.is_ready("win1"), whole.cluster.nodes["win1"]["status"]["conditions"]

    # The API server reaches the kubelet, and what comes for pods gets in: at its own address, past its own firewall.
    address = whole.cluster.nodes["win1"]["status"]["addresses"][0]
    assert address == {"type": "InternalIP", "address": whole.host.node.nic.address}
    flows = whole.cluster.flows
    assert flows.kubelet_address("win1", whole.cluster.settings.address) == ""
    flows.need_tunnel("control-plane", "win1")
    assert flows.kubelet_address("win1", "203.0.113.9"), "the rule lets in more than the cluster"

    # Again: nothing differs, one remote call, nothing restarted.
    before, pids = whole.bench.dump(), {service: whole.pid(service) for service in SERVICES}
    whole.bench.reset_ledger()
    asked = len(whole.cluster.api.calls)
    second = whole.converge()
    assert second.recap["win1"].changed == 0, second
    paths = [call.path for call in whole.cluster.api.calls[asked:] if call.outside]
    assert len(paths) == len(set(paths)) <= API_REQUESTS, "each question once, and the Node is in the list of all"
    assert whole.bench.calls() == 1, second
    assert {service: whole.pid(service) for service in SERVICES} == pids
    assert differences(before, whole.bench.dump()) == []

    # Every boot: it comes up by itself, and there is nothing to do.
    whole.host.in_turn(whole.host.node.restart)
    for _ in range(30):
        whole.cluster.advance(10)
    assert {service: whole.state(service) for service in SERVICES} == dict.fromkeys(SERVICES, "running")
    assert whole.cluster.is_ready("win1")
    third = whole.converge()
    assert third.recap["win1"].changed == 0, third
    verified = whole.site(playbook=whole.VERIFY)
    assert verified.rc == 0, verified


BESIDE_KUBESPRAY = [
    replace(BRIDGE, maker="kubespray", manager="sc"),
    pytest.param(replace(OVERLAY, maker="kubespray", manager="nssm"), marks=pytest.mark.exhaustive),
    pytest.param(replace(BRIDGE, maker="kubespray"), marks=pytest.mark.exhaustive),
    pytest.param(replace(OVERLAY, maker="kubespray"), marks=pytest.mark.exhaustive),
    pytest.param(replace(BRIDGE, manager="sc"), marks=pytest.mark.exhaustive),
    pytest.param(replace(OVERLAY, manager="nssm"), marks=pytest.mark.exhaustive),
]
"""With the two of KINDS every mode with every service manager in a cluster of kubeadm's and in one of kubespray's."""


@pytest.mark.parametrize("kind", BESIDE_KUBESPRAY, ids=lambda kind: f"{kind.mode}-{kind.manager}-{kind.maker}")
def test_joined_diagnosed_and_reset_in_either_cluster(bench: Bench, kind: Kind) -> None:
    whole = Whole(bench, kind)
    whole.converge()
    whole.cluster.advance(30)
    assert whole.cluster.is_ready("win1"), whole.cluster.nodes["win1"]["status"]["conditions"]
    assert whole.converge().recap["win1"].changed == 0
    verified = whole.site(playbook=whole.VERIFY)
    assert verified.rc == 0, verified
    looked, report = diagnose(whole)
    assert (looked.rc, found(report)) == (0, set()), report
    whole.converge(playbook=RESET, winkube_reset=True)
    left = whole.host.in_turn(lambda: whole.host.node.drive.exists("C:\\etc\\kubernetes\\pki\\ca.crt"))
    assert not left
    whole.converge()
    whole.cluster.advance(30)
    assert whole.cluster.is_ready("win1")


def test_two_families_with_a_network_that_the_user_brings(bench: Bench) -> None:
    """Refused in the first task where the node's second address is not known; else the Node has both from bare."""
    whole = Whole(bench, replace(BRIDGE, two_families=True), containers=True)
    both = {
        "winkube_cni_managed_by": "cluster",
        "winkube_kube_proxy_managed_by": "cluster",
        "winkube_cluster_cidr": "10.244.0.0/16,fd00:10:244::/56",
        "winkube_service_cidr": "10.96.0.0/12,fd00:10:96::/112",
    }
    before = bench.dump()
    flannels = whole.site(**both)
    assert flannels.rc != 0
    assert "which flannel does not support on Windows" in flannels.output, flannels.output
    kind = BY_NAME["DaemonSet"]
    for each in whole.cluster.store.list(kind):
        if "flannel" in each["metadata"]["name"]:
            whole.cluster.store.delete(kind, each["metadata"]["namespace"], each["metadata"]["name"])
    whole.cluster.store.create(kind, "kube-system", daemon_set("antrea-agent-windows", "windows"))
    refused = whole.site(**both, winkube_kubelet_node_ip="192.168.122.231")
    assert refused.rc != 0
    assert "192.168.122.231 is one address, and winkube_cluster_cidr" in " ".join(refused.output.split()), (
        refused.output
    )
    assert differences(before, bench.dump()) == []
    whole.converge(**both)
    whole.cluster.advance(30)
    addresses = [one["address"] for one in whole.cluster.nodes["win1"]["status"]["addresses"]]
    assert addresses == ["192.168.122.231", "fd00:7::25", "win1"]
    assert whole.cluster.nodes["win1"]["spec"]["podCIDRs"] == ["10.244.1.0/24", "fd00:10:244::/64"]
    lets_in = whole.host.node.lets_in
    assert (
        whole.host.in_turn(lambda: [lets_in("TCP", 10250, one) for one in ("fd00:10:244:1::2", "fd00:7::9")])
        == [True] * 2
    )
    assert whole.converge(**both).recap["win1"].changed == 0


@pytest.mark.exhaustive
@pytest.mark.parametrize("manager", ["nssm", "sc"])
def test_a_kubelet_that_does_not_start_is_told_with_the_reason_from_its_own_log(bench: Bench, manager: str) -> None:
    whole = Whole(bench, replace(BRIDGE, manager=manager))
    run = whole.site(winkube_kubelet_extra_arguments=[r"--client-ca-file=C:\k\none.crt"])
    assert run.rc != 0
    said = run.output.partition("The kubelet's log ")[2]
    assert "unable to load client CA file C:" in said.partition("ends with: ")[2], run


@pytest.mark.exhaustive
@pytest.mark.parametrize("step", ["host", "cni", "containerd", "kubelet", "join", "flannel", "kube_proxy"])
def test_without_one_of_the_steps_the_node_is_not_ready(bench: Bench, step: str) -> None:
    """What one role does is done by no other: without it the run ends with a sentence, or verify has findings."""
    whole = Whole(bench, BRIDGE, containers=step != "host")  # the feature is what the host's step brings
    run = whole.site("--skip-tags", step)
    assert "Traceback" not in run.output
    whole.cluster.advance(60)
    verified = whole.site(playbook=whole.VERIFY)
    assert run.rc != 0 or verified.rc != 0, verified
    assert verified.rc != 0, verified


def test_another_version_in_the_node_yaml_changes_what_has_to_change_and_drains_first(bench: Bench) -> None:
    whole = Whole(bench, BRIDGE, replace(BRIDGE, kubernetes="1.27.16"), server="1.27.16", containers=True)
    whole.converge()
    before = {service: whole.pid(service) for service in SERVICES}
    tenants.move_in(whole.cluster, "win1")
    drain: dict[str, Any] = {"winkube_drain": True, "winkube_drain_options": tenants.OPTIONS}
    upgraded = whole.converge(winkube_kubernetes_version="1.27.16", **drain)
    assert tenants.pods(whole.cluster, "win1") == list(tenants.STAYS), upgraded
    assert "drained win1 (4 pods)" in upgraded.output, upgraded
    assert "cordoned win1" in upgraded.output
    assert "uncordoned win1" in upgraded.output
    after = {service: whole.pid(service) for service in SERVICES}
    same = {service for service in SERVICES if before[service] == after[service]}
    assert same == {"containerd", "flanneld"}, upgraded
    whole.cluster.advance(30)
    assert whole.cluster.nodes["win1"]["status"]["nodeInfo"]["kubeletVersion"] == "v1.27.16"
    assert whole.converge(winkube_kubernetes_version="1.27.16", winkube_drain=True).recap["win1"].changed == 0
