# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The conditions of a Node, made from the record of a run, and written to the Node as it is now."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..cluster.client import Cluster
from ..cluster.records import NodeObject
from ..engine.clock import as_timestamp
from ..node_status.condition import (
    HEALTHY,
    LEFT_TO_ROLES,
    Condition,
    describe_steps,
    healthy,
    left_to,
    not_known,
    write_report,
)
from ..record.node_record import UNREACHABLE, NodeRecord


def list_conditions(record: NodeRecord, node: NodeObject) -> list[Condition]:
    """What the record of a run that has compared a machine with its variables says of its Node."""
    if (failure := record.not_planned) is not None:
        return [not_known("it did not answer" if failure.state == UNREACHABLE else failure.reason)]
    told = describe_steps({about: [step.text for step in record.planned[about]] for about in record.left})
    return [told, *judge_health(record, node)]


def judge_health(record: NodeRecord, node: NodeObject) -> list[Condition]:
    """Healthy of a Node that was planned: of the last repair. True where nothing is left to do, if there was no repair
    and the Node has no such condition yet, or a repair of this run or an earlier one has left its work to roles."""
    told = judge_repairs(record)
    said = told[0] if told else node.find_condition(HEALTHY)
    waits = said is None or said.reason == LEFT_TO_ROLES
    return [healthy()] if waits and not record.left else told


def judge_repairs(record: NodeRecord) -> list[Condition]:
    """Healthy, of the repairs of the run: False where the last was in vain, else Unknown while one waits for roles.
    None where there was no repair."""
    if not record.repairs:
        return []
    last = record.repairs[-1]
    if not last.mended and not last.left_to:
        return [healthy(last.cause, last.why)]
    waits = next((each for each in reversed(record.repairs) if each.left_to), None)
    return [healthy() if waits is None else left_to(waits.cause, waits.left_to)]


def write_conditions(
    cluster: Cluster, name: str, judge: Callable[[NodeObject], Sequence[Condition]], applied: str = ""
) -> tuple[str, ...]:
    """Write what is new, with the API server's time; what was done. Nothing for a Node that is gone. ClusterError.

    Args:
        cluster: The cluster.
        name: The Node's.
        judge: Its conditions, from the Node as it is now: others may have written since it was listed.
        applied: As of `write_report`.
    """
    node = cluster.find_node(name)
    if node is None:
        return ()
    return write_report(cluster, node, judge(node), as_timestamp(cluster.now()), applied=applied)
