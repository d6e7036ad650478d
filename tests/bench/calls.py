"""What the calls of one run were for, as the simulated node received them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.lab.machine.node import SimulatedNode
from tests.lab.machine.session import Session
from tests.lab.twin.apply import read_envelope

SWITCH_FOLLOWS = 4
"""One that the switch cuts off, two that find the node at work, one that hears the outcome."""
CUT_OFF = 2
"""Calls that reach the machine while its network is changed and never begin there."""


@dataclass(frozen=True)
class Call:
    """One run of node_probe or node_apply. kind: `read`, `submit`, `follow`; ops: the batch's, by name."""

    kind: str
    component: str = ""
    ops: tuple[str, ...] = ()


class Recorder:
    """Notes each call of a node from now on."""

    def __init__(self, node: SimulatedNode) -> None:
        self.calls: list[Call] = []
        node.before_module.append(self._note)

    def _note(self, session: Session, module: str, arguments: Mapping[str, Any]) -> None:
        self.calls.append(call_of(module, arguments))


def call_of(module: str, arguments: Mapping[str, Any]) -> Call:
    """A module's arguments, as sent, understood."""
    if module != "node_apply":
        return Call("read")
    envelope = read_envelope(str(arguments["batch"]))
    batch = envelope.get("batch") or {}
    ops = tuple(str(op["op"]) for op in batch.get("ops", []))
    return Call(str(envelope["kind"]), str(batch.get("component", "")), ops)


def components(calls: Iterable[Call]) -> int:
    """How many components were changed."""
    return len({call.component for call in calls if call.kind == "submit"})


def excepted(calls: Iterable[Call], never_began: int = 0) -> dict[str, int]:
    """The calls of a first join that no plan can spare, by reason; no more of each than there has to be. `never_began`:
    calls besides, of which no module ran.

    A second batch of a component is for what it cannot know before: what the cluster answers, an address that has to
    be taken. The external vSwitch is a batch of its own where flanneld does not make it, breaks every connection, so
    that its outcome is asked for, every eight seconds, and changes the node so much that it is read again.
    """
    seen = list(calls)
    batches = Counter(call.component for call in seen if call.kind == "submit")
    kinds = Counter(call.kind for call in seen)
    reasons = {
        "external vSwitch: a batch of its own": min(batches["flannel"] - 1, 1),
        "external vSwitch: the connection breaks": min(kinds["follow"], SWITCH_FOLLOWS),
        "external vSwitch: it cut calls off": min(never_began, CUT_OFF),
        "external vSwitch: the node is read again": min(kinds["read"] - 1, 1),
        "join: the cluster has to answer first": min(batches["join"] - 1, 1),
        "kube-proxy: the source VIP has to be taken first": min(batches["kube-proxy"] - 1, 1),
    }
    return {reason: count for reason, count in reasons.items() if count > 0}
