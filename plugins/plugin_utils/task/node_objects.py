# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes for the hosts of a task: one list for all of them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..cluster.client import NODES, Cluster
from ..cluster.remembered import Remembered


def find_node(cluster: Cluster, name: str, folder: Path, task: str) -> dict[str, Any] | None:
    """The Node of this name; None if there is none. ClusterError.

    Args:
        cluster: The cluster.
        name: The Node's.
        folder: Where the processes of the run share what they were answered.
        task: The task that shares it.
    """
    listed = Remembered(folder, task)(NODES, lambda: {"items": cluster.nodes()}) or {}
    found: list[dict[str, Any]] = listed.get("items") or []
    return next((each for each in found if each["metadata"]["name"] == name), None)


def server_now(cluster: Cluster) -> str:
    """The API server's time as the API writes it; the controller's where it has not answered yet."""
    return (cluster.server_time or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%SZ")
