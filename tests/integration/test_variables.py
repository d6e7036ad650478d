"""A misspelled variable or one of a wrong type ends site.yml in its first task, before the node is asked anything."""

from __future__ import annotations

import pytest

from tests.integration.lab import ROOT, Bench

SITE = ROOT / "playbooks" / "site.yml"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ('{"winkube_kublet_verbosity": 2}', "Did you mean winkube_kubelet_verbosity?"),
        ('{"winkube_kubelet_verbosity": "high"}', "winkube_kubelet_verbosity: it is 'high'"),
        ('{"winkube_optional_components": ["windows-exporter"]}', "windows-exporter"),
    ],
)
def test_nothing_is_done_with_such_a_variable(bench: Bench, given: str, said: str) -> None:
    bench.node()
    run = bench.ansible_playbook(SITE, "-e", "winkube_hosts=windows", "-e", given)
    assert run.rc != 0 and said in " ".join(run.output.split()), run.output
    assert run.output.count("TASK [") == 1, "the first task"
    assert bench.calls("win1") == 0


def test_each_of_many_nodes_is_told_the_whole_sentence(bench: Bench) -> None:
    for number in range(1, 4):
        bench.node(f"win{number}", f"10.77.0.{number}")
    given = '{"winkube_kublet_verbosity": 2}'
    run = bench.ansible_playbook(SITE, "-e", "winkube_hosts=windows", "-e", given)
    messages = [line for line in run.stdout.splitlines() if line.startswith("fatal: ")]
    assert len(messages) == 3, run
    assert all("Did you mean winkube_kubelet_verbosity?" in line for line in messages), run
