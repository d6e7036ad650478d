"""The role host against simulated machines: the feature Containers, the machine's name, restarts, refusals."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.integration.lab import Bench, Run
from tests.integration.site import without_journal
from tests.lab.machine.image import LOGON

PLAY = """
- hosts: windows
  gather_facts: false
  roles: [winkube.node.host]
"""


def run(bench: Bench, *args: object, **variables: Any) -> Run:
    extra = bench.file("extra.json", json.dumps({"winkube_cluster_cidr": "10.244.0.0/16", **variables}))
    return bench.ansible_playbook(bench.play(PLAY), "-e", f"@{extra}", *args)


def converge(bench: Bench, *args: object, **variables: Any) -> Run:
    found = run(bench, *args, **variables)
    assert found.rc == 0, found
    return found


@pytest.mark.row("HP-10", "HP-13")
def test_a_bare_machine_gets_the_feature_and_its_name_and_is_restarted_once(bench: Bench) -> None:
    host = bench.node("win1", containers=False)
    boot = host.node.boot_id
    first = converge(bench, winkube_computer_name="edge-7")
    assert first.recap["win1"].changed == 1, first
    assert "enabled the Windows feature Containers" in first.output
    assert "renamed the machine from WIN1 to edge-7" in first.output
    assert "restarted the machine: the Windows feature Containers comes into force; the machine is" in first.output
    assert host.node.boots == 2
    assert host.node.boot_id != boot
    assert host.in_turn(lambda: host.node.services.exists("hns") and host.node.services.exists("vmcompute"))

    bench.reset_ledger()
    before = without_journal(bench.dump())
    second = converge(bench, winkube_computer_name="edge-7")
    assert second.recap["win1"].changed == 0, second
    assert bench.calls() == 1
    assert without_journal(bench.dump()) == before
    assert host.node.boots == 2


@pytest.mark.exhaustive
@pytest.mark.row("HP-10")
def test_a_machine_that_restarts_twice_is_waited_for(bench: Bench) -> None:
    host = bench.node("win1", containers=False)
    host.node.faults.configures_s = 25.0
    assert converge(bench).rc == 0
    assert host.node.boots == 3
    assert host.node.registry.exists(LOGON)


def test_a_machine_whose_sshd_would_not_start_again_is_not_restarted(bench: Bench) -> None:
    """Somebody looked into the logs with Explorer, which gave a named administrator full control of them."""
    host = bench.node("win1", containers=False)
    logs, named = r"C:\ProgramData\ssh\logs", "S-1-5-21-1-2-3-1001"
    drive = host.node.drive
    host.in_turn(lambda: drive.mkdir(logs, "S-1-5-32-544"))
    closed = host.in_turn(lambda: drive.sddl(logs))
    host.in_turn(lambda: drive.set_sddl(logs, f"{closed}(A;OICI;FA;;;{named})", restore_privilege=True))
    before = without_journal(bench.dump())
    for arguments in ((), ("--check",)):
        refused = run(bench, *arguments)
        said = " ".join(refused.output.split())
        assert refused.rc != 0 and f"Run: icacls.exe {logs} /inheritance:d /remove:g *{named}" in said, refused
        assert without_journal(bench.dump()) == before
    assert converge(bench, winkube_reboot=False).rc == 0, "without a restart nothing is at stake"

    host.in_turn(lambda: host.node.restart())
    host.in_turn(lambda: host.node.clock.advance(200))
    assert host.in_turn(lambda: host.node.services.state("sshd")) == "stopped", "as it was said"
    host.in_turn(lambda: drive.set_sddl(logs, closed, restore_privilege=True))
    host.in_turn(lambda: host.node.restart())
    host.in_turn(lambda: host.node.clock.advance(200))
    assert converge(bench).rc == 0


def test_check_mode_says_the_restart_and_does_nothing(bench: Bench) -> None:
    host = bench.node("win1", containers=False)
    before = bench.dump()
    found = converge(bench, "--check")
    assert "would restart the machine: the Windows feature Containers comes into force" in found.output
    assert found.recap["win1"].changed == 1
    assert bench.dump() == before
    assert host.node.boots == 1


def test_without_leave_the_machine_is_not_restarted_and_it_is_said_what_waits(bench: Bench) -> None:
    host = bench.node("win1", containers=False)
    found = converge(bench, winkube_reboot=False)
    waits = "win1 has to be restarted before all of this is in force: the Windows feature Containers"
    assert waits in found.output
    again = converge(bench, winkube_reboot=False)
    assert again.recap["win1"].changed == 0, again
    assert waits in again.output
    assert host.node.boots == 1
    host.in_turn(lambda: host.node.restart())
    host.in_turn(lambda: host.node.clock.advance(200))
    assert converge(bench, winkube_reboot=False).recap["win1"].changed == 0


@pytest.mark.exhaustive
@pytest.mark.row("HP-05")
def test_the_machines_proxy_and_no_word_of_its_password(bench: Bench) -> None:
    host = bench.node("win1")
    bench.plant("hunter2", "the proxy's password")
    proxy = "http://deploy:hunter2@proxy.example.com:3128"
    first = converge(bench, "-v", "--diff", winkube_proxy=proxy, winkube_no_proxy=["git.example.com"])
    assert "hunter2" not in first.output
    key = r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Environment"
    assert host.in_turn(lambda: host.node.registry.get(key, "HTTP_PROXY")) == proxy
    without = str(host.in_turn(lambda: host.node.registry.get(key, "NO_PROXY"))).split(",")
    assert {"git.example.com", "10.244.0.0/16", "10.96.0.0/12", "192.168.122.0/24", ".cluster.local"} <= set(without)
    assert host.in_turn(lambda: host.node.registry.get(key, "HTTPS_PROXY")) == proxy
    again = converge(bench, winkube_proxy=proxy, winkube_no_proxy=["git.example.com"])
    assert again.recap["win1"].changed == 0, again
    other = converge(bench, winkube_proxy="http://proxy.example.com:80/")
    assert "hunter2" not in other.output
    assert host.in_turn(lambda: host.node.registry.get(key, "HTTP_PROXY")) == "http://proxy.example.com:80/"


@pytest.mark.row("HP-07", "VC-03")
def test_what_cannot_be_is_refused_before_anything_is_touched(bench: Bench) -> None:
    bench.node("win1", containers=False, adapter="LAN")
    before = bench.dump()
    found = run(
        bench, winkube_kubernetes_version="1.37.1", winkube_containerd_version="1.7.11", winkube_network_mode="l2bridge"
    )
    assert found.recap["win1"].failed == 1, found
    assert "Kubernetes 1.35 was the last for containerd 1.x" in found.output
    assert "no network adapter 'Ethernet' on this host; it has 'LAN'" in found.output
    assert bench.dump() == before


@pytest.mark.exhaustive
@pytest.mark.row("SE-01", "SE-03")
@pytest.mark.parametrize(("state", "said"), [("on", False), ("off", True)])
def test_the_disk_that_secrets_are_written_to(bench: Bench, state: str, said: bool) -> None:
    bench.node("win1", encryption=state)
    wanted = {"winkube_kubernetes_version": "1.36.1", "winkube_containerd_version": "2.3.0"}
    found = run(bench, "--check", **wanted)
    assert found.rc == 0, found
    assert ("Secrets of pods are written to C:\\var\\lib\\kubelet in clear text" in found.output) is said
    strict = run(bench, "--check", winkube_require_encryption=True, **wanted)
    assert (strict.rc != 0) is said, strict
