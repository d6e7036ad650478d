# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Claim, then look: a run marks the Nodes that it wants to take away, lists all Nodes, and takes its marks back if more
are away than may be.

Of two runs that mark at the same time at least one sees the other's mark, since each lists after it has marked. No
lease and no clock decides: a run that was held up has its marks on the Nodes all the while, and a dead run's marks stay
until a run that knows it to be dead, or a person, removes them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol

from ..cluster.error import ClusterError
from ..cluster.records import NodeObject
from ..engine.clock import Clock, as_timestamp
from ..engine.resource import Refused
from ..engine.run_end import identity
from ..engine.waiting import Wait
from .count import Budget, Seen, explain_too_many, find_holders, limit
from .mark import ANNOTATION, PAUSED, Mark
from .run import Place, Run, is_over

NOT_FOUND, CONFLICT = 404, 409
TRIES = 30
"""So often is a Node read again that changes under our hands. Of many Nodes that are busy, one may do so ten times in a
row; nothing else is lost by another try."""
SHORTEST_S, LONGEST_S = 1.0, 10.0


class Api(Protocol):
    """What of the cluster's API is needed; cluster.client.Cluster has it, opened without a memory."""

    def now(self) -> datetime: ...

    def find_node(self, name: str) -> NodeObject | None: ...

    def list_nodes(self, select: str) -> tuple[NodeObject, ...]: ...

    def items(self, path: str) -> list[dict[str, Any]]: ...

    def patch(self, path: str, body: Mapping[str, Any], kind: str = "merge") -> dict[str, Any]: ...


class BudgetFullError(ClusterError):
    """Too many Nodes are away, and stayed so."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a run asks for: `why` is told to others, `select` a label selector of the Nodes that count, `take_over` the
    id of a run that a person knows to be dead."""

    budget: Budget
    why: str = ""
    select: str = "kubernetes.io/os=windows"
    timeout_s: float = 0
    take_over: str = ""


def write_mark(api: Api, node: Seen, mark: Mark | None, *, unschedulable: bool | None = None) -> bool:
    """Whether the mark, or none, was written, which it is only to the Node as it was read; `unschedulable` None leaves
    the cordon as it is. ClusterError."""
    annotation = {ANNOTATION: mark.to_text() if mark is not None else None}
    body: dict[str, Any] = {"metadata": {"resourceVersion": node.version, "annotations": annotation}}
    if unschedulable is not None:
        body["spec"] = {"unschedulable": True if unschedulable else None}
    try:
        api.patch(f"/api/v1/nodes/{node.name}", body, "merge")
    except ClusterError as error:
        if error.status != CONFLICT:
            raise
        return False
    return True


def tell_nobody(node: Seen, reason: str, message: str) -> None:
    """For runs that write no Events."""


@dataclass(frozen=True, slots=True)
class _View:
    """All Nodes; those of them that are wanted; the names of these that serve now; who else is away if they go too."""

    seen: Sequence[Seen]
    wanted: Sequence[Seen]
    taken: Sequence[str]
    holders: Sequence[Seen]


