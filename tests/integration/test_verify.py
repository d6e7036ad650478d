"""playbooks/verify.yml against simulated nodes: nothing is found on one that works, and what is broken by name."""

from __future__ import annotations

import re

import pytest

from tests.integration.lab import ROOT, Bench, Run
from tests.integration.site import converge
from tests.lab.machine.faults import ServiceFault
from tests.lab.server.host import NodeHost

VERIFY = ROOT / "playbooks" / "verify.yml"


def verify(bench: Bench, **more: object) -> Run:
    wanted = {"winkube_hosts": "windows", "winkube_verify_watch": 1} | more
    return bench.ansible_playbook(VERIFY, *(f"-e{name}={value}" for name, value in wanted.items()))


def restart(host: NodeHost) -> None:
    def work() -> None:
        host.node.restart()
        host.node.clock.advance(60)

    host.in_turn(work)


@pytest.mark.exhaustive
@pytest.mark.row("OB-01")
def test_a_node_that_works_and_again_after_a_restart(bench: Bench) -> None:
    host = bench.node()
    converge(bench)
    host.node.counters.reset()
    bench.reset_ledger()
    run = verify(bench)
    assert run.rc == 0, run.output
    assert "WARNING" not in run.output, run
    assert re.search(r'"win1": "Looked at containerd \d[\d.]+: \d+ checks\."', run.output), run
    assert bench.calls() == 2, "two looks"
    assert host.node.counters.write_ops == 0
    restart(host)
    assert verify(bench, winkube_verify_timeout=30).rc == 0


@pytest.mark.row("OB-01")
def test_a_containerd_that_is_not_there_or_does_not_answer(bench: Bench) -> None:
    host = bench.node()
    bare = verify(bench)
    assert bare.rc == 2, bare
    assert "There is no service of containerd. service containerd: there is none; wanted one." in bare.output, bare

    assert "ansible-playbook winkube.node.site --tags containerd --limit win1" in bare.output, bare

    converge(bench)
    host.in_turn(lambda: host.node.faults.service("containerd", ServiceFault("no_pipe", times=5)))
    restart(host)
    silent = verify(bench)
    assert silent.rc == 2, silent
    assert r"its pipe \\.\pipe\containerd-containerd is not there" in silent.output.replace("\\\\", "\\"), silent
