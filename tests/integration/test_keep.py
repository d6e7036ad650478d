"""look.yml reads Node objects only; keep.yml makes right the nodes that differ, and no other. With core's defaults."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.lab import ROOT, Bench, Run
from tests.integration.test_budget import NEWER, change, is_cordoned, mark_of
from tests.integration.whole import BRIDGE, Whole
from tests.lab.cluster import tenants

LOOK, KEEP = ROOT / "playbooks" / "look.yml", ROOT / "playbooks" / "keep.yml"


@pytest.fixture
def two(bench: Bench) -> Whole:
    """Two nodes that are Ready."""
    made = Whole(bench, BRIDGE, NEWER, server=NEWER.kubernetes, containers=True)
    bench.node("win2", address="192.168.122.232", containers=True)
    made.converge()
    return made


def keep(whole: Whole, *arguments: object, **more: Any) -> Run:
    given: dict[str, Any] = {"winkube_drain_options": tenants.OPTIONS, "winkube_budget_timeout": 0}
    return whole.site(*arguments, playbook=KEEP, **given | more)


def test_a_look_reads_one_list_of_nodes_and_asks_no_machine(two: Whole) -> None:
    two.bench.reset_ledger()
    looked = two.site(playbook=LOOK)
    assert looked.rc == 0 and "Every Node is as wanted." in looked.output, looked
    assert two.bench.calls("win1") == two.bench.calls("win2") == 0

    change(two, "win2", cordoned=True)
    other = two.site(playbook=LOOK, winkube_kubernetes_version=NEWER.kubernetes)
    assert other.rc != 0, other
    assert "win1: OtherRelease: kubelet 1.27.4 runs, and 1.27.16 is wanted." in other.output, other
    assert "win2: Cordoned: A person has cordoned it." in other.output, other
    assert two.site(playbook=LOOK, winkube_look_fail=False).rc == 0


def test_only_the_nodes_that_differ_are_made_right(two: Whole) -> None:
    change(two, "win2", winkube_node__paused="")
    two.bench.reset_ledger()
    kept = keep(two, winkube_kubernetes_version=NEWER.kubernetes)
    assert kept.rc == 0, kept
    assert "uncordoned win1" in kept.output, kept
    assert two.bench.calls("win2") == 0, "a paused node is not touched"
    assert not is_cordoned(two, "win1") and mark_of(two, "win1") is None
    two.bench.reset_ledger()
    again = keep(two, winkube_kubernetes_version=NEWER.kubernetes)
    assert again.rc == 0 and again.recap["win1"].changed == 0, again
    assert two.bench.calls("win1") == 1, "one call where nothing differs"
    assert two.bench.calls("win2") == 0
