"""Long lists come in pieces, all of one moment; one that the server has forgotten is read anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster import client
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.connection import Connection
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError

from tests.lab.cluster.api import Request
from tests.lab.cluster.cluster import Cluster
from tests.lab.cluster.kinds import BY_NAME
from tests.lab.cluster.pki import Identity
from tests.lab.cluster.seed import Settings

MANY = 23


class Seen:
    """The lab's API server as the client sees it. `asked`: what was asked for; `between` is called before the request
    of this number."""

    def __init__(self, cluster: Cluster) -> None:
        self.lab = cluster
        self.asked: list[str] = []
        self.between: dict[int, Callable[[], object]] = {}
        self.admin = cluster.ca.issue(Identity("kubernetes-admin", ("system:masters",))).certificate
        self.client = client.Cluster(lambda: Connection("https://10.0.0.10:6443", b"", self.send))

    def send(self, method: str, path: str, body: Mapping[str, Any] | None, content_type: str) -> tuple[int, bytes]:
        self.between.pop(len(self.asked), lambda: None)()
        self.asked.append(path)
        parts = urlsplit(path)
        request = Request(method, parts.path, dict(parse_qsl(parts.query)), certificate=self.admin)
        answer = self.lab.api.answer(request)
        return answer.status, answer.body

    @property
    def forms(self) -> list[str]:
        """Of each request: how much was asked for."""
        queries = [dict(parse_qsl(urlsplit(path).query)) for path in self.asked]
        return ["continue" if "continue" in each else "limit" if "limit" in each else "whole" for each in queries]


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Seen]:
    monkeypatch.setattr(client, "PIECE", 10)
    cluster = Cluster(tmp_path / "cluster", Settings())
    for number in range(MANY):
        add(cluster, f"win{number:02}", "windows" if number % 2 else "linux")
    yield Seen(cluster)
    cluster.stop()


def add(cluster: Cluster, name: str, system: str = "windows") -> None:
    with cluster.api.lock:
        cluster.store.create(
            BY_NAME["Node"], "", {"metadata": {"name": name, "labels": {"system": system}}, "spec": {}, "status": {}}
        )


def names(found: list[dict[str, Any]]) -> list[str]:
    return [each["metadata"]["name"] for each in found if each["metadata"]["name"].startswith("win")]


def all_names() -> list[str]:
    return [f"win{number:02}" for number in range(MANY)]


def test_a_long_list_comes_in_pieces_and_a_selection_as_well(seen: Seen) -> None:
    assert names(seen.client.nodes()) == all_names()
    assert seen.forms == ["limit", "continue", "continue"]
    seen.asked.clear()
    selected = seen.client.list_nodes("system=linux")
    assert [each.name for each in selected] == all_names()[::2]
    assert seen.forms == ["limit", "continue"] and "labelSelector=system%3Dlinux&limit=10" in seen.asked[1]


def test_all_pieces_are_of_the_time_of_the_first(seen: Seen) -> None:
    seen.between[1] = lambda: add(seen.lab, "win99")
    assert names(seen.client.nodes()) == all_names()
    assert names(seen.client.nodes()) == [*all_names(), "win99"]


def test_a_list_that_the_server_has_forgotten_is_read_anew_in_one_piece(seen: Seen) -> None:
    def forget() -> None:
        add(seen.lab, "win99")
        seen.lab.skew += timedelta(seconds=301)

    seen.between[2] = forget
    assert names(seen.client.nodes()) == [*all_names(), "win99"]
    assert seen.forms == ["limit", "continue", "continue", "whole"], "410 is not asked again"


def test_pieces_over_namespaces_go_on_where_the_last_one_ended(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    """etcd has kube-system/ before kube/: it sorts whole keys."""
    monkeypatch.setattr(client, "PIECE", 1)
    with seen.lab.api.lock:
        seen.lab.store.create(BY_NAME["Namespace"], "", {"metadata": {"name": "kube"}})
        for space in ("kube", "kube-system"):
            seen.lab.store.create(BY_NAME["ConfigMap"], space, {"metadata": {"name": "of-two"}, "data": {}})
    found = seen.client.items("/api/v1/configmaps?fieldSelector=metadata.name%3Dof-two")
    assert [each["metadata"]["namespace"] for each in found] == ["kube-system", "kube"]


def test_a_server_that_continues_a_list_in_a_circle_is_refused() -> None:
    piece = b'{"kind": "NodeList", "metadata": {"continue": "again"}, "items": []}'
    api = client.Cluster(lambda: Connection("https://x", b"", lambda *_of: (200, piece)))
    with pytest.raises(ClusterError, match="the list does not end"):
        api.nodes()
