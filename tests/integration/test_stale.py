"""Somebody changes the node between reading and acting: nothing is done on old knowledge."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.lab import Bench, Run
from tests.integration.site import CONFIG, converge, differences, site

PLAY = """
- hosts: windows
  gather_facts: false
  roles: [winkube.node.winkube]
  tasks:
    - winkube.node.win_k8s_node_info: {node: "{{ winkube_node }}", refresh: true}
    - name: Somebody works on the node now
      ansible.builtin.shell: touch @/ready; for n in $(seq 100); do test -e @/go && exit 0; sleep 0.1; done; exit 1
      delegate_to: localhost
      vars: {ansible_connection: local, ansible_shell_type: sh}
    - ansible.builtin.import_role: {name: winkube.node.containerd, rolespec_validate: false}
"""


def site_while(bench: Bench, work: Callable[[], None], **more: Any) -> Run:
    """A run with `work` done on the node after it was read."""

    def wait_and_work() -> None:
        while not (bench.directory / "ready").exists():
            time.sleep(0.05)
        work()
        (bench.directory / "go").touch()

    thread = threading.Thread(target=wait_and_work, daemon=True)
    thread.start()
    run = site(bench, "-v", playbook=bench.play(PLAY.replace("@", str(bench.directory))), **more)
    thread.join(timeout=120)
    return run


@pytest.mark.exhaustive
def test_a_change_since_the_reading_is_seen_and_planned_for(bench: Bench) -> None:
    host = bench.node()
    converge(bench)
    bench.reset_ledger()
    by_hand = b"# a person\n"
    run = site_while(bench, lambda: host.in_turn(lambda: host.node.drive.write(CONFIG, by_hand)), version="1.7.12")
    assert run.rc == 0, run
    assert "the node has changed since it was read" in run.output, str(run)[-3000:]
    assert b"version = 2" in host.in_turn(lambda: host.node.drive.read(CONFIG))
    # read, stale, read again, done
    assert bench.calls() == 4


def test_what_the_change_makes_impossible_is_said(bench: Bench) -> None:
    host = bench.node()
    converge(bench, "--tags", "host")
    before = bench.dump()
    run = site_while(bench, lambda: host.in_turn(lambda: host.node.drive.mkdir(CONFIG)))
    assert run.rc != 0
    assert f"{CONFIG} should be a file, but is a directory" in run.output, run
    host.in_turn(lambda: host.node.drive.delete_tree(r"C:\Program Files\containerd"))
    assert differences(before, bench.dump()) == []
