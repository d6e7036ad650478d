"""Two live labs of one user: each answers for itself, although their machines have one name and one address."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.lab import Bench

CRYPTOGRAPHY = r"HKLM\SOFTWARE\Microsoft\Cryptography"
PLAY = """
- hosts: windows
  gather_facts: false
  tasks:
    - winkube.node.win_k8s_node_info:
        refresh: true
      register: seen
    - ansible.builtin.debug:
        msg: "machine {{ seen.node.system.machine }}"
"""


@pytest.mark.exhaustive
def test_a_connection_of_one_lab_is_not_taken_for_the_others(tmp_path: Path) -> None:
    first, second = Bench(tmp_path / "first"), Bench(tmp_path / "second")
    try:
        hosts = first.node(), second.node()
        machines = ("0aaa1111-0000-4000-8000-000000000001", "0bbb2222-0000-4000-8000-000000000002")
        for host, guid in zip(hosts, machines, strict=True):
            host.node.registry.set(CRYPTOGRAPHY, "MachineGuid", "string", guid)
        one, two = machines
        turns: tuple[tuple[Bench, str, str], ...] = ((first, one, two), (second, two, one), (first, one, two))
        for bench, own, other in turns:
            run = bench.ansible_playbook(bench.play(PLAY))
            assert run.rc == 0, run
            assert own in run.output
            assert other not in run.output
    finally:
        first.close()
        second.close()
