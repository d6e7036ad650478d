"""Somebody changes one version and runs site.yml: what must change does, and what depends on it comes back."""

from __future__ import annotations

import pytest

from tests.integration.lab import ROOT, Bench
from tests.integration.site import converge, site
from tests.lab.machine.faults import ServiceFault
from tests.lab.server.host import NodeHost

VERIFY = ROOT / "playbooks" / "verify.yml"


def pid(host: NodeHost, service: str = "containerd") -> int:
    return int(host.in_turn(lambda: host.node.services.runtime(service).pid))


@pytest.mark.exhaustive
def test_one_version_changes_one_program_and_restarts_once(bench: Bench) -> None:
    host = bench.node()
    registries = [{"host": "docker.io", "mirrors": [{"url": "https://mirror.example.com"}]}]
    converge(bench, winkube_registries=registries)
    before = pid(host)
    planned = converge(bench, "--check", version="1.7.12", winkube_registries=registries)
    would = [line.split("would ")[1] for line in planned.stdout.splitlines() if ": would " in line]
    assert would == [
        "install containerd 1.7.12 from http://xyz/containerd-1.7.12-windows-amd64.tar.gz",
        "restart containerd",
    ]
    assert pid(host) == before
    done = converge(bench, version="1.7.12", winkube_registries=registries)
    assert done.steps == planned.steps
    assert "win1: restarted containerd\n" in done.stdout
    assert pid(host) != before
    verified = bench.ansible_playbook(VERIFY, "-ewinkube_hosts=windows", "-ewinkube_verify_watch=1")
    assert verified.rc == 0, verified


@pytest.mark.exhaustive
def test_one_node_after_the_other_and_the_rest_is_left_when_one_fails(bench: Bench) -> None:
    hosts = bench.nodes(2)
    converge(bench)
    pids = [pid(host) for host in hosts]
    first = hosts[0]
    first.in_turn(lambda: first.node.faults.service("containerd", ServiceFault("no_pipe", times=1)))
    run = site(bench, version="1.7.12", winkube_serial=1)
    assert run.rc != 0
    assert "win2" not in run.recap or run.recap["win2"].changed == 0
    assert pid(hosts[1]) == pids[1]
    again = converge(bench, version="1.7.12", winkube_serial=1)
    assert {recap.changed for recap in again.recap.values()} == {1}


def test_no_batch_is_begun_after_one_in_which_a_node_has_failed(bench: Bench) -> None:
    """The nodes of its own batch go on to their end. Ansible itself would begin the next one, too."""
    hosts = bench.nodes(3)
    first = hosts[0]
    converge(bench)
    pids = [pid(host) for host in hosts]
    for most, upgraded in ((0, [True, False]), (1, [True, True])):
        first.in_turn(lambda: first.node.faults.service("containerd", ServiceFault("no_pipe", times=1)))
        run = site(bench, version="1.7.12", winkube_serial="2,100%", winkube_max_failed=most)
        assert run.rc != 0, run
        assert [pid(host) != old for host, old in zip(hosts[1:], pids[1:], strict=True)] == upgraded, run
        assert run.recap["win1"].failed == 1, run
        assert run.recap["win2"].failed == 0, run
        ended = "win1 failed (more than winkube_max_failed: 0), so no further batch is begun: this node"
        assert (ended in run.output) == (most == 0), run
