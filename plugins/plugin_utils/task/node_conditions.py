# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes conditions to a Node as it is now."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..cluster.client import Cluster
from ..cluster.records import NodeObject
from ..engine.clock import as_timestamp
from ..node_status.condition import Condition, write_report


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