@dataclass(frozen=True, slots=True)
class Claim:
    """Marks Nodes for a run. `say` is told what is waited for, `tell` what others are to know of a Node: its reason is
    `BudgetFull`, `Busy` or `TakenOver`."""

    api: Api
    run: Run
    wish: Wish
    say: Callable[[str], None] = lambda sentence: None
    tell: Callable[[Seen, str, str], None] = tell_nobody
    clock: Clock = field(default_factory=Clock)
    pause: Callable[[], float] = lambda: random.uniform(SHORTEST_S, LONGEST_S)
    here: Place = field(default_factory=Place.here)
    started: Callable[[int], str] = identity

    def take(self, names: Sequence[str]) -> tuple[str, ...]:
        """Mark all of these Nodes or none, waiting until the budget has room; the steps that it took.

        Nodes that the cluster does not have need no mark, and neither does one that a person has cordoned.

        Raises:
            Refused: A Node is paused, or another run works on it.
            BudgetFullError: There was no room in time; nothing of this run is marked.
            ClusterError: The cluster did not answer.
        """
        end, conflicts = self.clock.now() + self.wish.timeout_s, 0
        wait = Wait("budget: waiting, since enough nodes are away", self.clock)
        while True:
            view = self._judge(names)
            if not view.holders:
                marked = self._mark(view.wanted)
                if marked is None:
                    conflicts += 1
                elif not view.taken or not (view := replace(view, holders=self._look_again(names, view.taken))).holders:
                    return tuple(f"mark {name}" for name in marked)
                else:
                    self.release(marked)
            if view.holders and (self.clock.now() >= end or self._holds_alone(view)):
                full = self._explain(view)
                for node in view.wanted:
                    self.tell(node, "BudgetFull", full)
                raise BudgetFullError(full)
            if conflicts == TRIES:
                raise ClusterError(
                    f"The Nodes {', '.join(names)} change all the time and could not be marked.", CONFLICT
                )
            wait.sleep(self.pause(), ", ".join(node.describe() for node in view.holders))

    def plan(self, names: Sequence[str]) -> tuple[str, ...]:
        """What `take` would do if it did not have to wait. Refused, BudgetFullError and ClusterError as there."""
        view = self._judge(names, plan=True)
        if view.holders:
            raise BudgetFullError(self._explain(view))
        return tuple(f"mark {node.name}" for node in view.wanted if self._needs_mark(node))

    def look(self, names: Sequence[str], *, plan: bool = False) -> list[Seen]:
        """All Nodes that count and these, as they are now; the mark of a dead run is taken from a Node that serves: its
        run has not come to it, or a person has uncordoned it. With `plan` it only does not count."""
        seen = {node.name: node for node in map(Seen.of, self.api.list_nodes(self.wish.select))}
        for name in names:
            if name not in seen and (found := self.api.find_node(name)) is not None:
                seen[name] = replace(Seen.of(found), counts=False)
        return [self._forget_dead(node, plan=plan) for node in seen.values()]

    def see(self, name: str) -> Seen:
        """The Node as it is now; one without a mark and a uid if there is none. ClusterError."""
        return Seen.of(self.api.find_node(name) or NodeObject(name))

    def ended(self, mark: Mark) -> bool | None:
        """Whether the run of a mark is over; None if only a person can tell."""
        if mark.run.id and mark.run.id == self.wish.take_over:
            return True
        try:
            return is_over(mark.run, self.api.items, self.here, self.started)
        except ClusterError:
            return None

    def is_own(self, mark: Mark | None) -> bool:
        """Whether it is this run's."""
        return mark is not None and mark.run.id == self.run.id

    def release(self, names: Iterable[str]) -> None:
        """Take this run's marks from Nodes that it has not cordoned."""
        for seen in map(self.see, names):
            if seen.mark is not None and self.is_own(seen.mark) and not seen.mark.cordoned:
                self._write(seen, None)

    def may_end(self, mark: Mark) -> bool:
        """Whether this run may take a mark away: its own, and that of a run that is over."""
        return self.is_own(mark) or self.ended(mark) is True

    def uncordon(self, name: str) -> tuple[str, ...]:
        """Takes a mark away that this run may, and the cordon if the mark's run made it. Nothing where the Node has no
        such mark: it was cordoned by someone else, or is not, or another run works on it. ClusterError."""
        for _attempt in range(TRIES):
            node = self.see(name)
            if node.mark is None or not self.may_end(node.mark):
                return ()
            ours = node.mark.cordoned and node.cordoned
            if self._write(node, None, unschedulable=False if ours else None):
                if node.mark.cordoned and not ours:
                    return (f"remove the mark from {name}, which somebody else has uncordoned",)
                return (f"uncordon {name}",) if ours else ()
        raise ClusterError(f"The Node {name} changes all the time and could not be uncordoned.", CONFLICT)

    def refuse(self, node: Seen) -> str:
        """As `explain_busy`; that another run works on a Node is told to others, too."""
        sentence = self.explain_busy(node)
        if sentence and not node.paused:
            self.tell(node, "Busy", sentence)
        return sentence

    def explain_busy(self, node: Seen) -> str:
        """A sentence why this run may not touch a Node; empty if it may."""
        if node.paused:
            return (
                f"The Node {node.name} is paused (annotation {PAUSED}): nothing is done to it. kubectl annotate node "
                f"{node.name} {PAUSED}- ends that."
            )
        mark = node.mark
        if mark is None or self.is_own(mark):
            return ""
        over = self.ended(mark)
        if over:
            return ""
        busy = f"The Node {node.name} is busy with {mark.describe()}. Nothing is done to it."
        if over is False:
            return busy
        known = f"-e winkube_take_over={mark.run.id}" if mark.run.id.isalnum() else ""
        by_hand = f"kubectl annotate node {node.name} {ANNOTATION}-"
        return f"{busy} Whether that run goes on cannot be told from here; if it is dead: {known or by_hand}."

    # -- one look and one mark -----------------------------------------------------------------------------------

    def _judge(self, names: Sequence[str], *, plan: bool = False) -> _View:
        """The Nodes as they are now. Refused."""
        seen = self.look(names, plan=plan)
        wanted = [node for node in seen if node.name in names]
        self._refuse(wanted, plan=plan)
        taken = [node.name for node in wanted if not node.away]
        if too_many := explain_too_many(seen, taken, self.wish.budget):
            raise Refused(too_many)
        return _View(seen, wanted, taken, find_holders(seen, taken, self.wish.budget) if taken else ())

    def _holds_alone(self, view: _View) -> bool:
        """Whether it would wait for nobody but itself."""
        return all(self.is_own(node.mark) for node in view.holders)

    def _needs_mark(self, node: Seen) -> bool:
        """Not one that has this run's, or that a person has cordoned."""
        return not node.cordoned if node.mark is None else not self.is_own(node.mark)

    def _refuse(self, wanted: Iterable[Seen], *, plan: bool) -> None:
        explain = self.explain_busy if plan else self.refuse
        if sentences := [sentence for node in wanted if (sentence := explain(node))]:
            raise Refused(*sentences)

    def _look_again(self, names: Sequence[str], taken: Sequence[str]) -> tuple[Seen, ...]:
        try:
            return find_holders(self.look(names), taken, self.wish.budget)
        except ClusterError:
            with suppress(ClusterError):
                self.release(taken)
            raise

    def _mark(self, wanted: Iterable[Seen]) -> list[str] | None:
        """The Nodes that got a mark; None, and nothing marked any more, if one is not as it was judged."""
        mark = Mark(self.run, self.wish.why, as_timestamp(self.api.now()), self.wish.budget.text)
        marked: list[str] = []
        for node in wanted:
            if not self._needs_mark(node):
                continue
            taken_over = node.mark is not None and node.mark.cordoned
            if not self._insist(node, replace(mark, cordoned=taken_over)):
                self.release(marked)
                return None
            if node.mark is not None:
                self.tell(node, "TakenOver", f"{self.run.by} takes it over from {node.mark.describe()}.")
            marked.append(node.name)
        return marked

    def _insist(self, node: Seen, mark: Mark) -> bool:
        """As `_write`; a Node that has changed is read again: its kubelet writes its status now and then, and of many
        Nodes there is always one. False for one of which something else is true than when it was judged."""
        for _attempt in range(TRIES):
            if self._write(node, mark):
                return True
            again = self.see(node.name)
            if replace(again, version=node.version, counts=node.counts) != node:
                return False
            node = again
        return False

    def _forget_dead(self, node: Seen, *, plan: bool) -> Seen:
        serves = node.mark is not None and node.ready and not node.cordoned and not node.paused
        if not serves or node.mark is None or self.is_own(node.mark) or not self.ended(node.mark):
            return node
        if plan:
            return replace(node, mark=None)
        if self._write(node, None):
            self.say(f"the mark of a run that is over is taken from {node.name}: {node.mark.describe()}")
            return self.see(node.name)
        return node

    def _write(self, node: Seen, mark: Mark | None, *, unschedulable: bool | None = None) -> bool:
        """As `write_mark`; False also for a Node that is gone."""
        try:
            return write_mark(self.api, node, mark, unschedulable=unschedulable)
        except ClusterError as error:
            if error.status != NOT_FOUND:
                raise
            return False

    def _explain(self, view: _View) -> str:
        waited = f" after {self.wish.timeout_s:g} s" if self.wish.timeout_s else ""
        most = limit(view.seen, self.wish.budget)
        return (
            f"The budget is full{waited}: {most} of the Windows nodes may be away at once "
            f"(winkube_max_unavailable), and away {'is' if len(view.holders) == 1 else 'are'} "
            f"{', '.join(node.describe() for node in view.holders)}. "
            f"Not begun: {', '.join(sorted(node.name for node in view.wanted))}."
        )
