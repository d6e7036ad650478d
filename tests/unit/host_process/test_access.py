"""What a run makes in the cluster, and its removal: the pod, and the namespace if the run made it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.client import Cluster
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.host_process.access import Access
from ansible_collections.winkube.node.plugins.plugin_utils.host_process.pod import Wanted

WANTED = Wanted("win1", "ops", "registry/any:1", "0123456789abcdef", "ann@ci (pid 7)", 600)
NAMESPACES = "/api/v1/namespaces"
RUNNING = {
    "status": {"phase": "Running", "containerStatuses": [{"name": "host", "state": {"running": {"startedAt": "x"}}}]}
}


class Objects:
    """A cluster: objects by path. A pod runs at once, and needs its namespace."""

    def __init__(self, *namespaces: str) -> None:
        self.at: dict[str, Any] = {f"{NAMESPACES}/{name}": {} for name in namespaces}

    def get(self, path: str) -> Any:
        return self.at.get(path)

    def items(self, path: str) -> list[Any]:
        inside = path.partition("?")[0]
        return [each for name, each in self.at.items() if name.startswith(f"{inside}/")]

    def create(self, path: str, body: Mapping[str, Any]) -> None:
        if path != NAMESPACES and path.rpartition("/")[0] not in self.at:
            raise ClusterError("namespaces not found", 404)
        self.at[f"{path}/{body['metadata']['name']}"] = {**body, **RUNNING}

    def delete(self, path: str) -> bool:
        return self.at.pop(path.partition("?")[0], None) is not None


def made(objects: Objects, wanted: Wanted = WANTED) -> list[Callable[[Access], object]]:
    """What a run that reaches the node must do at its end."""
    removals: list[Callable[[Access], object]] = []
    assert Access(cast(Cluster, objects), wanted, start_s=1).ensure(removals.append)
    return removals


def test_a_run_leaves_neither_its_pod_nor_a_namespace_that_it_made() -> None:
    """Failed before: a module that only reads left the namespace."""
    objects = Objects()
    for removal in made(objects):
        removal(Access(cast(Cluster, objects), WANTED, start_s=0))
    assert objects.at == {}


def test_a_namespace_that_was_there_stays() -> None:
    objects = Objects("ops")
    for removal in made(objects):
        removal(Access(cast(Cluster, objects), WANTED, start_s=0))
    assert list(objects.at) == [f"{NAMESPACES}/ops"]


def test_a_namespace_with_another_runs_pod_stays() -> None:
    objects = Objects()
    pod, namespace = made(objects)
    other = Wanted("win2", "ops", "registry/any:1", "f" * 16, "ben@ci (pid 8)", 600)
    made(objects, other)
    here = Access(cast(Cluster, objects), WANTED, start_s=0)
    pod(here)
    with pytest.raises(ClusterError, match="The namespace ops is in use"):
        namespace(here)
    assert list(objects.at) == [f"{NAMESPACES}/ops", other.path]
