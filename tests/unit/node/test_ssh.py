"""OpenSSH's options that detect a silent node, and the end of a shared connection."""

from __future__ import annotations

import signal
import subprocess
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.node import ssh


class Connection:
    """The used part of Ansible's connection plugin. `says` is the answer of the shared connection's process."""

    def __init__(self, transport: str = "ssh", says: str = "", **options: Any) -> None:
        self.transport = transport
        self.says = says
        self.options: dict[str, Any] = {"ssh_executable": "ssh", "host": "10.0.0.1", **options}
        self.asked: list[str] = []

    def get_option(self, name: str) -> Any:
        return self.options[name]

    def set_option(self, name: str, value: Any) -> None:
        self.options[name] = value

    def _build_command(self, binary: str, subsystem: str, *words: str) -> list[bytes]:
        self.asked.append(" ".join([binary, subsystem, *words]))
        return [b"echo", self.says.encode()]


def test_ours_comes_behind_the_users_own_and_once() -> None:
    own = "-o ServerAliveInterval=30"
    assert ssh.add_keep_alive(own) == f"{own} {ssh.KEEP_ALIVE}"
    assert ssh.add_keep_alive(ssh.add_keep_alive(own)) == ssh.add_keep_alive(own)
    assert ssh.add_keep_alive(None) == ssh.add_keep_alive("") == ssh.KEEP_ALIVE


def test_every_program_of_openssh_is_told() -> None:
    connection = Connection(ssh_extra_args="-v", sftp_extra_args=None, scp_extra_args="")
    ssh.keep_alive(connection)
    assert connection.options["ssh_extra_args"] == f"-v {ssh.KEEP_ALIVE}"
    assert connection.options["sftp_extra_args"] == connection.options["scp_extra_args"] == ssh.KEEP_ALIVE


@pytest.mark.parametrize("transport", ["winrm", "psrp", "local"])
def test_other_connections_are_left_alone(transport: str) -> None:
    connection = Connection(transport)
    before = dict(connection.options)
    ssh.keep_alive(connection)
    ssh.end_master(connection)
    assert connection.options == before and not connection.asked


def test_no_shared_connection_is_told_nothing() -> None:
    connection = Connection(says="Control socket connect(/tmp/x): No such file or directory")
    ssh.end_master(connection)
    assert connection.asked == ["ssh ssh -O check 10.0.0.1"]


def test_one_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """It waits until the silent node has taken its goodbye."""
    monkeypatch.setattr(ssh, "EXIT_S", 0.2)
    with subprocess.Popen(["sleep", "60"]) as master:
        connection = Connection(says=f"Master running (pid={master.pid})")
        ssh.end_master(connection)
        assert master.wait(10) == -signal.SIGKILL
    assert connection.asked == ["ssh ssh -O check 10.0.0.1", "ssh ssh -O exit 10.0.0.1"]
