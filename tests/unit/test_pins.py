"""`make pins` against a server that stands for the publishers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.pins import __main__ as pins

CONTAINERD = "github.com/containerd/containerd/releases/download/v2.3.7/containerd-2.3.7-windows-amd64.tar.gz"
KUBELET = "dl.k8s.io/release/v1.37.1/bin/windows/amd64/kubelet.exe"
FLANNELD = "github.com/flannel-io/flannel/releases/download/v0.28.10/flanneld.exe"
EXPORTER = (
    "github.com/prometheus-community/windows_exporter/releases/download/v0.31.8/windows_exporter-0.31.8-amd64.exe"
)


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture
def publishers(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """The folder that is served, and its address."""
    folder = tmp_path / "served"
    folder.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Silent, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def publish(folder: Path, path: str, text: str) -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(text)


def sum_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_the_files_are_those_that_the_roles_fetch() -> None:
    found = {each.path: each.sums for each in pins.files()}
    assert found[CONTAINERD] == f"https://{CONTAINERD}.sha256sum"
    assert found[KUBELET] == f"https://{KUBELET}.sha256"
    assert found[FLANNELD] == ""
    assert found[EXPORTER].endswith("/v0.31.8/sha256sums.txt")
    for name in ("kubeadm", "kube-proxy", "kube-log-runner"):
        assert KUBELET.replace("kubelet", name) in found
    assert not [path for path in found if "{{" in path or " " in path or "0.0.0/" in path]


@pytest.mark.slow
def test_what_the_publishers_say_is_pinned_and_a_pin_is_never_replaced(
    publishers: tuple[Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, mirror = publishers
    table = tmp_path / "pins.txt"
    table.write_text("# A comment.\n")
    publish(folder, f"{CONTAINERD}.sha256sum", f"{sum_of('a')}  {CONTAINERD.rpartition('/')[2]}\n")
    publish(folder, f"{KUBELET}.sha256", sum_of("b"))

    def run() -> tuple[int, dict[str, int], str]:
        status = pins.main(["--mirror", mirror, "--table", str(table)])
        told = capsys.readouterr()
        return status, json.loads(told.out.splitlines()[-1]), told.err

    status, figures, told = run()
    assert status == 0 and figures["pinned"] == figures["added"] == 2 and figures["changed"] == 0
    assert f"{FLANNELD}: its publisher has no sum file." in told
    assert f"could not read the sum file https://{KUBELET.replace('kubelet', 'kubeadm')}.sha256" in told
    written = table.read_text()
    assert written == f"# A comment.\n{sum_of('b')}  {KUBELET}\n{sum_of('a')}  {CONTAINERD}\n"

    publish(folder, f"{KUBELET}.sha256", sum_of("another"))
    status, figures, told = run()
    assert status == 1 and figures["added"] == 0 and figures["changed"] == 1
    assert f"{KUBELET}: pinned {sum_of('b')}, and https://{KUBELET}.sha256 says {sum_of('another')} now." in told
    assert table.read_text() == written
