"""Lists in pieces: a real kube-apiserver and the lab's answer the same requests alike, and the client reads both."""

from __future__ import annotations

import base64
import json
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster import client

from tests.lab.cluster.cluster import Cluster
from tests.lab.cluster.kinds import BY_NAME
from tests.lab.cluster.seed import Settings
from tests.real import api_server
from tests.real.api_server import Server

NODES = 5
AT_ETCD = {"ListFromCacheSnapshot": False}
"""Else what etcd has forgotten comes from a snapshot in the API server's memory, as long as that lasts."""
BEGUN, GIVEN = "/api/v1/nodes?limit=2", "/api/v1/nodes?limit=2&continue={token}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if command := api_server.missing():
        pytest.skip(f"lane real: kube-apiserver or etcd is not there; `{command}` builds them")
    with api_server.running(tmp_path_factory.mktemp("server"), gates=AT_ETCD) as running:
        for name in names():
            assert running.admin.post("/api/v1/nodes", node(name)).status == 201
        yield running


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path / "cluster", Settings(version=f"{api_server.VERSION}"))
    with made.api.lock:
        for each in made.store.list(BY_NAME["Node"]):
            made.store.delete(BY_NAME["Node"], "", each["metadata"]["name"])
        for name in names():
            made.store.create(BY_NAME["Node"], "", node(name) | {"spec": {}, "status": {}})
    yield made
    made.stop()


def names() -> list[str]:
    return [f"win{number}" for number in range(NODES)]


def node(name: str) -> dict[str, Any]:
    labels = {"side": "even" if int(name[-1]) % 2 == 0 else "odd"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def token(**fields: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(fields).encode()).decode().rstrip("=")


def told(body: dict[str, Any]) -> dict[str, Any]:
    """Of an answer, what is not this server's own: a token by where it goes on."""
    metadata = dict(body.get("metadata") or {})
    metadata.pop("resourceVersion", None)
    if given := metadata.get("continue"):
        said = json.loads(base64.urlsafe_b64decode(given + "=="))
        metadata["continue"] = (said["v"], said["start"].lstrip("/"), said["rv"] == -1)
    items = [each["metadata"]["name"] for each in body.get("items") or ()]
    return {key: body.get(key) for key in ("kind", "message", "reason", "code")} | {
        "metadata": metadata,
        "items": items,
    }


@pytest.mark.parametrize(
    "path",
    [
        BEGUN,
        f"{BEGUN}&labelSelector=side%3Deven",
        "/api/v1/nodes?limit=5",
        "/api/v1/nodes?limit=0",
        "/api/v1/nodes?limit=-1",
        "/api/v1/nodes?limit=x",
        GIVEN,
        f"{GIVEN}&labelSelector=side%3Dodd",
        f"{GIVEN}&resourceVersion=5",
        GIVEN.format(token=token(v="x", rv=1, start="win0")),
        GIVEN.format(token=token(v="meta.k8s.io/v1", start="win0")),
        GIVEN.format(token=token(v="meta.k8s.io/v1", rv=3)),
    ],
)
def test_the_lab_lists_as_a_real_server_does(server: Server, lab: Cluster, path: str) -> None:
    begun = [ask(BEGUN)["metadata"]["continue"] for ask in (lambda path: server.admin.get(path).body, lab_get(lab))]
    real = server.admin.get(path.replace("{token}", begun[0])).body
    assert told(lab_get(lab)(path.replace("{token}", begun[1]))) == told(real)


def lab_get(lab: Cluster) -> Any:
    return lambda path: lab.request("GET", path.replace("%3D", "="))


def test_what_etcd_has_forgotten_is_gone_and_the_client_reads_it_anew(
    server: Server, lab: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = server.admin.get(BEGUN).body["metadata"]["continue"]
    forget(server, "late1")
    gone = server.admin.get(GIVEN.format(token=given))
    old = token(v="meta.k8s.io/v1", rv=2, start="/win1\0")
    assert gone.status == 410
    assert told(lab_get(lab)(GIVEN.format(token=old))) == told(gone.body)

    monkeypatch.setattr(client, "PIECE", 2)
    access = {"kubeconfig": str(server.kubeconfig(server.admin))}
    cluster = client.Cluster.open(access)
    assert cluster is not None
    whole = cluster._connection()
    asked: list[str] = []

    def send(method: str, path: str, body: Mapping[str, Any] | None, content_type: str) -> Any:
        asked.append(path)
        if len(asked) == 2:
            forget(server, "late2")
        return whole.send(method, path, body, content_type)

    monkeypatch.setattr(cluster, "_connection", lambda: replace(whole, send=send))
    assert [each["metadata"]["name"] for each in cluster.nodes()] == ["late1", "late2", *names()]
    assert len(asked) == 3 and asked[2] == "/api/v1/nodes"
    monkeypatch.undo()
    assert len(cluster.nodes()) == NODES + 2


def forget(server: Server, name: str) -> None:
    """A Node more, and etcd forgets how it was before."""
    made = server.admin.post("/api/v1/nodes", node(f"{name}"))
    assert made.status == 201, made
    revision = int(made.body["metadata"]["resourceVersion"])
    body = json.dumps({"revision": revision, "physical": True}).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{server.etcd}/v3/kv/compaction", body), timeout=60) as done:
        assert done.status == 200
