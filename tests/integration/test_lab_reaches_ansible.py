"""The real ansible-core over the real OpenSSH client against simulated nodes: is the road sound, what is counted"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import subprocess
import threading
from dataclasses import replace

import pytest

from tests.integration.lab import Bench, says_that_it_is_off
from tests.lab.machine.errors import PowerLost, SessionKilled
from tests.lab.machine.faults import CutKind, Fault
from tests.lab.server import host as host_module
from tests.lab.server import modules
from tests.lab.server.modules import Call, Module
from tests.lab.server.recordings import known

PING = """
- hosts: all
  gather_facts: false
  tasks:
    - ansible.windows.win_ping:
"""
DIE = "ansible.windows.win_ping"


def sftp(bench: Bench, batch: str, target: str = "Administrator@192.168.122.220") -> subprocess.CompletedProcess[str]:
    """Run OpenSSH's sftp with commands from a batch file."""
    path = bench.file("batch", batch)
    command = ["sftp", "-F", str(bench.lab.ssh_config), "-b", str(path), target]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_one_ping_is_one_exec_channel(bench: Bench) -> None:
    bench.node("win1")
    run = bench.ansible("win1", "-m", "ansible.windows.win_ping", "-a", "data=hello")
    assert run.rc == 0, run
    assert '"ping": "hello"' in run.stdout
    account = bench.account("win1")
    assert (account.execs, account.subsystems, account.connections) == (1, 0, 1)
    assert account.modules == ["ansible.windows.win_ping"]
    assert account.bytes_in > 10_000  # Ansible's wrapper scripts are in each payload
    assert 0 < account.bytes_out < 1_000


def test_tasks_of_a_play_share_one_connection(bench: Bench) -> None:
    bench.node("win1")
    run = bench.ansible_playbook(
        bench.play(PING + "    - ansible.windows.win_ping:\n    - ansible.windows.win_ping:\n")
    )
    assert run.recap["win1"].ok == 3, run
    assert (bench.account("win1").execs, bench.account("win1").connections) == (3, 1)


@pytest.mark.exhaustive
def test_ten_nodes_in_one_play(bench: Bench) -> None:
    bench.nodes(10)
    run = bench.ansible_playbook("--forks", "10", bench.play(PING))
    assert run.rc == 0, run
    assert {name: recap.ok for name, recap in run.recap.items()} == {f"win{n}": 1 for n in range(1, 11)}
    figures = {(bench.account(f"win{n}").remote_calls, bench.account(f"win{n}").bytes_in) for n in range(1, 11)}
    assert len(figures) == 1, "equal nodes cost equally much"
    assert figures.pop()[0] == 1


def test_a_busy_node_does_not_hold_up_the_others(bench: Bench) -> None:
    busy = bench.node("win1")
    bench.node("win2", "192.168.122.221")
    answered = threading.Event()

    def ping() -> None:
        if bench.ansible("win1", "-m", "ansible.windows.win_ping").rc == 0:
            answered.set()

    with busy.node.lock:
        waiting = threading.Thread(target=ping)
        waiting.start()
        run = bench.ansible("win2", "-m", "ansible.windows.win_ping")
        assert run.rc == 0, run
        assert not answered.is_set()
    waiting.join(timeout=300)
    assert answered.is_set()


def test_facts_of_the_simulated_machine(bench: Bench) -> None:
    bench.node("win1", release="2025")
    run = bench.ansible("win1", "-m", "ansible.builtin.setup")
    assert run.rc == 0, run
    for fact in (
        '"ansible_os_family": "Windows"',
        '"ansible_distribution_version": "10.0.26100.0"',
        '"ansible_hostname": "WIN1"',
    ):
        assert fact in run.stdout


def test_the_probe_runs_with_the_arguments_that_were_sent(bench: Bench) -> None:
    """node_probe.ps1 is sent by Ansible, and its twin answers from the simulated machine."""
    bench.node("win1")
    request = (
        '{"schema": 1, "state_dir": "C:\\\\ProgramData\\\\winkube", '
        '"queries": [{"key": "k", "op": "file", "path": "C:\\\\Windows"}]}'
    )
    play = bench.play(
        "- hosts: all\n  gather_facts: false\n  tasks:\n    - winkube.node.node_probe:\n"
        f"        request: {request!r}\n      register: found\n"
        "    - ansible.builtin.debug: {var: found.parts.k.kind}\n"
    )
    run = bench.ansible_playbook(play)
    assert run.rc == 0, run
    assert '"found.parts.k.kind": "directory"' in run.stdout


