# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The conditions of a Node, made from the record of a run, and written to the Node as it is now."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..cluster.client import Cluster
from ..cluster.records import NodeObject
from ..engine.clock import as_timestamp
from ..node_status.condition import HEALTHY, Condition, describe_steps, healthy, not_known, write_report
from ..record.node_record import UNREACHABLE, NodeRecord


def list_conditions(record: NodeRecord, node: NodeObject) -> list[Condition]:
    """What the record of a run that has compared a machine with its variables says of its Node."""
    if (failure := record.not_planned) is not None:
        return [not_known("it did not answer" if failure.state == UNREACHABLE else failure.reason)]
    told = describe_steps({about: [step.text for step in record.planned[about]] for about in record.left})
    return [told, *judge_health(record, node)]


def judge_health(record: NodeRecord, node: NodeObject) -> list[Condition]:
    """Healthy, of the last repair. Where there was none, True for a Node that has no such condition yet and of which
    nothing is left to do."""
    if record.repairs:
        last = record.repairs[-1]
        return [healthy() if last.mended else healthy(last.cause, last.why)]
    return [] if record.left or node.find_condition(HEALTHY) else [healthy()]


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
