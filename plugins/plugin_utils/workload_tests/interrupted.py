# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Interrupted runs: what a run made is recorded in Ansible's own temporary folder, and deleted when Ansible ends.
Workers end silently; the process that started them ends in order, even after Ctrl-C."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..cluster import run_namespace
from ..cluster.client import Cluster
from ..cluster.error import ClusterError

_NOTE = "winkube-test-"


def note(
    folder: Path,
    namespace: Mapping[str, str],
    cluster: Mapping[str, Any],
    first: Sequence[str] = (),
) -> None:
    """Record what a test has made, for its deletion.

    Args:
        folder: The records' folder.
        namespace: {test, label, name, run}.
        cluster: The options of `Cluster.open`, without credentials.
        first: API paths of objects outside of the Namespace, deleted before it.
    """
    path = _path(folder, namespace["name"])
    path.touch(mode=0o600)
    path.write_text(json.dumps({**namespace, "cluster": dict(cluster), "first": list(first)}), encoding="utf-8")


def forget(folder: Path, name: str) -> None:
    """Drop the record: the Namespace is gone, or should stay."""
    _path(folder, name).unlink(missing_ok=True)


def delete_noted(folder: Path, say: Callable[[str], None]) -> None:
    """Delete everything recorded; one sentence for each, and for each failure."""
    for path in sorted(folder.glob(f"{_NOTE}*.json")) if folder.is_dir() else ():
        document = json.loads(path.read_text(encoding="utf-8"))
        test, name = str(document["test"]), str(document["name"])
        path.unlink(missing_ok=True)
        try:
            cluster = Cluster.open(document["cluster"])
            if cluster is None:
                continue
            for each in document["first"]:
                cluster.delete(str(each))
            if run_namespace.delete_own(cluster, document["label"], name, document["run"]):
                say(f"The test {test} was interrupted; its namespace {name} is being deleted.")
        except ClusterError as error:
            say(
                f"The test {test} was interrupted, and its namespace {name} could not be deleted: {error} The next run "
                f"does that, or: kubectl delete namespace {name}."
            )


def _path(folder: Path, name: str) -> Path:
    return folder / f"{_NOTE}{name}.json"
