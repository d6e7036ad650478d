"""Pods of DaemonSets on Windows nodes: one on each node that the selector names, whatever its taints.

Only DaemonSets of HostProcess pods get some: what they do on a machine is known (programs/host_process_images.py).
Source: kubernetes pkg/controller/daemon/daemon_controller.go (nodeShouldRunDaemonPod, rollingUpdate).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable

from tests.lab.cluster.host_process import is_host_process
from tests.lab.cluster.kinds import BY_NAME
from tests.lab.cluster.store import Object, Store

POD, NODE, SET, ACCOUNT = (BY_NAME[name] for name in ("Pod", "Node", "DaemonSet", "ServiceAccount"))
REVISION = "controller-revision-hash"


class DaemonSets:
    """end_pod: lets a pod go."""

    def __init__(self, store: Store, end_pod: Callable[[Object], None]) -> None:
        self.store, self.end_pod = store, end_pod

    def work(self) -> None:
        sets = {str(item["metadata"]["uid"]): item for item in self.store.list(SET) if _runs(item)}
        for pod in self.store.list(POD):
            if (owner := owner_of(pod)) and owner not in sets:
                self.end_pod(pod)
        for item in sets.values():
            self._one(item)

    def _one(self, item: Object) -> None:
        metadata, template = item["metadata"], item["spec"]["template"]
        namespace, name = str(metadata["namespace"]), str(metadata["name"])
        revision = hashlib.sha256(json.dumps(template, sort_keys=True).encode()).hexdigest()[:10]
        selector = template["spec"].get("nodeSelector") or {}
        nodes = [
            str(node["metadata"]["name"])
            for node in self.store.list(NODE)
            if all((node["metadata"].get("labels") or {}).get(key) == value for key, value in selector.items())
        ]
        pods = [pod for pod in self.store.list(POD, namespace) if owner_of(pod) == metadata["uid"]]
        account = str(template["spec"].get("serviceAccountName") or "default")
        there = account == "default" or self.store.find(ACCOUNT, namespace, account) is not None
        for pod in pods:
            old = (pod["metadata"].get("labels") or {}).get(REVISION) != revision
            if old or pod["spec"]["nodeName"] not in nodes:
                self.end_pod(pod)
        taken = {str(pod["spec"]["nodeName"]) for pod in pods}
        for node in nodes if there else ():
            if node not in taken:
                self._make(item, node, revision)
        ready = sum(1 for pod in pods if (pod.get("status") or {}).get("phase") == "Running")
        counts = {"currentNumberScheduled": len(pods), "desiredNumberScheduled": len(nodes), "numberReady": ready}
        if counts != {key: (item.get("status") or {}).get(key) for key in counts}:
            self.store.replace(SET, namespace, name, {**item, "status": {**counts, "numberMisscheduled": 0}})

    def _make(self, item: Object, node: str, revision: str) -> None:
        metadata, template = item["metadata"], item["spec"]["template"]
        owner = {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "name": metadata["name"],
            "uid": metadata["uid"],
            "controller": True,
        }
        self.store.create(
            POD,
            str(metadata["namespace"]),
            {
                "metadata": {
                    "generateName": f"{metadata['name']}-",
                    "labels": {**(template["metadata"].get("labels") or {}), REVISION: revision},
                    "ownerReferences": [owner],
                },
                "spec": {**template["spec"], "nodeName": node},
                "status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}]},
            },
        )


def _runs(item: Object) -> bool:
    return is_host_process(item["spec"].get("template") or {})


def owner_of(pod: Object) -> str:
    """The uid of the DaemonSet that it was made from; empty for other pods."""
    if REVISION not in (pod["metadata"].get("labels") or {}):
        return ""
    return next((str(item["uid"]) for item in pod["metadata"].get("ownerReferences") or []), "")
