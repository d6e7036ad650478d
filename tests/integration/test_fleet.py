"""Several equal nodes in one run: what is the same of all of them is printed once, and the end says how each fared."""

from __future__ import annotations

import re

import pytest

from tests.integration.lab import Bench
from tests.integration.test_first_landing import PLAY

NODES = 4


def headings(stdout: str) -> dict[str, str]:
    """Each line of the callback, and the last heading above it; Ansible's defaults print one before a task begins."""
    found, heading = {}, ""
    for line in stdout.partition("PLAY RECAP")[0].splitlines():
        if line.startswith("TASK ["):
            heading = line.partition("[")[2].partition("]")[0]
        elif re.match(r"  [a-z_]+: win\d", line):
            found[line] = heading
    return found


def test_equal_plans_and_diffs_are_printed_once_and_shown_for_each_when_verbose(bench: Bench) -> None:
    bench.nodes(NODES)
    planned = bench.ansible_playbook(bench.play(PLAY), "--check", "--diff")
    assert planned.rc == 0, planned
    assert planned.stdout.count("would create the folder C:\\k\\cni\\config") == 1, planned
    assert f"  host: win1 to win{NODES}: would create the folder" in planned.stdout, planned
    assert set(headings(planned.stdout).values()) == {"winkube.node.host : Prepare the machine"}, planned
    assert planned.stdout.count("(-v shows it)") == NODES - 1, planned
    verbose = bench.ansible_playbook(bench.play(PLAY), "--check", "--diff", "-v")
    assert "(-v shows it)" not in verbose.stdout, verbose
    assert len(verbose.stdout.splitlines()) > 2 * len(planned.stdout.splitlines())

    done = bench.ansible_playbook(bench.play(PLAY))
    assert done.rc == 0, done
    assert set(headings(done.stdout).values()) == {"winkube.node.host : Prepare the machine"}, done
    (line,) = (line for line in done.stdout.splitlines() if line.startswith(f"win1 to win{NODES}: "))
    assert "steps (host); " in line
    again = bench.ansible_playbook(bench.play(PLAY))
    assert f"win1 to win{NODES}: " not in again.stdout, again


@pytest.mark.exhaustive
def test_nodes_that_differ_are_shown_one_by_one(bench: Bench) -> None:
    bench.nodes(2)
    first = bench.ansible_playbook(bench.play(PLAY), "--limit", "win1")
    assert first.rc == 0, first
    planned = bench.ansible_playbook(bench.play(PLAY), "--check", "--diff")
    assert "  host: win2: would create the folder" in planned.stdout, planned
    assert "(-v shows it)" not in planned.stdout, planned
