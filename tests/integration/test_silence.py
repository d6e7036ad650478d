"""A node that goes silent in the middle: no byte, no FIN, no RST (tests/lab/README.md, "connections that die").

Before, a run over SSH hung here until its time was up, whatever the node did meanwhile.
"""

from __future__ import annotations

import json
import random
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.integration.lab import Bench, Run
from tests.integration.site import converge, site
from tests.lab.machine.builds import build
from tests.lab.machine.faults import Fault
from tests.lab.server.host import NodeHost

PATIENCE_S = 60.0
SILENT_S = 15.0
"""Of the node's clock: longer than one attempt to connect lets pass."""
SHORT: dict[str, Any] = {"winkube_answer_timeout": 2, "winkube_reconnect_timeout": 120}


def goes_silent(host: NodeHost, op: int) -> None:
    """In the op of the next batch; it can be reached again a while later."""

    def heal() -> None:
        host.node.faults.silent = False

    def later(told: bool) -> None:
        host.node.clock.call_later(SILENT_S, heal)

    host.node.faults.arm(Fault("session", op, "in", silent=True))
    host.node.on_cut.append(later)


def over_ssh(bench: Bench, *options: str) -> dict[str, str]:
    """The environment of a user whose own arguments for ssh are these."""
    own = [word for option in options for word in ("-o", option)]
    return {
        "ANSIBLE_SSH_COMMON_ARGS": shlex.join(["-F", str(bench.lab.ssh_config), *own]),
        "ANSIBLE_TIMEOUT": "1",
    }


def shared_connections(bench: Bench) -> int:
    """The processes that keep a connection of this bench open for later calls."""
    place = bench.environment()["ANSIBLE_SSH_CONTROL_PATH_DIR"]
    found = 0
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += path.read_bytes().replace(b"\0", b" ").startswith(f"ssh: {place}".encode())
        except OSError:
            continue
    return found


def converged(bench: Bench, host: NodeHost, run: Run) -> None:
    assert run.rc == 0, run
    assert run.recap["win1"].changed >= 1, run
    assert host.in_turn(lambda: host.node.services.state("containerd")) == "running"
    assert not host.node.faults.armed or host.node.faults.armed[0].fired
    assert converge(bench).recap["win1"].changed == 0


@pytest.mark.exhaustive
@pytest.mark.row("NY-21")
def test_the_link_itself_notices_where_ssh_does_not(bench: Bench) -> None:
    """The user has switched ssh's own question off: the first value counts."""
    host = bench.node()
    host.in_turn(lambda: goes_silent(host, 2))
    bench.patience_s = PATIENCE_S
    run = site(bench, env=over_ssh(bench, "ServerAliveInterval=0"), **SHORT)
    assert "win1 sent nothing for 4 s while it worked, and did not close the connection" in run.output, run
    assert "raise answer_timeout (winkube_answer_timeout)" in run.output
    assert shared_connections(bench) <= 1, "the dead one is gone"
    converged(bench, host, run)


@pytest.mark.exhaustive
def test_ssh_notices_by_itself_and_the_users_own_values_come_first(bench: Bench) -> None:
    """An inventory that is not ours: the host has no variables about this."""
    host = bench.node()
    host.in_turn(lambda: goes_silent(host, 2))
    bench.patience_s = PATIENCE_S
    own = over_ssh(bench, "ServerAliveInterval=1", "ServerAliveCountMax=1")
    run = site(bench, "-vvv", env=own)
    (line, *_) = [line for line in run.stdout.splitlines() if "SSH: EXEC" in line]
    assert line.index("ServerAliveInterval=1 ") < line.index("ServerAliveInterval=15"), line
    assert "connection lost while batch" in run.output, run
    assert "sent nothing" not in run.output
    converged(bench, host, run)


@pytest.mark.exhaustive
def test_a_node_that_is_silent_while_it_is_read_is_read_again(bench: Bench) -> None:
    host = bench.node()
    bench.patience_s = PATIENCE_S

    def fall_silent(*_: object) -> None:
        host.node.before_module.clear()
        host.set(access="silent")
        host.node.clock.call_later(SILENT_S, lambda: host.set(access="open"))

    host.node.before_module.append(fall_silent)
    run = site(bench, env=over_ssh(bench, "ServerAliveInterval=0"), **SHORT)
    assert "win1 sent nothing for 2 s while it was read" in run.output, run
    converged(bench, host, run)


def test_a_node_that_stays_silent_is_unreachable_and_nothing_is_left_behind(bench: Bench) -> None:
    host = bench.node()
    host.in_turn(lambda: host.node.faults.arm(Fault("session", 2, "in", silent=True)))
    bench.patience_s = PATIENCE_S
    run = site(
        bench, env=over_ssh(bench, "ServerAliveInterval=0"), winkube_answer_timeout=2, winkube_reconnect_timeout=5
    )
    assert run.recap["win1"].unreachable == 1, run
    assert "did not answer for 5 s after the connection was lost" in run.output
    assert "Traceback" not in run.output
    assert shared_connections(bench) == 0


def test_a_node_that_is_silent_while_it_gets_a_build(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run ends, as with any lost connection; nothing was touched, and the next one sends the build again."""
    host = bench.node()
    converge(bench)
    whole = build("containerd", "1.7.12")
    end = whole.rindex(b'{"lab"')
    # More than goes along with a batch.
    (bench.directory / "containerd.exe").write_bytes(whole[:end] + random.randbytes(3_000_000) + b"\n" + whole[end:])
    count = host.count

    def fall_silent(**amounts: int) -> None:
        count(**amounts)
        if amounts.get("subsystems"):
            host.set(access="silent")

    task = {"name": "containerd", "overwrite": True, "sourceURL": "containerd.exe"}
    play = bench.play(
        "- hosts: windows\n  gather_facts: false\n  tasks:\n    - winkube.node.win_k8s_provisioner: "
        + json.dumps({**task, "answer_timeout": 2, "reconnect_timeout": 5})
    )
    bench.patience_s = PATIENCE_S
    env = over_ssh(bench, "ServerAliveInterval=0")
    with monkeypatch.context() as patch:
        patch.setattr(host, "count", fall_silent)
        run = bench.ansible_playbook(play, env=env)
    assert run.recap["win1"].unreachable == 1, run
    assert "win1 sent nothing for 2 s while it was sent a file" in run.output
    assert shared_connections(bench) == 0
    host.set(access="open")
    again = bench.ansible_playbook(play, env=env)
    assert (again.rc, again.recap["win1"].changed) == (0, 1), again


@pytest.mark.exhaustive
def test_over_winrm(bench: Bench) -> None:
    """pywinrm has a time limit of its own, and Ansible's plugin then waits as long again to say that it is over."""
    host = bench.node()
    host.in_turn(lambda: goes_silent(host, 2))
    bench.patience_s = PATIENCE_S
    spec = host.spec
    variables = {
        **bench.lab.winrm_variables(),
        "ansible_host": spec.address,
        "ansible_user": spec.username,
        "ansible_password": spec.winrm_password,
        "ansible_winrm_operation_timeout_sec": 20,
        "ansible_winrm_read_timeout_sec": 60,
    }
    hosts = {"windows": {"hosts": {"win1": variables}}}
    inventory = bench.file("winrm.json", json.dumps(hosts))
    run = site(bench, "-i", inventory, **SHORT)
    assert "win1 sent nothing for 4 s while it worked" in run.output, run
    converged(bench, host, run)