def test_a_module_that_is_not_simulated_is_refused_by_name(bench: Bench) -> None:
    bench.node("win1")
    run = bench.ansible("win1", "-m", "ansible.windows.win_shell", "-a", "dir")
    assert run.rc == 2, run
    assert "The simulated node win1 does not know the module ansible.windows.win_shell; it answers" in run.output


def test_raw_commands_are_answered_from_a_table_or_refused(bench: Bench) -> None:
    bench.node("win1")
    assert "WIN1" in bench.ansible("win1", "-m", "ansible.builtin.raw", "-a", "hostname").stdout
    refused = bench.ansible("win1", "-m", "ansible.builtin.raw", "-a", "dir C:")
    assert refused.rc == 2, refused
    assert "has no shell" in refused.output
    assert "dir C:" in refused.output
    assert bench.account("win1").commands == ["hostname", "dir C:"]


def test_changed_wrapper_scripts_are_refused_with_the_command_that_records_them(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = tuple(replace(item, scripts={**item.scripts, "exec_wrapper.ps1": "0" * 64}) for item in known())
    monkeypatch.setattr(host_module, "known", lambda: changed)
    bench.node("win1")
    run = bench.ansible("win1", "-m", "ansible.windows.win_ping")
    assert run.rc == 2, run
    assert "exec_wrapper.ps1 differ from every recording" in run.output
    assert "python -m tests.lab record-payload" in run.output


@pytest.mark.exhaustive
def test_payloads_in_files_are_refused_in_a_sentence(bench: Bench) -> None:
    bench.node("win1")
    run = bench.ansible("win1", "-m", "ansible.windows.win_ping", env={"ANSIBLE_KEEP_REMOTE_FILES": "1"})
    assert run.rc == 2, run
    assert "answers pipelined payloads only" in run.output


@pytest.mark.parametrize(("password", "rc"), [("right", 0), ("wrong", 4)])
def test_password_login(bench: Bench, password: str, rc: int) -> None:
    host = bench.node("win1", password="right")
    # A key that the node does not know, so that the password is what decides.
    bench.lab.ssh_config.write_text(
        "\n".join(line for line in bench.lab.ssh_config.read_text().splitlines() if "IdentityFile" not in line) + "\n"
    )
    run = bench.ansible("win1", "-m", "ansible.windows.win_ping", "-e", f"ansible_password={password}")
    assert run.rc == rc, run
    assert bench.calls("win1") == (1 if rc == 0 else 0)
    assert (bench.account("win1").failed_logins > 0) == (rc != 0)
    assert host.node.counters.modules == {}


def test_unreachable_node(bench: Bench) -> None:
    bench.node("win1")
    bench.node("win2", "192.168.122.221", access="refused")
    run = bench.ansible_playbook(bench.play(PING))
    assert run.rc == 4, run
    assert run.recap["win1"].ok == 1
    assert run.recap["win2"].unreachable == 1
    assert says_that_it_is_off("win2", run)
    assert bench.account("win2").refused_connections > 0


def test_an_address_that_no_node_claims(bench: Bench) -> None:
    bench.node("win1")
    config = bench.lab.ssh_config
    config.write_text(config.read_text().replace("Host 192.168.122.220", "Host 192.168.122.222 192.168.122.220"))
    run = bench.ansible("all", "-i", "192.168.122.222,", "-m", "ansible.builtin.raw", "-a", "hostname")
    assert run.rc == 4, run
    assert "no simulated node claims 192.168.122.222:22; the lab has win1 192.168.122.220:22" in run.output


@pytest.mark.parametrize("error", [SessionKilled, PowerLost])
def test_a_lost_session_has_no_exit_status(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def die(call: Call) -> dict[str, object]:
        if error is PowerLost:
            call.node.power_off()
        raise error("cut by a test")

    bench.node("win1")
    with monkeypatch.context() as patch:
        patch.setitem(modules.TABLE, DIE, Module(die))
        run = bench.ansible_playbook(bench.play(PING))
    assert run.rc == 4, run
    assert run.recap["win1"].unreachable == 1
    assert bench.account("win1").aborted == 1


@pytest.mark.exhaustive
def test_a_node_without_power_is_unreachable_until_it_boots(bench: Bench) -> None:
    host = bench.node("win1")
    host.in_turn(host.node.power_off)
    assert bench.ansible("win1", "-m", "ansible.windows.win_ping").rc == 4
    host.in_turn(host.node.boot)
    assert bench.ansible("win1", "-m", "ansible.windows.win_ping").rc == 0


def test_sftp_onto_the_drive(bench: Bench) -> None:
    host = bench.node("win1")
    content = bytes(range(256)) * 3000
    source, back = bench.directory / "source.bin", bench.directory / "back.bin"
    source.write_bytes(content)
    result = sftp(
        bench,
        f'pwd\nmkdir /C:/k\nput "{source}" "/C:/k/new file.bin"\nls /C:/k\nrename "/C:/k/new file.bin" /C:/K/a.bin\n'
        f'get /C:/k/a.bin "{back}"\n',
    )
    assert result.returncode == 0, result
    assert "Remote working directory: /C:/Users/Administrator" in result.stdout
    assert "/C:/k/new file.bin" in result.stdout
    assert host.node.drive.read("C:\\k\\a.bin") == content
    assert back.read_bytes() == content
    account = bench.account("win1")
    assert (account.execs, account.subsystems) == (0, 1)
    assert account.bytes_in >= len(content)
    assert account.bytes_out >= len(content)


def test_sftp_answers_windows_errors(bench: Bench) -> None:
    host = bench.node("win1")
    host.node.drive.write("C:\\held.dll", b"x")
    host.node.drive.entry("C:\\held.dll").images.add(4711)
    missing = sftp(bench, "get /C:/nothing.txt\n")
    assert missing.returncode == 1
    assert "not found" in missing.stderr
    held = sftp(bench, "rm /C:/held.dll\n")
    assert held.returncode == 1
    assert "Access is denied" in held.stderr or "Permission denied" in held.stderr
    assert host.node.drive.read("C:\\held.dll") == b"x"


def test_latency_is_spent_on_each_call(bench: Bench) -> None:
    bench.node("win1", latency_s=0.7)
    slow = bench.ansible("win1", "-m", "ansible.builtin.raw", "-a", "hostname")
    bench.lab.host("win1").set(latency_s=0.0)
    fast = bench.ansible("win1", "-m", "ansible.builtin.raw", "-a", "hostname")
    assert slow.rc == fast.rc == 0
    assert slow.seconds >= 0.7


@pytest.mark.parametrize(("kind", "folder_made"), [("session", True), ("power", False)])
def test_a_cut_inside_a_batch_arrives_as_a_lost_connection(bench: Bench, kind: CutKind, folder_made: bool) -> None:
    """The runner's task outlives the session and finishes; after a power loss the node undoes by itself at boot."""
    node = bench.node("win1").node
    runner = "# the text of a runner\n"
    op = {"n": 0, "op": "mkdir", "args": {"path": "C:\\made"}, "undo": [{"op": "remove", "args": {"path": "C:\\made"}}]}
    state_dir = "C:\\ProgramData\\winkube"
    envelope = {
        "schema": 1,
        "kind": "submit",
        "id": "0123456789abcdef0123456789abcdef",
        "state_dir": state_dir,
        "controller": "test",
        "follow_s": 60,
        "runner": {"mode": "task", "sha256": hashlib.sha256(runner.encode()).hexdigest(), "text": runner},
        "batch": {
            "schema": 1,
            "component": "test",
            "deadline_s": 600,
            "pre": [],
            "ops": [op],
            "gate": [],
            "state_dir": state_dir,
        },
        "state": [],
    }
    envelope["batch"]["id"] = envelope["id"]  # type: ignore[index]
    batch = base64.b64encode(gzip.compress(json.dumps(envelope).encode())).decode()
    play = bench.play(
        f"- hosts: all\n  gather_facts: false\n  tasks:\n    - winkube.node.node_apply:\n        batch: {batch}\n"
    )
    node.faults.arm(Fault(kind, op=0, when="after", boot_after_s=20))
    run = bench.ansible_playbook(play)
    assert run.rc == 4, run
    assert run.recap["win1"].unreachable == 1
    assert bench.account("win1").aborted == 1
    with node.lock:
        node.clock.advance(120)
        assert node.powered
        assert node.drive.is_dir("C:\\made") is folder_made
    assert bench.ansible("win1", "-m", "ansible.windows.win_ping").rc == 0
