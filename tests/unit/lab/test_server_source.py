"""The source server: what it serves, and the ways in which it misbehaves."""

from __future__ import annotations

import hashlib
import http.client
import io
import tarfile
from collections.abc import Iterator

import pytest

from tests.lab.machine.builds import build, release_archive
from tests.lab.server.source import Answer, SourceServer

ARCHIVE = "/containerd-2.3.2-windows-amd64.tar.gz"


@pytest.fixture
def source() -> Iterator[SourceServer]:
    server = SourceServer()
    server.start()
    try:
        yield server
    finally:
        server.stop()


def get(source: SourceServer, path: str, host: str = "xyz", method: str = "GET") -> tuple[int, bytes, dict[str, str]]:
    connection = http.client.HTTPConnection(source.address, timeout=10)
    connection.request(method, path, headers={"Host": host})
    response = connection.getresponse()
    try:
        return response.status, response.read(), dict(response.getheaders())
    finally:
        connection.close()


def test_the_documents_binaries(source: SourceServer) -> None:
    assert get(source, "/containerd.exe")[:2] == (200, build("containerd", "1.7.11"))
    assert get(source, "/kubelet.exe")[:2] == (200, build("kubelet", "1.29.0"))
    source.versions["containerd"] = "1.7.12"
    assert get(source, "/containerd.exe")[1] == build("containerd", "1.7.12")
    assert get(source, "/2.3.2/containerd.exe")[1] == build("containerd", "2.3.2")
    assert [(visit.host, visit.path) for visit in source.visits[:2]] == [
        ("xyz", "/containerd.exe"),
        ("xyz", "/kubelet.exe"),
    ]


@pytest.mark.parametrize("folder", ["", "/containerd/containerd/releases/download/v2.3.2"])
def test_release_archive_with_its_sum(source: SourceServer, folder: str) -> None:
    status, body, headers = get(source, folder + ARCHIVE, "github.com")
    assert (status, body) == (200, release_archive("containerd", "2.3.2"))
    assert headers["Content-Length"] == str(len(body))
    digest = hashlib.sha256(body).hexdigest()
    assert get(source, folder + ARCHIVE + ".sha256sum")[1].decode() == f"{digest}  {ARCHIVE[1:]}\n"
    assert get(source, folder + ARCHIVE + ".sha256")[1].decode() == digest


@pytest.mark.parametrize(
    "path", ["/", "/nothing.exe", "/cri-tools-1.2.3-windows-amd64.tar.gz", "/x.txt", "/bad/nofault/containerd.exe"]
)
def test_what_is_not_served_is_404(source: SourceServer, path: str) -> None:
    assert get(source, path)[0] == 404


@pytest.mark.parametrize(("fault", "status"), [("404", 404), ("500", 500)])
def test_bad_status(source: SourceServer, fault: str, status: int) -> None:
    assert get(source, f"/bad/{fault}{ARCHIVE}")[0] == status


def test_html_instead_of_an_archive(source: SourceServer) -> None:
    status, body, headers = get(source, f"/bad/html{ARCHIVE}")
    assert (status, headers["Content-Type"]) == (200, "text/html")
    assert body.startswith(b"<!DOCTYPE html>")


def test_an_archive_that_leads_out(source: SourceServer) -> None:
    body = get(source, f"/bad/escape{ARCHIVE}")[1]
    with tarfile.open(fileobj=io.BytesIO(body)) as archive:
        names = archive.getnames()
    assert "bin/containerd.exe" in names
    assert "../../Windows/System32/evil.exe" in names


def test_a_truncated_download(source: SourceServer) -> None:
    with pytest.raises(http.client.IncompleteRead) as found:
        get(source, f"/bad/truncated{ARCHIVE}")
    assert len(found.value.partial) == len(release_archive("containerd", "2.3.2")) // 2


