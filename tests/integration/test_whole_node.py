"""Both nodes that the collection is shown with: from bare to Ready, again, and after a restart of the machine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.integration.lab import Bench
from tests.integration.site import differences
from tests.integration.whole import BRIDGE, KINDS, Whole

SERVICES = ("containerd", "kubelet", "flanneld", "kube-proxy")


@pytest.fixture(params=KINDS)
def whole(request: pytest.FixtureRequest, bench: Bench) -> Whole:
    """Each of the two nodes, bare."""
    kind = KINDS[request.param]
    # One of the two speaks German: nothing may be read out of what Windows' own programs say.
    return Whole(bench, kind, language="de" if kind.mode == "overlay" else "en")


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
    second = whole.converge()
    assert second.recap["win1"].changed == 0, second
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
    upgraded = whole.converge(winkube_kubernetes_version="1.27.16", winkube_drain=True)
    assert "cordoned win1" in upgraded.output
    assert "uncordoned win1" in upgraded.output
    after = {service: whole.pid(service) for service in SERVICES}
    same = {service for service in SERVICES if before[service] == after[service]}
    assert same == {"containerd", "flanneld"}, upgraded
    whole.cluster.advance(30)
    assert whole.cluster.nodes["win1"]["status"]["nodeInfo"]["kubeletVersion"] == "v1.27.16"
    assert whole.converge(winkube_kubernetes_version="1.27.16", winkube_drain=True).recap["win1"].changed == 0
