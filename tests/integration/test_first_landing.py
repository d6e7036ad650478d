"""Reading as a fact, one action, one batch through probe, apply and runner; then again: one remote call, nothing
changed."""

from __future__ import annotations

import pytest

from tests.integration.lab import Bench

PLAY = """
- hosts: windows
  gather_facts: false
  roles:
    - winkube.node.winkube
  tasks:
    - name: Read the node
      winkube.node.win_k8s_node_info:
        node: "{{ winkube_node }}"
        refresh: true
      tags: always
    - ansible.builtin.import_role: {name: winkube.node.host, rolespec_validate: false}
"""


@pytest.mark.quick
def test_a_bare_node_gets_its_folders_and_the_second_run_is_one_remote_call(bench: Bench) -> None:
    bench.node("win1")
    first = bench.ansible_playbook(bench.play(PLAY))
    assert first.rc == 0, first
    assert first.recap["win1"].changed == 1, first
    assert r"created the folder C:\k\cni\config" in first.output
    assert bench.calls("win1") == 2

    bench.reset_ledger()
    second = bench.ansible_playbook(bench.play(PLAY))
    assert second.rc == 0, second
    assert second.recap["win1"].changed == 0, second
    assert bench.calls("win1") == 1
