# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which Nodes are away, and how many may be."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..cluster.records import NodeObject
from ..engine.resource import Refused
from .mark import Mark, find_mark, is_paused

_BUDGET = re.compile(r"([1-9]\d{0,5})|([1-9]\d?|100)%")
REGISTERED = timedelta(seconds=60)
"""A condition Ready that has not changed since this time after the Node was made has never been True: the kubelet
writes it with the Node. Source: kubernetes pkg/kubelet/kubelet_node_status.go, initialNode."""


@dataclass(frozen=True, slots=True)
class Budget:
    """So many Nodes may be away at once: `text` is a number or a percentage of those that count."""

    text: str

    @classmethod
    def parse(cls, value: object) -> Budget:
        """Of a variable's value. Refused."""
        text = str(value).strip()
        if not _BUDGET.fullmatch(text):
            raise Refused(
                f"max_unavailable: '{text}' is neither a number of Nodes from 1 nor a percentage from 1% to 100%."
            )
        return cls(text)

    def of(self, total: int) -> int:
        """For so many Nodes: a percentage is rounded down, and at least 1."""
        number = self.text.removesuffix("%")
        return int(number) if number == self.text else max(1, total * int(number) // 100)


@dataclass(frozen=True, slots=True)
class Seen:
    """A Node as the budget sees it. `counts` is false for one that a person has paused, and for one that was never
    Ready, as far as its condition tells."""

    name: str
    uid: str
    version: str
    """Its resourceVersion."""
    mark: Mark | None
    cordoned: bool
    ready: bool
    paused: bool
    counts: bool

    @classmethod
    def of(cls, node: NodeObject) -> Seen:
        """From a Node."""
        ready, paused = node.is_ready, is_paused(node)
        return cls(
            name=node.name,
            uid=node.uid,
            version=node.version,
            mark=find_mark(node),
            cordoned=node.unschedulable,
            ready=ready,
            paused=paused,
            counts=not paused and (ready or not _was_never_ready(node)),
        )

    @property
    def away(self) -> bool:
        """Whether pods cannot rely on it, or soon no more."""
        return self.cordoned or not self.ready or self.mark is not None

    def describe(self) -> str:
        """Its name and why it is away."""
        if self.mark is not None:
            return f"{self.name} ({self.mark.describe()})"
        return f"{self.name} ({'cordoned by a person' if self.cordoned else 'not Ready'})"


def limit(nodes: Iterable[Seen], own: Budget) -> int:
    """How many may be away: the smallest budget of all runs that have marked a Node."""
    counted = [node for node in nodes if node.counts]
    budgets = [own, *(Budget(node.mark.budget) for node in counted if node.mark and _fits(node.mark.budget))]
    return min(budget.of(len(counted)) for budget in budgets)


def find_holders(nodes: Sequence[Seen], taken: Collection[str], own: Budget) -> tuple[Seen, ...]:
    """Who else is away if with the `taken` Nodes, which a run wants, more are away than may be; empty if they fit.
    Also where the run alone wants more than the budget, its own are not listed: see `explain_too_many`."""
    away = {node.name for node in nodes if node.counts and node.away} | {
        node.name for node in nodes if node.counts and node.name in taken
    }
    if len(away) <= limit(nodes, own):
        return ()
    return tuple(node for node in nodes if node.name in away and node.name not in taken)


def explain_too_many(nodes: Sequence[Seen], taken: Collection[str], own: Budget) -> str:
    """A sentence if the Nodes that a run wants at once can never be away together; empty if they can."""
    wanted = sorted(node.name for node in nodes if node.counts and node.name in taken)
    most = own.of(sum(node.counts for node in nodes))
    if len(wanted) <= most:
        return ""
    return (
        f"{len(wanted)} nodes would be away at once ({', '.join(wanted)}), and winkube_max_unavailable is {own.text}"
        f"{f', which is {most} of them' if own.text.endswith('%') else ''}: begin fewer at once (winkube_serial: "
        f"{most}), or let more be away."
    )


def _fits(budget: str) -> bool:
    return _BUDGET.fullmatch(budget) is not None


def _was_never_ready(node: NodeObject) -> bool:
    ready = node.find_condition("Ready")
    if ready is None:
        return True
    try:
        return datetime.fromisoformat(ready.since) - datetime.fromisoformat(node.created) <= REGISTERED
    except ValueError:  # one of them is not told
        return False
