"""Several equal nodes in one run: what is the same of all of them is printed once, and the end says how each fared."""

from __future__ import annotations

import pytest

from tests.integration.lab import Bench, Run
from tests.integration.shown import Shown, measure
from tests.integration.test_first_landing import PLAY

NODES = 4


def right(run: Run, hosts: int = NODES) -> Shown:
    """What it shows, of which nothing is wrong."""
    shown = measure(run.stdout, [f"win{n}" for n in range(1, hosts + 1)])
    assert shown.wrong == (), run
    return shown


def test_equal_plans_are_printed_once_and_shown_for_each_when_verbose(bench: Bench) -> None:
    bench.nodes(NODES)
    planned = bench.ansible_playbook(bench.play(PLAY), "--check", "--diff")
    assert planned.rc == 0, planned
    assert planned.stdout.count("would create the folder C:\\k\\cni\\config") == 1, planned
    assert f"  host: win1 to win{NODES}: would create the folder" in planned.stdout, planned
    assert {line.heading for line in right(planned).lines} == {"winkube.node.host : Prepare the machine"}, planned
    assert planned.stdout.count("+++ after: C:\\k\\cni\\config\n") == NODES, (
        "a result has its whole diff, and Ansible shows it"
    )
    verbose = bench.ansible_playbook(bench.play(PLAY), "--check", "-v")
    assert verbose.stdout.count("would create the folder C:\\k\\cni\\config") >= NODES, verbose

    done = bench.ansible_playbook(bench.play(PLAY))
    assert done.rc == 0, done
    assert {line.component for line in right(done).lines} == {"host"}, done
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
    right(planned, 2)


SCREEN = """
PLAY [Make Windows machines Kubernetes nodes] **********************************

TASK [Read the node] ***********************************************************
ok: [win1]
  plan: win1, win2: 3 steps: host 2, cni 1
  plan: Taken from the cluster: cluster_cidr 10.244.0.0/16

TASK [winkube.node.host : Prepare the machine] *********************************
--- before
+++ after
@@ -1 +1,2 @@
   of the file
+  C:\\k

changed: [win1]
  win1: host: is waiting for the restart, 15 s so far
  host: win1: created the folder C:\\k

TASK [Fail if the node differs] ************************************************
[ERROR]: Task failed: Data could not be sent to remote host "10.77.0.2".
Disconnected from UNKNOWN port 65535
Origin: /playbooks/drift.yml:71:7

70     # Each node for itself
         ^ column 7

fatal: [win2]: UNREACHABLE! => {"changed": false, "unreachable": true}
ok: [win1] => {
    "msg": "  cni: of another's text"
}

PLAY RECAP *********************************************************************
win1                       : ok=3    changed=1    unreachable=0    failed=0    skipped=0    rescued=0    ignored=0
win2                       : ok=1    changed=0    unreachable=1    failed=0    skipped=0    rescued=0    ignored=0

win1: 2 steps (host); 2 s
win2: not reached in 'Read the node': no route; 2 s
"""


@pytest.mark.parametrize(
    ("old", "new", "dead", "wrong"),
    [
        ("", "", ("win2",), ""),
        ("  host: win1: created", "  cni: win1: created", ("win2",), "lines_under_a_wrong_heading"),
        ("  host: win1: created", "  win1: created", ("win2",), "lines_without_a_component"),
        ("  plan: Taken", "  Taken", ("win2",), "lines_without_a_component"),
        ("  plan: win1, win2", "win1, win2", ("win2",), "lines_without_a_component"),
        ("TASK [Read the node]", "TASK [Mark the nodes]", ("win2",), "lines_under_a_wrong_heading"),
        ("unreachable=1", "unreachable=0", ("win2",), "dead_nodes_green"),
        ("win2: not reached in", "win1, win2: Ready, in", ("win2",), "dead_nodes_green"),
        ("", "", (), "healthy_nodes_red"),
        ("win2: not reached in", "win1 to win2: not reached in", ("win2",), "healthy_nodes_red"),
    ],
)
def test_a_planted_line_is_found(old: str, new: str, dead: tuple[str, ...], wrong: str) -> None:
    """The measure itself: right as it stands, and each fault is seen."""
    counts = measure(SCREEN.replace(old, new), ["win1", "win2"], dead).counts()
    assert counts.pop("lines") == 3
    assert {name for name, count in counts.items() if count} == ({wrong} if wrong else set())
