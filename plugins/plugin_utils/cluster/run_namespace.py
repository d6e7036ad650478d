# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Namespace that one run makes and deletes. A later run deletes what a killed run left: a label names the test,
and the annotation `<label>-until` says when it becomes a leftover."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from typing import Any

from ..engine.clock import Clock, as_timestamp
from ..engine.waiting import Wait
from .client import Cluster, wait_for
from .error import ClusterError

PATH = "/api/v1/namespaces"
_CLEANING_UP = timedelta(hours=1)


def until(now: datetime, timeout_s: float) -> str:
    """When a run that started at `now` (UTC) has surely ended."""
    return as_timestamp(now + timedelta(seconds=timeout_s) + _CLEANING_UP)


RUN = "winkube.node/run"
"""The annotation, or for objects without their own Namespace the label, that identifies a run's objects."""


def make_run_mark() -> str:
    """A random mark for everything that a run makes."""
    return secrets.token_hex(8)


def body(label: str, name: str, until: str, run: str) -> dict[str, Any]:
    """The Namespace. Its workloads may do what Windows pods do (baseline)."""
    labels = {
        label: "true",
        "app.kubernetes.io/managed-by": "winkube.node",
        "pod-security.kubernetes.io/enforce": "baseline",
    }
    metadata = {"name": name, "labels": labels, "annotations": {f"{label}-until": until, RUN: run}}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def create(cluster: Cluster, namespace: dict[str, Any]) -> None:
    """Make it. ClusterError if one of that name exists; it belongs to someone else and is left alone."""
    try:
        cluster.create(PATH, namespace)
    except ClusterError as error:
        if error.status != 409:
            raise
        name = namespace["metadata"]["name"]
        raise ClusterError(
            f"The namespace {name} is there already: another run uses it or left it. It was not changed; choose "
            f"another name, or see kubectl describe namespace {name}.",
            error.status,
        ) from error


def wait_until_gone(cluster: Cluster, name: str, clock: Clock, timeout_s: float) -> None:
    """ClusterError if the Namespace still exists after that time."""
    wait_for(
        Wait(f"waiting for the namespace {name} to be gone", clock),
        timeout_s,
        lambda: True if cluster.get(f"{PATH}/{name}") is None else None,
        f"The namespace {name} is being deleted, but was still there after {timeout_s:g} s; see kubectl describe "
        f"namespace {name}.",
    )


def delete_own(cluster: Cluster, label: str, name: str, run: str = "") -> bool:
    """Delete a run's Namespace with everything in it, without waiting; whether it existed. ClusterError for one
    without the label; with `run`, another run's is left alone."""
    found = cluster.get(f"{PATH}/{name}")
    if found is None or (run and (found["metadata"].get("annotations") or {}).get(RUN) != run):
        return False
    if (found["metadata"].get("labels") or {}).get(label) != "true":
        raise ClusterError(f"The namespace {name} has no label {label}=true: it is not the test's, and stays.")
    return cluster.delete(f"{PATH}/{name}", str(found["metadata"].get("uid") or ""))


def sweep(cluster: Cluster, label: str, now: datetime) -> tuple[str, ...]:
    """Delete namespaces with the label whose time is up; their names."""
    swept = []
    for item in cluster.items(f"{PATH}?labelSelector={label.replace('/', '%2F')}%3Dtrue"):
        metadata = item["metadata"]
        ends = str((metadata.get("annotations") or {}).get(f"{label}-until") or "")
        if not metadata.get("deletionTimestamp") and ends <= as_timestamp(now):
            cluster.delete(f"{PATH}/{metadata['name']}", str(metadata.get("uid") or ""))
            swept.append(str(metadata["name"]))
    return tuple(swept)
