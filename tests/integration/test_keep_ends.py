"""A run that ends in its midst leaves each node old or new, and says so: what it has not begun is as it was, and
what it was changing stays marked until the next run has mended it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.integration.cutting import STATE
from tests.integration.lab import Bench, until
from tests.integration.test_budget import NEWER, is_cordoned, mark_of
from tests.integration.test_keep import KEEP, Kept
from tests.integration.test_patch import PATCH, notes
from tests.integration.whole import BRIDGE
from tests.lab.cluster import tenants
from tests.lab.cluster.kinds import BY_NAME
from tests.lab.cluster.trouble import Trouble

__all__ = ["notes"]

NEW = {"winkube_kubernetes_version": NEWER.kubernetes}


@pytest.fixture
def one(bench: Bench) -> Kept:
    """A node that is Ready."""
    made = Kept(bench, BRIDGE, NEWER, server=NEWER.kubernetes, containers=True)
    made.converge()
    return made


@contextmanager
def started(
    whole: Kept, name: str = "run", playbook: Path = KEEP, forks: int = 5, **more: Any
) -> Iterator[subprocess.Popen[str]]:
    """keep.yml to the newer Kubernetes as a CronJob starts it; it is over afterwards."""
    given = {"winkube_drain_options": tenants.OPTIONS, "winkube_budget_timeout": 0, **NEW, **more}
    extra = whole.bench.file(f"{name}.json", json.dumps(whole.variables(**given)))
    with whole.bench.start(playbook, "-e", f"@{extra}", "-f", forks) as run:
        try:
            yield run
        finally:
            if run.poll() is None:
                run.kill()


def ended(run: subprocess.Popen[str]) -> str:
    """What it said."""
    said = run.communicate(timeout=300)[0]
    assert "Traceback" not in said, said
    return said


def hold(whole: Kept, node: str = "win1") -> None:
    """A pod that no drain gets away."""
    budget = {"metadata": {"name": "held"}, "spec": {"selector": {"matchLabels": {"app": "held"}}}}
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "held", "uid": "u"}
    metadata = {"name": "held", "labels": {"app": "held"}, "ownerReferences": [owner]}
    spec = {"nodeName": node, "containers": [{"name": "a", "image": "registry.example.com/a:1"}]}
    with whole.cluster.api.lock:
        whole.cluster.store.create(BY_NAME["PodDisruptionBudget"], "default", budget)
        pod = {"metadata": metadata, "spec": spec, "status": {"phase": "Running"}}
        whole.cluster.store.create(BY_NAME["Pod"], "default", pod)


def is_under_change(whole: Kept) -> bool:
    """Whether a batch is at work on the machine, after the drain."""
    drive = whole.host.node.drive
    is_open = whole.host.in_turn(lambda: drive.is_file(f"{STATE}open.json"))
    return bool(is_open) and is_cordoned(whole, "win1")


def is_new(whole: Kept) -> bool:
    version: str = whole.cluster.nodes["win1"]["status"]["nodeInfo"]["kubeletVersion"]
    return version == f"v{NEWER.kubernetes}"


def mended(whole: Kept) -> str:
    """The next run makes it right."""
    run = whole.site(playbook=KEEP, **NEW, winkube_drain_options=tenants.OPTIONS, winkube_budget_timeout=0)
    assert run.rc == 0, run.output
    assert is_new(whole) and not is_cordoned(whole, "win1") and mark_of(whole, "win1") is None, run.output
    return run.output


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_node_that_is_being_drained_is_given_back(one: Kept, number: int) -> None:
    hold(one)
    before = one.pid("kubelet")
    with started(one) as run:
        until(lambda: is_cordoned(one, "win1"))
        run.send_signal(number)
        said = ended(run)
    assert run.returncode != 0
    assert not is_cordoned(one, "win1") and mark_of(one, "win1") is None, said
    assert one.pid("kubelet") == before
    assert "win1: nothing was changed on it; its Node is as before this run." in said, said


@pytest.fixture
def patched(bench: Bench, notes: Path) -> Kept:
    """Two nodes that are Ready, and lack an update each."""
    made = Kept(bench, BRIDGE, server=BRIDGE.kubernetes, containers=True)
    bench.node("win2", address="192.168.122.232", containers=True)
    made.converge()
    for name in ("win1", "win2"):
        (notes / name).write_text("1", encoding="utf-8")
    (notes / "asked").touch()
    return made


BOTH: dict[str, Any] = {"playbook": PATCH, "forks": 1, "winkube_serial": 2, "winkube_max_unavailable": 2}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_nodes_that_are_drained_for_updates_are_given_back_while_the_batch_waits(
    patched: Kept, notes: Path, number: int
) -> None:
    hold(patched, "win2")
    with started(patched, **BOTH) as run:
        until(lambda: is_cordoned(patched, "win1") and is_cordoned(patched, "win2"))
        run.send_signal(number)
        said = ended(run)
    assert run.returncode != 0
    for name in ("win1", "win2"):
        assert not is_cordoned(patched, name) and mark_of(patched, name) is None, said
        assert f"{name}: nothing was changed on it; its Node is as before this run." in said, said
    assert "installed" not in (notes / "asked").read_text(encoding="utf-8")


def test_of_a_batch_that_is_updated_one_node_after_the_other_those_that_wait_are_given_back(
    patched: Kept, notes: Path
) -> None:
    (notes / "slow").touch()
    with started(patched, **BOTH) as run:
        until(lambda: "win1 installed" in (notes / "asked").read_text(encoding="utf-8"))
        run.terminate()
        said = ended(run)
    assert run.returncode != 0
    assert is_cordoned(patched, "win1") and mark_of(patched, "win1") is not None, said
    assert not is_cordoned(patched, "win2") and mark_of(patched, "win2") is None, said
    (notes / "slow").unlink()
    again = patched.site(playbook=PATCH)
    assert again.rc == 0 and "uncordoned win1" in again.output, again
    assert not is_cordoned(patched, "win1") and mark_of(patched, "win1") is None, again


@pytest.mark.exhaustive  # a moment that is looked for from outside may be over before it is seen
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_node_under_change_stays_marked_and_the_next_run_makes_it_right(one: Kept, number: int) -> None:
    with started(one) as run:
        until(lambda: is_under_change(one))
        os.kill(run.pid, number)
        said = ended(run)
    assert run.returncode != 0, said
    assert is_cordoned(one, "win1") and mark_of(one, "win1") is not None, said
    assert "uncordoned win1" in mended(one)


@pytest.mark.exhaustive  # likewise
def test_a_node_whose_object_is_deleted_meanwhile(one: Kept) -> None:
    with started(one) as run:
        until(lambda: is_under_change(one))
        one.cluster.request("DELETE", "/api/v1/nodes/win1")
        said = ended(run)
    assert "[ERROR]" in said or run.returncode == 0, said
    one.cluster.advance(30)
    again = one.site(playbook=KEEP, **NEW, winkube_drain_options=tenants.OPTIONS)
    assert again.rc != 0 and "join again with playbooks/repair.yml -e winkube_repair=rejoin" in again.output, (
        again.output
    )


def test_two_runs_at_once_take_one_node_after_the_other(bench: Bench) -> None:
    whole = Kept(bench, BRIDGE, NEWER, server=NEWER.kubernetes, containers=True)
    bench.node("win2", address="192.168.122.232", containers=True)
    whole.converge()
    most = 0
    with started(whole, "first") as first, started(whole, "second") as second:
        while None in {first.poll(), second.poll()}:
            most = max(most, sum(is_cordoned(whole, name) for name in ("win1", "win2")))
            time.sleep(0.02)
        said = ended(first), ended(second)
    assert most == 1, said
    for text in said:
        assert "busy with" in text or "The budget is full" in text or "failed=0" in text, text
    mended(whole)
    assert not is_cordoned(whole, "win2") and mark_of(whole, "win2") is None


@pytest.mark.slow
@pytest.mark.exhaustive
def test_an_api_server_that_goes_away_in_mid_run(one: Kept) -> None:
    with started(one) as run:
        until(lambda: is_under_change(one))
        one.cluster.https.trouble = Trouble("reset", of=lambda request: request.path.startswith("/api"))
        said = ended(run)
    assert run.returncode != 0 and "[ERROR]" in said, said
    one.cluster.https.trouble = lambda request: ""
    mended(one)
