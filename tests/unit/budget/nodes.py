"""Nodes, and a cluster of them that refuses a write to a Node that has changed since it was read."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from ansible_collections.winkube.node.plugins.plugin_utils.budget.claim import Claim, Wish
from ansible_collections.winkube.node.plugins.plugin_utils.budget.count import Budget
from ansible_collections.winkube.node.plugins.plugin_utils.budget.run import Place, Run
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.client import Cluster
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.records import NODE, NodeObject

Object = dict[str, Any]


def node(
    name: str,
    *,
    ready: bool = True,
    cordoned: bool = False,
    linux: bool = False,
    changed: str = "2026-11-01T00:00:00Z",
    **annotations: str,
) -> Object:
    """A Node that was made on 2026-10-01 and whose condition Ready has changed since `changed`."""
    return {
        "metadata": {
            "name": name,
            "resourceVersion": "1",
            "creationTimestamp": "2026-10-01T00:00:00Z",
            "labels": {"kubernetes.io/os": "linux" if linux else "windows"},
            "annotations": {key.replace("__", "/").replace("_", "."): value for key, value in annotations.items()},
        },
        "spec": {"unschedulable": True} if cordoned else {},
        "status": {
            "conditions": [{"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": changed}]
        },
    }


class Api:
    """`before` is called before each request, with its number: a test kills the caller there, or does something
    else to the cluster."""

    def __init__(self, *nodes: Object) -> None:
        self.nodes = {each["metadata"]["name"]: each for each in nodes}
        self.pods: dict[str, list[Object]] = {}
        """By the path that lists them."""
        self.before: Callable[[int], None] = lambda number: None
        self.requests: list[str] = []

    def ask(self, what: str) -> None:
        """Counts a request."""
        self.requests.append(what)
        self.before(len(self.requests))

    def now(self) -> datetime:
        return datetime(2026, 11, 1, tzinfo=UTC)

    def find_node(self, name: str) -> NodeObject | None:
        self.ask(f"GET {name}")
        return NODE(self.nodes[name], "") if name in self.nodes else None

    def list_nodes(self, select: str) -> tuple[NodeObject, ...]:
        self.ask(f"LIST {select}")
        name, _equals, value = select.partition("=")
        return tuple(NODE(each, "") for each in self.nodes.values() if each["metadata"]["labels"][name] == value)

    def items(self, path: str) -> list[Object]:
        self.ask(f"LIST {path}")
        return copy.deepcopy(self.pods[path])

    def patch(self, path: str, body: Mapping[str, Any], kind: str = "merge") -> Object:
        self.ask(f"PATCH {path}")
        found = self.nodes.get(path.rpartition("/")[2])
        if found is None:
            raise ClusterError("not found", 404)
        if body["metadata"]["resourceVersion"] != found["metadata"]["resourceVersion"]:
            raise ClusterError("the object has been modified", 409)
        for target, values in (
            (found["metadata"]["annotations"], body["metadata"].get("annotations") or {}),
            (found["spec"], body.get("spec") or {}),
        ):
            for key, value in values.items():
                target.pop(key, None) if value is None else target.__setitem__(key, value)
        self.touch(found["metadata"]["name"])
        return copy.deepcopy(found)

    def touch(self, name: str) -> None:
        """A new version of the Node, as each heartbeat makes one."""
        metadata = self.nodes[name]["metadata"]
        metadata["resourceVersion"] = str(int(metadata["resourceVersion"]) + 1)

    def marked(self) -> list[str]:
        """The Nodes with a mark."""
        return [name for name, each in self.nodes.items() if "winkube.node/mark" in each["metadata"]["annotations"]]


def claim_of(api: Api | Cluster, run: str = "run-1") -> Claim:
    """Of a run that nobody knows to be over, with a budget that is never full."""
    return Claim(api, Run(run, f"ann@ctl ({run})"), Wish(Budget.parse("100%")), here=Place("ctl"))


class Time:
    """Seconds that pass only by sleeping."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds
