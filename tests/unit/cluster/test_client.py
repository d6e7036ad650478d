"""The client against a small HTTP server: what goes out, and what becomes of each answer."""

from __future__ import annotations

import json
import ssl
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.client import Cluster, wait_for
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.records import ConfigMap
from ansible_collections.winkube.node.plugins.plugin_utils.engine.clock import Clock
from ansible_collections.winkube.node.plugins.plugin_utils.engine.waiting import Wait

from tests.lab.cluster.pki import Authority, Identity
from tests.unit.cluster import witness
from tests.unit.cluster.fake import as_api

pytestmark = pytest.mark.slow


class Api(witness.Server):
    """Answers from `answers` ((method, path) -> (status, object)) and notes what it was sent."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(Handler, tls)
        self.answers: dict[tuple[str, str], tuple[int, Any]] = {}
        self.seen: list[tuple[str, str, str, Any, str]] = []

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://{witness.HOST}:{self.port}"


class Handler(BaseHTTPRequestHandler):
    server: Api

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        kind = self.headers.get("Content-Type", "")
        self.server.seen.append((self.command, self.path, kind, body, self.headers.get("Authorization", "")))
        status, answer = self.server.answers.get((self.command, self.path), (404, {"message": "not found"}))
        data = as_api(self.command, self.path, status, answer)
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _answer  # noqa: N815 - the names that http.server looks for

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def api() -> Iterator[Api]:
    """Over TLS: only there are credentials sent."""
    with witness.running(Api(witness.context())) as server:
        yield server


def kubeconfig(tmp_path: Path, url: str, **cluster: Any) -> Path:
    path = tmp_path / "config"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "lab",
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "me"}}],
        "clusters": [{"name": "lab", "cluster": {"server": url, **cluster}}],
        "users": [{"name": "me", "user": {"token": "of-the-controller"}}],
    }
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


@pytest.fixture
def cluster(api: Api, tmp_path: Path) -> Cluster:
    authority = b64encode(witness.authority().pem).decode()
    path = kubeconfig(tmp_path, f"{api.url}/", **{"certificate-authority-data": authority})
    found = Cluster.open({"kubeconfig": str(path), "context": ""})
    assert found is not None
    return found


def test_without_a_kubeconfig_there_is_no_cluster() -> None:
    assert Cluster.open({"kubeconfig": "", "context": ""}) is None


def test_server_and_ca_are_the_kubeconfigs(tmp_path: Path) -> None:
    pem = Authority().pem
    path = kubeconfig(tmp_path, "https://10.0.0.10:6443", **{"certificate-authority-data": b64encode(pem).decode()})
    found = Cluster.open({"kubeconfig": str(path), "context": "lab"})
    assert found is not None
    assert (found.server, found.ca_pem) == ("https://10.0.0.10:6443", pem)
    broken = kubeconfig(tmp_path, "https://10.0.0.10:6443", **{"certificate-authority-data": "cGVt"})
    with pytest.raises(ClusterError, match="its certificate-authority-data has no certificate in PEM"):
        Cluster.open({"kubeconfig": str(broken), "context": "lab"})


def test_missing_file_and_context_are_said(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=r"there is no file .*nowhere on the controller; winkube_cluster.kubeconfig"):
        Cluster.open({"kubeconfig": str(tmp_path / "nowhere"), "context": ""})
    path = kubeconfig(tmp_path, "https://10.0.0.10:6443")
    with pytest.raises(ClusterError, match="cannot be used with the context prod"):
        Cluster.open({"kubeconfig": str(path), "context": "prod"})


def test_get_gives_the_object_or_none(api: Api, cluster: Cluster) -> None:
    api.answers["GET", "/api/v1/nodes/win1"] = (200, {"kind": "Node", "metadata": {"name": "win1"}})
    assert cluster.node("win1") == {"kind": "Node", "metadata": {"name": "win1"}}
    assert cluster.node("win2") is None
    assert api.seen[0][4] == "Bearer of-the-controller"


@pytest.mark.parametrize(
    ("kind", "content_type"),
    [("merge", "application/merge-patch+json"), ("strategic", "application/strategic-merge-patch+json")],
)
def test_patch_has_the_content_type_of_its_kind(api: Api, cluster: Cluster, kind: str, content_type: str) -> None:
    api.answers["PATCH", "/api/v1/nodes/win1"] = (200, {"kind": "Node"})
    assert cluster.patch("/api/v1/nodes/win1", {"spec": {"x": 1}}, kind=kind) == {
        "kind": "Node",
        "metadata": {"name": "win1"},
    }
    assert api.seen[0][:4] == ("PATCH", "/api/v1/nodes/win1", content_type, {"spec": {"x": 1}})


def test_create_replace_delete(api: Api, cluster: Cluster) -> None:
    api.answers["POST", "/api/v1/namespaces"] = (201, {"kind": "Namespace"})
    api.answers["PUT", "/api/v1/namespaces/a"] = (200, {"kind": "Namespace"})
    api.answers["DELETE", "/api/v1/namespaces/a"] = (200, {"kind": "Status"})
    assert cluster.create("/api/v1/namespaces", {"a": 1}) == {"kind": "Namespace", "metadata": {"name": "made"}}
    assert cluster.replace("/api/v1/namespaces/a", {"a": 2}) == {"kind": "Namespace", "metadata": {"name": "a"}}
    assert cluster.delete("/api/v1/namespaces/a") is True
    assert cluster.delete("/api/v1/namespaces/b") is False
    assert [(seen[0], seen[3]) for seen in api.seen[:2]] == [("POST", {"a": 1}), ("PUT", {"a": 2})]


def test_a_refusal_is_a_sentence_with_the_servers_reason(api: Api, cluster: Cluster) -> None:
    api.answers["GET", "/api/v1/nodes/win1"] = (403, {"message": 'nodes "win1" is forbidden'})
    with pytest.raises(ClusterError) as raised:
        cluster.node("win1")
    assert str(raised.value) == f'GET {api.url}/api/v1/nodes/win1 was answered with 403: nodes "win1" is forbidden.'
    assert raised.value.status == 403


def test_credentials_that_are_not_known_are_those_of_the_kubeconfig(api: Api, cluster: Cluster) -> None:
    api.answers["GET", "/api/v1/nodes/win1"] = (401, {"message": "Unauthorized"})
    with pytest.raises(
        ClusterError, match=r"with 401: Unauthorized\. The credentials in the kubeconfig .* have expired"
    ):
        cluster.node("win1")


def test_a_server_of_another_authority_is_not_trusted_and_not_asked_again(tmp_path: Path) -> None:
    pair = Authority().issue(Identity("api", (), addresses=("127.0.0.1",)), ("server auth",))
    (tmp_path / "pair").write_bytes(pair.certificate + pair.key)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "pair")
    ours = b64encode(Authority().pem).decode()
    with witness.running(Api(tls)) as api:
        path = kubeconfig(tmp_path, api.url, **{"certificate-authority-data": ours})
        found = Cluster.open({"kubeconfig": str(path), "context": ""})
        assert found is not None
        with pytest.raises(ClusterError, match=f"^{api.url} is not trusted: .*certificate.*tls-server-name") as raised:
            found.version()
    assert not raised.value.passing


def test_a_dead_server_is_a_sentence(tmp_path: Path) -> None:
    found = Cluster.open({"kubeconfig": str(kubeconfig(tmp_path, "http://127.0.0.1:9")), "context": ""})
    assert found is not None
    with pytest.raises(ClusterError, match=r"127.0.0.1:9 cannot be asked: "):
        found.version()


@pytest.mark.parametrize(
    ("said", "version"), [("v1.37.1", "1.37.1"), ("v1.29.3-gke.1282000", "1.29.3"), ("v1.30.0+k3s1", "1.30.0")]
)
def test_version_is_without_a_vendors_suffix(api: Api, cluster: Cluster, said: str, version: str) -> None:
    api.answers["GET", "/version"] = (200, {"gitVersion": said})
    assert cluster.version() == version


def test_daemon_sets_and_config_maps(api: Api, cluster: Cluster) -> None:
    api.answers["GET", "/apis/apps/v1/daemonsets?limit=500"] = (
        200,
        {"items": [{"metadata": {"name": "kube-flannel-ds"}}]},
    )
    api.answers["GET", "/api/v1/namespaces/kube-system/configmaps/kube-proxy"] = (200, {"data": {"a": "b"}})
    assert cluster.daemon_sets() == [{"metadata": {"name": "kube-flannel-ds"}}]
    assert cluster.config_map("kube-system", "kube-proxy") == ConfigMap({"a": "b"})
    assert cluster.config_map("kube-system", "none") is None


def test_waiting_ends_with_the_first_answer_or_the_sentence() -> None:
    passed = [0.0]
    clock = Clock(now=lambda: passed[0], sleep=lambda seconds: passed.__setitem__(0, passed[0] + seconds))
    assert wait_for(Wait("waiting", clock), 10, lambda: "there" if passed[0] >= 3 else None) == "there"
    assert passed[0] == 3
    with pytest.raises(ClusterError, match="the Node did not come"):
        wait_for(Wait("waiting", clock), 10, lambda: None, "the Node did not come.")
    assert passed[0] == 13
