"""A real etcd and kube-apiserver, which write down every request to Nodes and every eviction.

Nodes and pods are objects only: no kubelet, no controller.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_collections.winkube.node.plugins.plugin_utils.cluster.client import Cluster

from tests.real import api_server

POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "RequestResponse", "resources": [{"resources": ["nodes"]}], "verbs": ["create", "patch", "update"]},
        {
            "level": "Metadata",
            "resources": [{"resources": ["nodes/status", "pods/eviction"]}],
            "verbs": ["create", "patch"],
        },
        {"level": "None"},
    ],
}


def is_there() -> bool:
    """Whether both programs are built: `python -m tests.real.build kubernetes etcd`."""
    return not api_server.missing()


@dataclass(frozen=True)
class Real:
    """A running API server. `kubeconfig`: of a user who may do everything; `audit`: its log."""

    kubeconfig: Path
    audit: Path

    def open(self) -> Cluster:
        found = Cluster.open({"kubeconfig": str(self.kubeconfig)})
        assert found is not None
        return found

    def events(self) -> list[dict[str, Any]]:
        """What the audit log says."""
        return read_events(self.audit)


def read_events(audit: Path) -> list[dict[str, Any]]:
    """An audit log in the order of the answers, which is not that of its lines."""
    found = [json.loads(line) for line in audit.read_text(encoding="utf-8").splitlines() if line]
    return sorted(found, key=lambda event: str(event["stageTimestamp"]))


@contextmanager
def running(folder: Path) -> Iterator[Real]:
    """Both programs, in a folder of their own; they end with the block. Pods need no ServiceAccount, which a controller
    would make."""
    folder.mkdir(parents=True, exist_ok=True)
    with api_server.running(folder, audit=POLICY, without=("ServiceAccount",)) as server:
        yield Real(server.kubeconfig(server.admin), server.audit)
