"""One whole machine made of Wine: Ansible over SSH, the roles, the node's files and registry, and real programs.

What is Wine's and what is not: tests/windows/machine/node.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cri.client import CriError
from ansible_collections.winkube.node.plugins.plugin_utils.cri.client import Tls as ClientTls
from ansible_collections.winkube.node.plugins.plugin_utils.cri_tcp.edit import Address, effective, not_effective

from tests.integration.lab import Run
from tests.integration.test_cri_tcp import PLAY, TASK
from tests.real.test_cri_tcp import ask, certificates, free_port
from tests.windows.conftest import require
from tests.windows.machine.bench import PROGRAMS, WineBench, ends_at_once, made_of_wine
from tests.windows.machine.witness import program
from tests.windows.programs import cannot_build

CONFIG = r"C:\Program Files\containerd\config.toml"
LOG = r"C:\ProgramData\containerd\log\containerd.log"
EXE = "containerd.exe"


@pytest.fixture(scope="module", params=["2.3.7", "1.7.35"])
def machine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WineBench]:
    """A machine on which containerd runs."""
    for name in PROGRAMS:
        require(name, request.param)
    if not program().exists() and (why := cannot_build()) is not None:
        pytest.skip(f"lane windows: {why}")
    with made_of_wine(tmp_path_factory.mktemp("machine"), request.param) as made:
        first = made.converge()
        assert first.recap["win1"].changed == 1, first
        yield made


def test_containerd_runs_and_the_second_run_changes_nothing(machine: WineBench, judged: Callable[..., None]) -> None:
    before = machine.pid(EXE)
    log = machine.text(LOG)
    assert "containerd successfully booted" in log
    again = machine.converge()
    assert again.recap["win1"].changed == 0, again
    assert machine.pid(EXE) == before
    judged("containerd", machine.version, "a whole machine: role, nssm, ready", "second run: changed=0")


def test_a_changed_option_restarts_it(machine: WineBench) -> None:
    before = machine.pid(EXE)
    changed = machine.converge(winkube_containerd_log_level="debug")
    assert changed.recap["win1"].changed == 1, changed
    assert machine.pid(EXE) != before
    assert machine.converge(winkube_containerd_log_level="debug").recap["win1"].changed == 0
    assert machine.converge().recap["win1"].changed == 1


def test_a_configuration_that_containerd_refuses_is_rolled_back(machine: WineBench) -> None:
    """Ours is TOML and has what the role checks; only containerd itself knows that there is no such plugin."""
    text = machine.text(CONFIG)
    mine = machine.bench.file("refused.toml.j2", 'required_plugins = ["io.containerd.winkube.v1.nowhere"]\n' + text)
    run = machine.site(winkube_containerd_config_template=str(mine))
    assert run.rc != 0, run
    assert "Rolled back." in run.output, run
    assert machine.text(CONFIG) == text
    assert machine.pid(EXE)
    again = machine.converge()
    assert again.recap["win1"].changed == 0, again


def test_a_program_that_does_not_work_is_rolled_back(machine: WineBench) -> None:
    """A program that ends at once, under the name of containerd.exe."""
    broken = machine.containerd(machine.version, containerd=ends_at_once())
    run = machine.site(archive=broken)
    assert run.rc != 0, run
    assert "Rolled back." in run.output, run
    assert machine.pid(EXE)
    again = machine.converge()
    assert again.recap["win1"].changed == 0, again


OPEN = "tcp_address: '127.0.0.1:{port}', prove: never, expires_after: 1m, expires_restart: true"
SECURE = "{{{open}, certificates: {{folder: '{folder}'}}}}"


def refused(address: Address, tls: ClientTls | None) -> bool:
    """Whether nobody answers CRI's question there."""
    try:
        ask(address, tls)
    except CriError as error:
        return bool(error.code == "UNAVAILABLE")
    return False


def tcp(machine: WineBench, options: str) -> Run:
    run = machine.bench.ansible_playbook(machine.bench.play(PLAY + TASK.format(options)))
    assert run.rc == 0, run
    return run


@pytest.mark.row("CT-12")
def test_cri_over_tcp_is_opened_asked_and_closed(
    machine: WineBench, tmp_path: Path, judged: Callable[..., None]
) -> None:
    """As tests/real/test_cri_tcp.py has it, on a whole machine: containerd.exe itself answers, and nssm restarts it."""
    address = Address("127.0.0.1", free_port())
    before, first, text = machine.text(LOG), machine.pid(EXE), machine.text(CONFIG)
    listens = f'address="{address}"'
    assert refused(address, None)
    options = SECURE.format(open=OPEN.format(port=address.port), folder=tmp_path / "cri")
    assert tcp(machine, options).recap["win1"].changed == 1
    second = machine.pid(EXE)
    assert second != first
    assert listens in machine.text(LOG).removeprefix(before)

    own = ClientTls(*(str(tmp_path / "cri" / name) for name in ("ca.crt", "client.crt", "client.key")))
    stranger = certificates(tmp_path, "stranger")
    assert ask(address, own) == "containerd"
    for other in (ClientTls(own.ca, stranger.cert, stranger.key), ClientTls(own.ca), None):
        assert refused(address, other)
    asked = machine.bench.ansible_playbook(
        machine.bench.play(ASKED.format(address=address, ca=own.ca, cert=own.cert, key=own.key))
    )
    assert asked.rc == 0, asked
    assert f"containerd {machine.version}, apis v1" in asked.output, asked

    opened = machine.text(LOG)
    machine.host.in_turn(lambda: machine.node.clock.advance(75))
    third = machine.pid(EXE)
    assert third != second
    assert refused(address, own)
    assert "successfully booted" in machine.text(LOG).removeprefix(opened)
    assert listens not in machine.text(LOG).removeprefix(opened)

    tcp(machine, "{state: absent}")
    assert tcp(machine, "{state: absent}").recap["win1"].changed == 0
    assert not_effective(effective(machine.text(CONFIG)), None) == ""
    machine.host.in_turn(lambda: machine.node.drive.write(CONFIG, text.encode()))
    machine.converge()
    judged("containerd", machine.version, "CRI over TCP with certificates, expiry", "log's line serving...")


ASKED = """
- hosts: windows
  gather_facts: false
  tasks:
    - winkube.node.k8s_windows_cri_info:
        gather: [containers, stats]
        address: {address}
        tls: {{enabled: true, ca: {ca}, cert: {cert}, key: {key}}}
        stats: {{samples: 2, interval: 1}}
      register: cri
    - ansible.builtin.debug:
        msg: "containerd {{{{ cri.version.runtimeVersion | replace('v', '') }}}}, apis {{{{ cri.apis | first }}}}"
"""
