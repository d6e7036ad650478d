"""Ansible started from a process that has imported it already is the Ansible that a user starts; its pauses take no
real time."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from tests.integration.lab import Bench, Run

LOCAL = "-i", "localhost,", "-c", "local"
PLAY = """
- hosts: localhost
  gather_facts: false
  tasks:
    - ansible.builtin.debug:
        msg: "{{ lookup('env', 'HOME') }} {{ lookup('env', 'OF_THIS_RUN') }} {{ lookup('pipe', 'pwd') }}"
    - ansible.builtin.copy: {content: made, dest: "{{ playbook_dir }}/made", mode: "0600"}
      vars: {ansible_python_interpreter: "{{ ansible_playbook_python }}"}
"""
FAILING = "- hosts: localhost\n  gather_facts: false\n  tasks: [{ansible.builtin.fail: {msg: as it should}}]\n"
PATIENT = """
- hosts: localhost
  gather_facts: false
  tasks:
    - ansible.builtin.debug: {msg: again}
      register: found
      until: found is failed
      retries: 3
      delay: 20
      ignore_errors: true
"""


def both(tmp_path: Path, *arguments: object, **env: str) -> list[Run]:
    """The same command in the same folder: as a user starts it, and twice from the template."""
    runs = []
    for warm in (False, True):
        directory = tmp_path / "bench"
        directory.mkdir()
        bench = Bench(directory, warm=warm)
        try:
            bench.play(PLAY)
            bench.play(FAILING, "failing.yml")
            for _ in range(1 + warm):
                runs.append(bench.ansible_playbook(*LOCAL, *arguments, env=env))
                (directory / "made").unlink(missing_ok=True)
            assert list((directory / "home").rglob("ansible-local-*/*")) == []
        finally:
            bench.close()
        directory.rename(tmp_path / f"done-{warm}")
    return runs


@pytest.mark.parametrize(
    ("arguments", "status"),
    [(("play.yml", "-v"), 0), (("failing.yml",), 2), (("missing.yml",), 1), (("--no-such-option",), 2)],
)
def test_a_run_says_the_same_and_ends_the_same(tmp_path: Path, arguments: tuple[str, ...], status: int) -> None:
    cold, *warm = both(tmp_path, *arguments, OF_THIS_RUN="yes, of this run")
    assert cold.rc == status, cold
    for run in warm:
        assert (run.rc, run.stderr, run.recap) == (cold.rc, cold.stderr, cold.recap)
        if "-v" not in arguments:  # the copy's result has a time
            assert run.stdout == cold.stdout
    if status == 0:
        assert all("yes, of this run" in run.output and "made" in run.stdout for run in (cold, *warm))


@pytest.mark.exhaustive
def test_an_ansible_cfg_in_the_folder_counts(tmp_path: Path) -> None:
    directory = tmp_path / "bench"
    directory.mkdir()
    bench = Bench(directory)
    try:
        bench.file("ansible.cfg", "[defaults]\ndisplay_ok_hosts = false\n")
        run = bench.ansible_playbook(*LOCAL, bench.play(PLAY))
        assert run.rc == 0
        assert "ok: [localhost]" not in run.output, run
    finally:
        bench.close()


def test_pauses_take_no_real_time(bench: Bench) -> None:
    began = time.monotonic()
    run = bench.ansible_playbook(*LOCAL, bench.play(PATIENT))
    assert "FAILED - RETRYING" in run.output, run
    assert time.monotonic() - began < 50, "three pauses of 20 s"


def test_a_run_that_takes_too_long_is_ended(bench: Bench) -> None:
    bench.patience_s = 3.0
    slow = FAILING.replace("ansible.builtin.fail: {msg: as it should}", "ansible.builtin.command: sleep 600")
    with pytest.raises(subprocess.TimeoutExpired):
        bench.ansible_playbook(*LOCAL, bench.play(slow))
