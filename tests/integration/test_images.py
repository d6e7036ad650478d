"""Images in advance on a simulated node. The lab's ctr.exe knows `version` only: here it has a small image store."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.integration.lab import Bench
from tests.integration.site import converge, served, site
from tests.lab.machine.program import Caller, Run, text
from tests.lab.programs import catalogue, ctr

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

CORE = "mcr.microsoft.com/windows/servercore:ltsc2022"
PAUSE = "registry.k8s.io/pause:3.9"


class Store:
    """What one containerd has; `broken` are names that cannot be pulled."""

    def __init__(self, *images: str) -> None:
        self.images = list(images)
        self.calls: list[list[str]] = []
        self.broken: set[str] = set()

    def main(self, node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
        if "images" not in argv:
            return (yield from ctr.main(node, argv, stdin, caller))
        yield 1.0
        self.calls.append(argv[argv.index("images") :])
        assert argv[argv.index("--namespace") + 1] == "k8s.io"
        if "ls" in argv:
            return text(0, "".join(f"{image}\n" for image in self.images))
        if argv[-1] in self.broken:
            return text(1, "", f'ctr: failed to resolve reference "{argv[-1]}": not found\n')
        self.images.append(argv[-1])
        return text(0, "done\n")


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    made = Store(PAUSE)
    monkeypatch.setitem(catalogue.PROGRAMS, "ctr", (made.main, None))
    yield made


@pytest.mark.exhaustive
def test_what_is_not_there_is_pulled_once(bench: Bench, store: Store) -> None:
    bench.node()
    wanted = {"winkube_images": [CORE], "winkube_pause_image": PAUSE}
    run = converge(bench, **wanted)
    assert f"pulled {CORE}" in run.output, run
    assert store.images == [PAUSE, CORE]
    assert store.calls == [
        ["images", "ls", "-q"],
        ["images", "pull", "--hosts-dir", r"C:\ProgramData\containerd\certs.d", CORE],
    ]
    bench.reset_ledger()
    assert converge(bench, **wanted).recap["win1"].changed == 0
    assert bench.calls() == 1
    assert len(store.calls) == 2


@pytest.mark.exhaustive
def test_check_mode_says_what_would_be_pulled(bench: Bench, store: Store) -> None:
    """On a bare node, too, and a task changes that changes containerd alone."""
    bench.node()
    wanted = {"winkube_images": [CORE], "winkube_pause_image": PAUSE}
    run = converge(bench, "--check", **wanted)
    assert f"would pull {PAUSE}, {CORE}" in run.output and "would install containerd" in run.output, run
    assert store.calls == []
    converge(bench, **wanted)
    more = converge(bench, "--check", winkube_containerd_log_level="debug", **wanted)
    assert more.recap["win1"].changed == 1 and "would pull" not in more.output, more


def test_a_source_without_ctr_is_refused_before_anything_changes(bench: Bench, store: Store) -> None:
    """ctr.exe pulls, and comes with the archive: containerd was replaced before this was said."""
    host = bench.node()
    run = site(
        bench,
        winkube_images=[CORE],
        winkube_pause_image=PAUSE,
        winkube_containerd_url="http://xyz/containerd.exe",
        winkube_containerd_checksum=served(bench, "http://xyz/containerd.exe"),
    )
    assert run.rc != 0 and "A release archive of containerd brings it in" in run.output, run
    assert not host.in_turn(lambda: host.node.services.exists("containerd"))


def test_a_pull_that_fails_leaves_containerd_as_it_is(bench: Bench, store: Store) -> None:
    host = bench.node()
    store.broken.add(CORE)
    run = site(bench, winkube_images=[CORE], winkube_pause_image=PAUSE)
    assert run.rc != 0
    assert "not found" in run.output and "containerd itself stays as this task made it." in run.output, run
    assert host.in_turn(lambda: host.node.services.state("containerd")) == "running"
    store.broken.clear()
    assert converge(bench, winkube_images=[CORE], winkube_pause_image=PAUSE).recap["win1"].changed == 1
