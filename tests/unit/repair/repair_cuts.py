"""A batch cut at every moment, each time on a machine of its own: afterwards, without a new run, everything that
it rolls back is as before or as wanted."""

from __future__ import annotations

import contextlib
import itertools
import uuid
from collections.abc import Callable, Iterator
from typing import Any

from ansible_collections.winkube.node.plugins.plugin_utils.engine.batch import Batch
from ansible_collections.winkube.node.plugins.plugin_utils.node.link import NodeError, OutcomeUnknown

from tests.lab.machine.errors import PowerLost, SessionKilled, Unreachable
from tests.lab.machine.faults import CutKind, Fault, Moment
from tests.unit.components.nodes import LAYOUT

from .repair_machine import Machine

STATE = LAYOUT.state_dir.casefold()
OPEN = f"{LAYOUT.state_dir}\\open.json"
KINDS: tuple[CutKind, ...] = ("session", "runner", "power")
AFTER_BOOT_S = 130
Picture = dict[str, Any]


def picture(machine: Machine, *networks: str) -> Picture:
    """Services with their states, every file outside the state folder, Path, and these networks."""
    node = machine.node
    drive = {
        path: value
        for path, value in node.dump()["drive"].items()
        if not path.casefold().startswith((STATE, "c:\\windows", "c:\\users"))
    }
    services = {name: machine.state(name) for name in ("containerd", "kubelet", "flanneld", "kube-proxy")}
    there = sorted(set(networks) & set(machine.networks()))
    path = "HKLM\\SYSTEM\\CurrentControlSet\\Control\\Session Manager\\Environment"
    return {"drive": drive, "services": services, "networks": there, "Path": node.registry.text(path, "Path")}


def cut_everywhere(
    make: Callable[[], Machine], plan: Callable[[Machine], Batch], *networks: str, every: int = 1, changes: bool = True
) -> tuple[int, list[str]]:
    """The number of cuts, and a sentence for each that left the node between old and new; `changes`: these differ."""
    whole = make()
    batch, old = plan(whole), picture(whole, *networks)
    whole.node.faults.trace.clear()
    answer = whole.send(batch)
    assert answer.outcome == "done", answer
    moments, new = list(dict.fromkeys(whole.node.faults.trace)), picture(whole, *networks)
    assert (old != new) is changes
    wrong = []
    chosen = moments[::every]
    for moment, kind in zip(chosen, itertools.cycle(KINDS), strict=False):
        machine = make()
        batch, before = plan(machine), picture(machine, *networks)
        with _cut(machine, moment, kind):
            machine.link.reconnect_s = 0
            machine.link.apply(batch, uuid.uuid4().hex)
        if not all(fault.fired for fault in machine.node.faults.armed):
            wrong.append(f"{kind} {moment}: was not cut")
        machine.node.boot()
        _settle(machine)
        after = picture(machine, *networks)
        if machine.node.drive.exists(OPEN):
            wrong.append(f"{kind} {moment}: a batch is still open")
        if after not in (before, new):
            wrong.append(f"{kind} {moment}: {_differing(before, after)}")
    return len(chosen), wrong


@contextlib.contextmanager
def _cut(machine: Machine, moment: Moment, kind: CutKind) -> Iterator[None]:
    machine.node.faults.arm(Fault(kind, moment.op, moment.when, moment.phase, moment.label))
    # The link gives up at once: only what the node does by itself counts.
    with contextlib.suppress(PowerLost, SessionKilled, Unreachable, OutcomeUnknown, NodeError):
        yield


def _settle(machine: Machine) -> None:
    node, end = machine.node, machine.node.clock.now() + 600
    while node.drive.exists(OPEN) and node.clock.now() < end:
        node.clock.advance(1)
    node.clock.advance(AFTER_BOOT_S)


def _differing(one: Picture, other: Picture) -> str:
    found = []
    for key in one:
        if key == "drive":
            found += [path for path in {*one[key], *other[key]} if one[key].get(path) != other[key].get(path)][:6]
        elif one[key] != other[key]:
            found.append(f"{key}: {other[key]}")
    return "; ".join(map(str, found))
