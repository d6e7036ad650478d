"""A connection that cannot reach Windows is refused before Ansible connects: nobody listens where these hosts point."""

from __future__ import annotations

import pytest

from tests.integration.lab import ROOT, Bench

SSH = "ansible_host: 127.0.0.1, ansible_port: 9, ansible_connection: ssh"


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        (SSH, "ansible_shell_type is not set"),
        ("ansible_connection: local", "ansible_connection is local"),
        ("ansible_host: 127.0.0.1, ansible_port: 22, ansible_connection: winrm", "port 22 is SSH's"),
    ],
)
def test_it_is_said_before_the_host_is_asked(bench: Bench, variables: str, said: str) -> None:
    inventory = bench.file("hosts.yml", f"windows_nodes: {{hosts: {{win1: {{{variables}}}}}}}\n")
    run = bench.ansible_playbook("-i", inventory, ROOT / "playbooks" / "site.yml")
    assert run.rc == 2, run
    assert said in " ".join(run.output.split()), run
    assert run.recap["win1"].unreachable == 0, "refused, not tried"


def test_the_same_host_with_a_shell_is_tried(bench: Bench) -> None:
    inventory = bench.file(
        "hosts.yml", f"windows_nodes: {{hosts: {{win1: {{{SSH}, ansible_shell_type: powershell}}}}}}\n"
    )
    run = bench.ansible_playbook("-i", inventory, ROOT / "playbooks" / "site.yml")
    assert run.recap["win1"].unreachable == 1, run
