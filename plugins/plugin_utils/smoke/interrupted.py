# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run that is interrupted cleans up too: what it made is noted in Ansible's own temporary folder, and looked for
there when Ansible ends. Workers end without a word; the process that started them ends in order, by Ctrl-C too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..cluster.client import Cluster, ClusterError
from .workload import clean_up

_PREFIX = "winkube-smoke-"


def note(folder: Path, namespace: str, cluster: Mapping[str, Any]) -> None:
    """Note a Namespace and how its cluster is reached (the options of `Cluster.open`; no credentials are in them)."""
    document = {"namespace": namespace, "cluster": dict(cluster)}
    path = folder / f"{_PREFIX}{namespace}.json"
    path.touch(mode=0o600)
    path.write_text(json.dumps(document), encoding="utf-8")


def forget(folder: Path, namespace: str) -> None:
    """The Namespace is gone, or is to stay."""
    (folder / f"{_PREFIX}{namespace}.json").unlink(missing_ok=True)


def delete_noted(folder: Path, say: Callable[[str], None]) -> None:
    """Delete what is still noted; a sentence for each, and for what could not be deleted."""
    for path in sorted(folder.glob(f"{_PREFIX}*.json")) if folder.is_dir() else ():
        document = json.loads(path.read_text(encoding="utf-8"))
        namespace = str(document["namespace"])
        path.unlink(missing_ok=True)
        try:
            cluster = Cluster.open(document["cluster"])
            if cluster is not None and clean_up(cluster, namespace):
                say(f"The smoke test was interrupted; its namespace {namespace} is being deleted.")
        except ClusterError as error:
            say(
                f"The smoke test was interrupted, and its namespace {namespace} could not be deleted: {error} The next "
                f"run does that, or: kubectl delete namespace {namespace}."
            )
