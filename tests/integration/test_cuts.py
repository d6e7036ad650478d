"""A kill at every op of containerd's batch: afterwards, without a new run, the node is as before or as wanted, never
between.

Many nodes in one play, each with its own cut. `SEED` moves which moment of an op (before, in, after) is cut on which
node.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from tests.integration.lab import Bench, Run
from tests.integration.site import CONFIG, converge, site
from tests.lab.machine.faults import Fault, When
from tests.lab.machine.node import SimulatedNode

SEED = int(os.environ.get("WINKUBE_SEED", "1"))
MOMENTS: tuple[When, ...] = ("before", "in", "after")
KINDS: tuple[Literal["session", "runner"], ...] = ("session", "runner")
FOLDER = r"C:\Program Files\containerd\bin"


@dataclass(frozen=True)
class Cut:
    """Which op of the batch, which kind of kill, and when."""

    op: int
    kind: Literal["session", "runner"]
    when: When

    def __str__(self) -> str:
        return f"{self.kind} {self.when} op {self.op}"


def cuts(ops: int) -> list[Cut]:
    """Both kinds of kill at each op, the moment by turns."""
    return [Cut(op, kind, MOMENTS[(op + SEED + n) % len(MOMENTS)]) for op in range(ops) for n, kind in enumerate(KINDS)]


def facets(node: SimulatedNode) -> dict[str, Any]:
    """What must be old or new as a whole: programs, configuration, service, Path."""
    drive = node.drive

    def content(path: str) -> bytes | None:
        return drive.read(path) if drive.is_file(path) else None

    service = node.services.config("containerd") if node.services.exists("containerd") else None
    return {
        "programs": {
            name: content(rf"{FOLDER}\{name}")
            for name in ("containerd.exe", "ctr.exe", "containerd-shim-runhcs-v1.exe")
        },
        "config": content(CONFIG),
        "command": service.image_path if service else None,
        "state": node.services.state("containerd") if service else None,
        "path": node.registry.text(r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Environment", "Path"),
        "receipt": content(r"C:\ProgramData\winkube\receipts\containerd.json"),
    }


def leftovers(node: SimulatedNode) -> list[str]:
    """Half-written and staged files."""
    ends = (".winkube-new", ".part")
    staging = "c:\\programdata\\winkube\\staging\\"
    return [
        path
        for path, entry in node.drive.walk()
        if entry.kind == "file" and (path.endswith(ends) or path.lower().startswith(staging))
    ]


def ops_of_last_batch(node: SimulatedNode) -> int:
    """How many ops the batch had that the node worked off last."""
    return 1 + max(moment.op for moment in node.faults.trace if moment.phase == "ops")


def look(bench: Bench, name: str, seconds: float = 0.0) -> dict[str, Any]:
    host = bench.lab.host(name)

    def work() -> dict[str, Any]:
        host.node.clock.advance(seconds)
        return facets(host.node)

    return host.in_turn(work)


def run_with_cuts(bench: Bench, plan: dict[str, Cut], version: str) -> Run:
    """One play over all nodes, each with its cut armed."""
    for name, cut in plan.items():
        host = bench.lab.host(name)
        host.node.faults.clear()
        host.node.faults.arm(Fault(cut.kind, cut.op, cut.when))
    return site(bench, "--tags", "containerd", "-f", "10", version=version)


@pytest.mark.parametrize("before", [None, "1.7.11"], ids=["install", "upgrade"])
def test_a_kill_at_every_op_leaves_old_or_new(bench: Bench, before: str | None) -> None:
    wanted = "1.7.12"
    bench.node("reference", "10.99.0.1")
    if before:
        converge(bench, version=before)
    else:
        converge(bench, "--tags", "host")
    reference = bench.lab.host("reference").node
    reference.faults.clear()
    converge(bench, version=wanted)
    ops = ops_of_last_batch(reference)
    assert ops > 10, "containerd's batch is longer than that"

    hosts = bench.nodes(len(cuts(ops)))
    plan = dict(zip((host.spec.name for host in hosts), cuts(ops), strict=True))
    converge(bench, "-f", "10", *(() if before else ("--tags", "host")), version=before or wanted)
    old = {name: look(bench, name) for name in plan}

    run_with_cuts(bench, plan, wanted)
    fired = [name for name in plan if all(fault.fired for fault in bench.lab.host(name).node.faults.armed)]
    assert fired == list(plan), "each cut has happened"
    found = {name: look(bench, name, 60) for name in plan}
    new = look(bench, "reference")
    for name, cut in plan.items():
        assert found[name] in (old[name], new), f"{name}: {cut}: {describe(found[name], old[name], new)}"
        assert leftovers(bench.lab.host(name).node) == [], f"{name}: {cut}"
    print(f"cuts: {len(plan)}, old: {sum(found[n] == old[n] for n in plan)}, new: {sum(found[n] == new for n in plan)}")

    for name in plan:
        bench.lab.host(name).node.faults.clear()
    converge(bench, "-f", "10", version=wanted)
    for name, cut in plan.items():
        assert look(bench, name) == new, f"{name}: {cut}"
    again = converge(bench, "-f", "10", version=wanted)
    assert {recap.changed for recap in again.recap.values()} == {0}


def describe(found: dict[str, Any], old: dict[str, Any], new: dict[str, Any]) -> str:
    """Which facet is which, for a failing assertion."""
    words = []
    for key, value in found.items():
        word = "old" if value == old[key] else "new" if value == new[key] else f"neither ({str(value)[:80]})"
        words.append(f"{key} {word}")
    return ", ".join(words)