def test_other_content_under_the_right_sum(source: SourceServer) -> None:
    good = release_archive("containerd", "2.3.2")
    bad = get(source, f"/bad/changed{ARCHIVE}")[1]
    assert len(bad) == len(good)
    assert bad != good
    assert get(source, f"/bad/changed{ARCHIVE}.sha256")[1].decode() == hashlib.sha256(good).hexdigest()


def test_slow_is_slow(source: SourceServer) -> None:
    answer = source.answer(f"/bad/slow{ARCHIVE}")
    assert answer.pause_s > 0
    assert answer.body == release_archive("containerd", "2.3.2")


def test_own_content(source: SourceServer) -> None:
    url = source.publish("/mine/config.toml", b"version = 3\n")
    assert url == f"http://{source.address}/mine/config.toml"
    assert get(source, "/mine/config.toml")[:2] == (200, b"version = 3\n")
    assert get(source, "/bad/html/mine/config.toml")[1].startswith(b"<!DOCTYPE")
    source.publish("/gone", Answer(b"", status=410))
    assert get(source, "/gone")[0] == 410
    source.forget()
    assert get(source, "/mine/config.toml")[0] == 404


def test_head_has_the_length_and_no_body(source: SourceServer) -> None:
    status, body, headers = get(source, "/containerd.exe", method="HEAD")
    assert (status, body) == (200, b"")
    assert headers["Content-Length"] == str(len(build("containerd", "1.7.11")))


@pytest.mark.parametrize(
    ("host", "path", "name", "version"),
    [
        ("dl.k8s.io", "/release/v1.27.4/bin/windows/amd64/kubelet.exe", "kubelet", "1.27.4"),
        ("dl.k8s.io", "/release/v1.37.1/bin/windows/amd64/kube-proxy.exe", "kube-proxy", "1.37.1"),
        ("dl.k8s.io", "/release/v1.37.1/bin/windows/amd64/kubeadm.exe", "kubeadm", "1.37.1"),
        ("github.com", "/flannel-io/flannel/releases/download/v0.26.1/flanneld.exe", "flanneld", "0.26.1"),
        (
            "github.com",
            "/flannel-io/cni-plugin/releases/download/v1.2.0-flannel1/flannel-amd64.exe",
            "flannel",
            "1.2.0-flannel1",
        ),
    ],
)
def test_programs_of_a_node_under_their_publishers_paths(
    source: SourceServer, host: str, path: str, name: str, version: str
) -> None:
    assert get(source, path, host)[:2] == (200, build(name, version))
    assert get(source, f"{path}.sha256", host)[1].decode() == hashlib.sha256(build(name, version)).hexdigest()


@pytest.mark.parametrize(
    ("path", "members"),
    [
        (
            "/containernetworking/plugins/releases/download/v1.5.1/cni-plugins-windows-amd64-v1.5.1.tgz",
            ["./host-local.exe", "./win-bridge.exe", "./win-overlay.exe"],
        ),
        (
            "/flannel-io/cni-plugin/releases/download/v1.2.0-flannel1/"
            "cni-plugin-flannel-windows-amd64-v1.2.0-flannel1.tgz",
            ["flannel-amd64.exe"],
        ),
        (
            "/flannel-io/flannel/releases/download/v0.26.1/flannel-v0.26.1-windows-amd64.tar.gz",
            ["README.md", "flanneld.exe", "mk-docker-opts.sh"],
        ),
    ],
)
def test_archives_of_the_network_s_programs(source: SourceServer, path: str, members: list[str]) -> None:
    status, body, _ = get(source, path, "github.com")
    assert status == 200
    with tarfile.open(fileobj=io.BytesIO(body)) as archive:
        assert sorted(archive.getnames()) == members
    digest = hashlib.sha256(body).hexdigest()
    if path.endswith(".tgz"):
        name = path.rpartition("/")[2]
        assert get(source, f"{path}.sha256", "github.com")[1].decode() == f"{digest}  {name}\n"
