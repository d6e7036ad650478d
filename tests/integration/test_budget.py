"""Runs and people take Windows nodes away under one budget: nothing is begun where too many are away, and the node of a
dead run is made right by the next one, whatever its options. With Ansible's defaults."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.integration.lab import ROOT, Bench, Run
from tests.integration.whole import BRIDGE, Whole
from tests.lab.cluster import tenants
from tests.lab.cluster.kinds import BY_NAME
from tests.lab.machine.faults import ServiceFault

MARK = "winkube.node/mark"
NEWER = replace(BRIDGE, kubernetes="1.27.16")


@pytest.fixture
def whole(bench: Bench) -> Whole:
    """A node that is Ready, and win2 beside it in the cluster, whose machine no run sees."""
    made = Whole(bench, BRIDGE, NEWER, server=NEWER.kubernetes, containers=True)
    made.converge()
    other = made.cluster.nodes["win1"]
    metadata = {"name": "win2", "labels": {**other["metadata"]["labels"], "kubernetes.io/hostname": "win2"}}
    conditions = [{"type": "Ready", "status": "True", "lastTransitionTime": "2030-01-01T00:00:00Z"}]
    body = {"metadata": metadata, "spec": {}, "status": {"conditions": conditions}}
    with made.cluster.api.lock:
        made.cluster.store.create(BY_NAME["Node"], "", body)
    return made


def change(whole: Whole, name: str, *, cordoned: bool | None = None, **annotations: str | None) -> None:
    """As a person or another run does it."""
    said = {key.replace("__", "/"): value for key, value in annotations.items()}
    patch: dict[str, Any] = {"metadata": {"annotations": {key.replace("_", "."): value for key, value in said.items()}}}
    if cordoned is not None:
        patch["spec"] = {"unschedulable": True if cordoned else None}
    whole.cluster.request("PATCH", f"/api/v1/nodes/{name}", patch)


def upgrade(whole: Whole, *arguments: object, **more: Any) -> Run:
    """To the newer Kubernetes, drained, without patience."""
    given: dict[str, Any] = {
        "winkube_drain": True,
        "winkube_drain_options": tenants.OPTIONS,
        "winkube_budget_timeout": 0,
    }
    return whole.site(*arguments, winkube_kubernetes_version=NEWER.kubernetes, **given | more)


def mark_of(whole: Whole, name: str) -> str | None:
    found: dict[str, str] = whole.cluster.nodes[name]["metadata"].get("annotations") or {}
    return found.get(MARK)


def is_cordoned(whole: Whole, name: str) -> bool:
    return bool(whole.cluster.nodes[name]["spec"].get("unschedulable"))


def a_mark(run: str = "0123456789abcdef0123456789abcdef", *, cordoned: bool = True, **of: Any) -> str:
    """The mark of a run whose process was on another machine, unless `of` says otherwise."""
    told = {"id": run, "by": "ann@elsewhere (pid 7)", "pid": 7, "started": "1", "place": {"host": "elsewhere"}} | of
    return json.dumps(
        {"run": told, "why": "upgrade", "since": "2026-11-29T06:00:00Z", "budget": "1", "cordoned": cordoned}
    )


def test_the_last_free_node_is_not_taken_while_a_person_has_cordoned_the_other(whole: Whole) -> None:
    change(whole, "win2", cordoned=True)
    before = {service: whole.pid(service) for service in ("kubelet", "containerd")}
    full = upgrade(whole)
    assert full.rc != 0, full
    assert "1 of the Windows nodes may be away at once" in full.output, full
    assert "win2 (cordoned by a person). Not begun: win1." in full.output, full
    assert {service: whole.pid(service) for service in before} == before
    assert not is_cordoned(whole, "win1") and mark_of(whole, "win1") is None

    told = upgrade(whole, winkube_budget_full="report")
    assert told.rc == 0, told
    assert {service: whole.pid(service) for service in before} == before

    change(whole, "win2", winkube_node__paused="its disk is being replaced")
    done = upgrade(whole)
    assert done.rc == 0, done
    assert "cordoned win1" in done.output and "uncordoned win1" in done.output, done
    assert mark_of(whole, "win1") is None and not is_cordoned(whole, "win1")
    assert is_cordoned(whole, "win2"), "a person's cordon stays"
    again = upgrade(whole)
    assert again.recap["win1"].changed == 0, again


def test_the_node_of_a_dead_run_is_uncordoned_by_the_next_run_without_winkube_drain(whole: Whole) -> None:
    dead = a_mark()
    change(whole, "win1", cordoned=True, winkube_node__mark=dead)
    busy = whole.site()
    assert busy.rc != 0, busy
    said = " ".join(busy.output.split())
    assert "The Node win1 is busy with ann@elsewhere (pid 7), upgrade, since 2026-11-29T06:00:00Z" in said, busy
    assert "-e winkube_take_over=0123456789abcdef0123456789abcdef" in said, busy
    assert is_cordoned(whole, "win1") and mark_of(whole, "win1") == dead, "nothing was done"

    taken = whole.converge(winkube_take_over="0123456789abcdef0123456789abcdef")
    assert "uncordoned win1" in taken.output, taken
    assert not is_cordoned(whole, "win1") and mark_of(whole, "win1") is None
    assert whole.converge().recap["win1"].changed == 0


def test_a_paused_node_is_left_alone(whole: Whole) -> None:
    change(whole, "win1", winkube_node__paused="")
    run = whole.site(winkube_kubernetes_version=NEWER.kubernetes)
    assert run.rc != 0, run
    paused = "The Node win1 is paused (annotation winkube.node/paused)"
    assert paused in " ".join(run.output.split()), run
    first = whole.site(winkube_kubernetes_version=NEWER.kubernetes, winkube_preflight="only")
    assert first.rc != 0 and paused in " ".join(first.output.split()), first
    looked = whole.site(playbook=ROOT / "playbooks" / "drift.yml")
    assert looked.rc == 0, looked
    assert paused in " ".join(looked.output.split()), "who only looks is told"


def test_a_run_in_a_pod_that_is_gone_is_over(whole: Whole) -> None:
    change(whole, "win1", cordoned=True, winkube_node__mark=a_mark(pod="default/gone/1"))
    taken = whole.converge()
    assert "uncordoned win1" in taken.output, taken
    assert mark_of(whole, "win1") is None


def test_nothing_is_done_to_a_node_that_a_run_in_a_pod_works_on(whole: Whole) -> None:
    pod = {"metadata": {"name": "keep"}, "spec": {"containers": []}, "status": {"phase": "Running"}}
    with whole.cluster.api.lock:
        uid = whole.cluster.store.create(BY_NAME["Pod"], "default", pod)["metadata"]["uid"]
    change(whole, "win1", cordoned=True, winkube_node__mark=a_mark(pod=f"default/keep/{uid}"))
    busy = whole.site()
    assert busy.rc != 0 and 'Nothing is done to it."' in busy.output, busy
    assert is_cordoned(whole, "win1")


def test_a_node_whose_change_failed_stays_cordoned_until_the_next_run_has_mended_it(whole: Whole) -> None:
    once = ServiceFault("crash_at_start", times=1)
    whole.host.in_turn(lambda: whole.host.node.faults.service("kubelet", once))
    failed = upgrade(whole)
    assert failed.rc != 0, failed
    assert is_cordoned(whole, "win1") and mark_of(whole, "win1"), failed
    mended = upgrade(whole, winkube_drain=False)
    assert mended.rc == 0, mended
    assert "uncordoned win1" in mended.output, mended
    assert mark_of(whole, "win1") is None and not is_cordoned(whole, "win1")


def test_a_batch_is_claimed_whole_or_refused_before_its_first_change(bench: Bench) -> None:
    whole = Whole(bench, BRIDGE, NEWER, server=NEWER.kubernetes, containers=True)
    bench.node("win2", address="192.168.122.232", containers=True)
    whole.converge()
    refused = upgrade(whole)
    assert refused.rc != 0, refused
    assert "2 nodes would be away at once (win1, win2), and winkube_max_unavailable is 1" in refused.output, refused
    assert "(winkube_serial: 1)" in refused.output, refused
    assert not [name for name in ("win1", "win2") if is_cordoned(whole, name) or mark_of(whole, name)]

    done = upgrade(whole, winkube_max_unavailable="100%")
    assert done.rc == 0, done
    for name in ("win1", "win2"):
        assert f"uncordoned {name}" in done.output, done
        assert not is_cordoned(whole, name) and mark_of(whole, name) is None
