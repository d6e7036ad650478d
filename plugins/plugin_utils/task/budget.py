# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""This run's claims on Nodes: who it is, and what its variables say of the budget."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from ..budget.claim import Claim, Wish, tell_nobody
from ..budget.count import Budget, Seen
from ..budget.run import Place, Run
from ..cluster.client import Cluster
from ..cluster.own_pod import find_own_pod
from ..cluster.records import NodeObject
from ..components.shared_options import BudgetOptions
from ..engine.clock import as_timestamp
from ..engine.resource import Refused
from ..engine.run_end import identity, run_pid
from ..engine.until import find_end
from ..node.link import controller
from ..node.run_id import BEGAN, RUN_ID
from ..node_status.condition import write_event


class BusyError(Refused):
    """Another run works on the Node."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a Node stands before a run: whether it is `there`, and `marked` by a run that is over, so that this one
    makes it right. `busy`: the sentence of another run that keeps this one off it, for a run that goes on without."""

    node_name: str = ""
    there: bool = False
    marked: bool = False
    busy: str = ""


def find_standing(cluster: Cluster, name: str, claim: Claim, see: Callable[[NodeObject], None]) -> Standing:
    """Of the Node of this name, which `see` gets; one list is asked for all nodes of a task. Refused where it is
    paused, BusyError where another run works on it."""
    found = next((each for each in cluster.list_nodes("kubernetes.io/os=windows") if each.name == name), None)
    if found is None:
        return Standing(name)
    see(found)
    node = Seen.of(found)
    if sentence := claim.refuse(node):
        raise Refused(sentence) if node.paused else BusyError(sentence)
    return Standing(name, there=True, marked=node.mark is not None)


@cache
def this_run() -> Run:
    """The run of ansible-playbook, whose workers are its forks. ClusterError for a pod that cannot be read."""
    if (pod := find_own_pod(os.environ)) is not None:
        return Run(RUN_ID, controller(), pod=str(pod))
    pid = run_pid()
    return Run(RUN_ID, controller(), pid=pid, started=identity(pid), place=Place.here())


def build_claim(cluster: Cluster, wanted: BudgetOptions, say: Callable[[str], None]) -> Claim:
    """Of a module's option `budget`. Refused for a budget or a time that is none."""
    timeout_s: float = wanted.timeout
    if wanted.until:
        left = find_end(wanted.until, BEGAN) - datetime.now(BEGAN.tzinfo)
        timeout_s = min(timeout_s, max(0, left.total_seconds()))
    wish = Wish(
        Budget.parse(wanted.max_unavailable),
        why=wanted.why,
        select=wanted.nodes,
        timeout_s=timeout_s,
        take_over=wanted.take_over,
    )

    def tell(node: Seen, reason: str, message: str) -> None:
        write_event(cluster, node.name, node.uid, reason, message, as_timestamp(cluster.now()))

    return Claim(cluster, this_run(), wish, say, tell if wanted.events else tell_nobody)
