"""What goes wrong around a batch without anything being cut: services, files, disk, downloads, clock; from a seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.lab.machine.faults import Fault, ServiceFault, ServiceFaultKind
from tests.lab.machine.node import SimulatedNode

Arm = Callable[[SimulatedNode], None]
Document = dict[str, Any]
PAGE = b"<!DOCTYPE html><html><title>Sign in to the network</title></html>\r\n"
DAY = 24 * 3600.0
STARTS = frozenset({"start"})
SERVICE_FAULTS: tuple[tuple[ServiceFaultKind, float], ...] = (
    ("slow_start", 20.0),
    ("slow_stop", 15.0),
    ("crash_at_start", 1.0),
    ("crash_loop", 1.0),
    ("never_answers", 1.0),
)


@dataclass(frozen=True)
class Trouble:
    """name: for people. arm: makes it happen. mend: what a person does afterwards; then the next run must converge."""

    name: str
    arm: Arm
    mend: Arm
    may_block: bool = False
    """It lasts until it is mended, so that taking the batch back can fail as well."""


def troubles_of(batch: Document, dice: random.Random) -> list[Trouble]:
    """One of each kind that can befall this batch."""
    ops = list(batch["ops"])
    found = [
        *(_service_trouble(name, dice) for name in services_of(ops)),
        *_stuck(services_of(ops)),
        *_disk(ops, dice),
        *_files(ops, dice),
        *_downloads(ops),
        Trouble("the clock is two days slow", lambda node: node.clock.set_off(-2 * DAY), _clear(2 * DAY)),
    ]
    if any(op["op"] == "hns_network" for op in ops):
        found.append(Trouble("the virtual switch loses the static address", _lose_address, _clear()))
    return found


def services_of(ops: list[Document]) -> list[str]:
    """The services that a batch starts, in order."""
    waits = (op["args"] for op in ops if op["op"] == "wait" and op["args"]["for"] == "service")
    return list(dict.fromkeys(str(args["name"]) for args in waits if args.get("state") == "running"))


def _clear(clock_s: float = 0.0) -> Arm:
    def mend(node: SimulatedNode) -> None:
        node.faults.clear()
        node.network.portal = None
        node.clock.set_off(clock_s)

    return mend


def _lose_address(node: SimulatedNode) -> None:
    node.faults.lost_static_address = True


def _service_trouble(name: str, dice: random.Random) -> Trouble:
    kind, seconds = dice.choice(SERVICE_FAULTS)

    def arm(node: SimulatedNode) -> None:
        node.faults.service(name, ServiceFault(kind, seconds, times=1))

    return Trouble(f"{name}: {kind}, once", arm, _clear())


def _stuck(services: list[str]) -> Iterator[Trouble]:
    for name in services[-1:]:

        def arm(node: SimulatedNode, name: str = name) -> None:
            node.faults.service(name, ServiceFault("crash_at_start"))

        yield Trouble(f"{name} crashes at every start", arm, _clear(), may_block=True)


def _disk(ops: list[Document], dice: random.Random) -> Iterator[Trouble]:
    for when in ("before", "in", "after"):
        index = dice.randrange(len(ops))

        def arm(node: SimulatedNode, when: Any = when, index: int = index) -> None:
            node.faults.arm(Fault("disk_full", index, when))
            node.clock.call_later(200.0, lambda: setattr(node.faults, "disk_full_after", None))

        yield Trouble(f"somebody fills the disk {when} op {index} ({ops[index]['op']})", arm, _clear())


def _files(ops: list[Document], dice: random.Random) -> Iterator[Trouble]:
    moved = [op["args"] for op in ops if op["op"] in {"write", "move", "fetch", "unpack"}]
    targets = [str(args.get("path") or args.get("to") or args.get("archive")) for args in moved]
    if not targets:
        return
    path = dice.choice(targets)
    for seconds in (3.0, 300.0):

        def arm(node: SimulatedNode, seconds: float = seconds) -> None:
            node.faults.lock(path, node.clock.now() + seconds)

        yield Trouble(f"a scanner holds {path} for {seconds:g} s", arm, _clear())
    for delay in (2.0, 30.0):

        def delay_all(node: SimulatedNode, delay: float = delay) -> None:
            node.faults.antivirus_s = delay

        yield Trouble(f"a scanner holds each new program for {delay:g} s", delay_all, _clear())


def _downloads(ops: list[Document]) -> Iterator[Trouble]:
    if not any(op["op"] == "fetch" for op in ops):
        return

    def portal(node: SimulatedNode) -> None:
        node.network.portal = PAGE

    yield Trouble("a proxy answers every download with a page", portal, _clear())
