"""What a run makes in the cluster, and its removal: the pod, and the namespace if the run made it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.client import Cluster
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.host_process.access import Access
from ansible_collections.winkube.node.plugins.plugin_utils.host_process.pod import UNTIL, Wanted, body

WANTED = Wanted("win1", "ops", "registry/any:1", "0123456789abcdef", "ann@ci (pid 7)", 600)
NAMESPACES = "/api/v1/namespaces"
RUNNING = {
    "status": {"phase": "Running", "containerStatuses": [{"name": "host", "state": {"running": {"startedAt": "x"}}}]}
}


class Objects:
    """A cluster: objects by path. A pod runs at once, and needs its namespace. `ahead`: of this machine's clock."""

    def __init__(self, *namespaces: str, ahead: timedelta = timedelta()) -> None:
        self.at: dict[str, Any] = {f"{NAMESPACES}/{name}": {} for name in namespaces}
        self.ahead = ahead

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

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


def made(objects: Objects, wanted: Wanted = WANTED) -> list[str]:
    """What a run that reaches the node must remove at its end."""
    kept: list[str] = []
    assert Access(cast(Cluster, objects), wanted, start_s=1).ensure(kept.append)
    return kept


def remove(objects: Objects, what: str, wanted: Wanted = WANTED) -> None:
    access = Access(cast(Cluster, objects), wanted, start_s=0)
    (access.remove if what == "pod" else access.remove_namespace)()


def test_a_run_leaves_neither_its_pod_nor_a_namespace_that_it_made() -> None:
    """Failed before: a module that only reads left the namespace."""
    objects = Objects()
    for what in made(objects):
        remove(objects, what)
    assert objects.at == {}


def test_a_namespace_that_was_there_stays() -> None:
    objects = Objects("ops")
    for what in made(objects):
        remove(objects, what)
    assert list(objects.at) == [f"{NAMESPACES}/ops"]


def test_a_namespace_with_another_runs_pod_stays() -> None:
    objects = Objects()
    assert made(objects) == ["pod", "namespace"]
    other = Wanted("win2", "ops", "registry/any:1", "f" * 16, "ben@ci (pid 8)", 600)
    made(objects, other)
    remove(objects, "pod")
    with pytest.raises(ClusterError, match="The namespace ops is in use"):
        remove(objects, "namespace")
    assert list(objects.at) == [f"{NAMESPACES}/ops", other.path]


@pytest.mark.parametrize("hours", [-5, 5])
def test_what_is_left_is_judged_by_the_api_servers_clock(hours: int) -> None:
    """A controller whose clock is hours off took the pods of other runs away, or left its own for hours."""
    objects = Objects("ops", ahead=timedelta(hours=hours))
    running, left = (replace(WANTED, node=name, run=name * 2) for name in ("win2", "win3"))
    objects.create(running.collection, body(running, objects.now()))
    objects.create(left.collection, body(left, objects.now() - timedelta(seconds=left.lives_s + 1)))
    assert made(objects) == ["pod"]
    assert sorted(objects.at) == sorted([f"{NAMESPACES}/ops", WANTED.path, running.path])
    until = datetime.fromisoformat(objects.at[WANTED.path]["metadata"]["annotations"][UNTIL])
    assert abs(until - objects.now() - timedelta(seconds=WANTED.lives_s)) < timedelta(minutes=1)
