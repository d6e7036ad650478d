"""A kill at every op of every batch of both nodes: afterwards, without a new run, a node is as before or as wanted,
never between; and the next run converges.

The mass is cut in copies of the lab's process while one real run of site.yml goes on (tests/integration/cutting.py);
ten nodes are cut under the real Ansible, which then has to find its way by itself. `WINKUBE_SEED` moves which moment of
an op is cut by which kind of kill. The mass is a lane of its own, `make faults`, since it takes minutes:
`WINKUBE_FAULTS=some`, or `WINKUBE_FAULTS=all` for each kind of kill at each op, also where that takes long. Without
that lane a handful of each batch is cut, another with another seed.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass
from typing import Any, get_args

import pytest

from tests.integration.cutting import Cutter, leftovers
from tests.integration.lab import Bench
from tests.integration.records import secrets_of
from tests.integration.site import CONFIG, converge, site
from tests.integration.whole import KINDS, Whole
from tests.lab.machine.faults import CutKind, Fault, When
from tests.lab.machine.node import SimulatedNode

SEED = int(os.environ.get("WINKUBE_SEED", "1"))
ALL = os.environ.get("WINKUBE_FAULTS") == "all"
AT_LEAST = 200
"""Cuts over both nodes: half of them at each."""
COMPONENTS = {"host", "cni", "containerd", "kubelet", "join", "flanneld", "kube-proxy"}
FOLDER = r"C:\Program Files\containerd\bin"
HOSTS = 10


@pytest.mark.exhaustive
@pytest.mark.lane("faults")
@pytest.mark.parametrize("kind", KINDS)
def test_every_op_of_every_batch_of_a_node(bench: Bench, kind: str) -> None:
    whole = Whole(bench, KINDS[kind])
    # Windows' own sshd may be set to start late, two minutes after each boot.
    whole.host.in_turn(
        lambda: whole.host.node.services.change("sshd", "DelayedAutostart", "dword", 1)  # the run restarts the machine
    )
    cutter = Cutter(whole.host, whole.cluster, SEED, everything=ALL)
    bench.patience_s = 1200.0  # every batch waits for its cuts
    run = whole.site("-vvv")
    cutter.stop()
    print(
        f"{kind}, seed {SEED}: {cutter.cuts} cuts in {len(cutter.components)} batches, {cutter.seconds:.0f} s; "
        f"afterwards {cutter.old} old, {cutter.new} new; "
        f"at most {cutter.longest_s:.0f} s of the node's time until no batch was open; "
        f"{cutter.troubles} other troubles: {dict(cutter.outcomes)}"
    )
    assert cutter.wrong == [], "\n".join(["", *cutter.wrong])
    assert run.rc == 0, run
    assert set(cutter.components) == COMPONENTS
    assert cutter.cuts >= AT_LEAST // len(KINDS)
    assert cutter.troubles >= 40
    assert {"done", "undone"} <= set(cutter.outcomes), "some can be lived with, some cannot"
    again = whole.converge()
    assert again.recap["win1"].changed == 0
    assert len(secrets_of(bench)) >= 4, "the key that Ansible logs in with, the administrator's, tokens"


@pytest.mark.exhaustive
def test_two_cuts_and_two_troubles_in_each_batch_of_a_node(bench: Bench) -> None:
    """A sample of the above, of sessions and runners: in each run of the tests, and others with another seed."""
    kind = list(KINDS)[SEED % len(KINDS)]
    whole = Whole(bench, KINDS[kind])
    cutter = Cutter(whole.host, whole.cluster, SEED, sample=2, kinds=("session", "runner"))
    bench.patience_s = 900.0
    run = whole.site()
    cutter.stop()
    print(f"{kind}, seed {SEED}: {cutter.cuts} cuts, {cutter.troubles} troubles, {cutter.seconds:.0f} s")
    assert cutter.wrong == [], "\n".join(["", *cutter.wrong])
    assert run.rc == 0, run
    assert set(cutter.components) == COMPONENTS
    assert cutter.cuts >= 2 * len(COMPONENTS)
    assert cutter.old and cutter.new and cutter.troubles >= len(COMPONENTS)


@dataclass(frozen=True)
class Cut:
    """Which op of the batch, which kind of kill, and when."""

    op: int
    kind: CutKind
    when: When

    def __str__(self) -> str:
        return f"{self.kind} {self.when} op {self.op}"


def drawn(ops: int, count: int) -> list[Cut]:
    """Cuts spread over the batch, each kind of kill by turns."""
    dice = random.Random(SEED)
    kinds: tuple[CutKind, ...] = get_args(CutKind)
    return [
        Cut(op, kinds[n % len(kinds)], dice.choice(get_args(When)))
        for n, op in enumerate(sorted(dice.sample(range(ops), count)))
    ]


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


def ops_of_last_batch(node: SimulatedNode) -> int:
    """How many ops the batch had that the node worked off last."""
    return 1 + max(moment.op for moment in node.faults.trace if moment.phase == "ops")


def look(bench: Bench, name: str, seconds: float = 0.0) -> dict[str, Any]:
    host = bench.lab.host(name)

    def work() -> dict[str, Any]:
        host.node.clock.advance(seconds)
        return facets(host.node)

    return host.in_turn(work)


@pytest.mark.exhaustive
def test_ten_nodes_in_one_play_each_with_its_own_cut(bench: Bench) -> None:
    wanted, before = "1.7.12", "1.7.11"
    bench.patience_s = 600.0  # of eleven nodes
    reference = bench.node("reference", "10.99.0.1").node
    hosts = {f"win{n}": bench.lab.host(f"win{n}") for n, _ in enumerate(bench.nodes(HOSTS), 1)}
    converge(bench, "-f", "11", version=before)
    old = {name: look(bench, name) for name in hosts}
    reference.faults.clear()
    converge(bench, "-l", "reference", version=wanted)
    new = look(bench, "reference")
    plan = dict(zip(hosts, drawn(ops_of_last_batch(reference), HOSTS), strict=True))

    for name, cut in plan.items():
        node = hosts[name].node
        node.faults.clear()
        node.faults.arm(Fault(cut.kind, cut.op, cut.when, boot_after_s=20 if cut.kind == "power" else None))
    run = site(bench, "--tags", "containerd", "-f", "10", version=wanted)
    assert "Traceback" not in run.output
    assert [name for name in plan if not all(fault.fired for fault in hosts[name].node.faults.armed)] == []
    found = {name: look(bench, name, 60) for name in plan}
    for name, cut in plan.items():
        assert found[name] in (old[name], new), f"{name}: {cut}: {describe(found[name], old[name], new)}"
        assert leftovers(hosts[name].node) == [], f"{name}: {cut}"
    print(f"seed {SEED}: {', '.join(str(cut) for cut in plan.values())}")

    for name in plan:
        hosts[name].node.faults.clear()
    converge(bench, "-f", "11", version=wanted)
    for name, cut in plan.items():
        assert look(bench, name) == new, f"{name}: {cut}"
    again = converge(bench, "-f", "11", version=wanted)
    assert {recap.changed for recap in again.recap.values()} == {0}


def describe(found: dict[str, Any], old: dict[str, Any], new: dict[str, Any]) -> str:
    """Which facet is which, for a failing assertion."""
    words = []
    for key, value in found.items():
        word = "old" if value == old[key] else "new" if value == new[key] else f"neither ({str(value)[:80]})"
        words.append(f"{key} {word}")
    return ", ".join(words)
