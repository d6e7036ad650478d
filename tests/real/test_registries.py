"""Real containerd pulls from a registry on loopback that wants a user and a password: what we render is enough, for the
kubelet's pulls by CRI and for ctr's in advance, and who knows no password is refused."""

from __future__ import annotations

import base64
import gzip
import hashlib
import http.server
import io
import json
import os
import subprocess
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.containerd import registries
from ansible_collections.winkube.node.plugins.plugin_utils.components.containerd.options import RegistryOptions
from ansible_collections.winkube.node.plugins.plugin_utils.components.options import read
from ansible_collections.winkube.node.plugins.plugin_utils.cri.client import CriClient, CriError
from ansible_collections.winkube.node.plugins.plugin_utils.engine.secret import Secret
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Version

from tests.real import build
from tests.real.conftest import RealContainerd

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="lane real: containerd's daemon needs root")

USER, PASSWORD = "puller", "geheim:42"
BASIC = f"Basic {base64.b64encode(f'{USER}:{PASSWORD}'.encode()).decode()}"
TOKEN = "from-the-token-server"

CONFIG = """\
version = 2
root = "{folder}/lib"
state = "{folder}/run"
[grpc]
  address = "{folder}/c.sock"
[plugins."io.containerd.grpc.v1.cri".containerd]
  snapshotter = "native"
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "{folder}/cni"
  conf_dir = "{folder}/cni/config"
[plugins."io.containerd.grpc.v1.cri".registry]
  config_path = "{folder}/certs.d"
"""


def digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _layer() -> tuple[bytes, str]:
    """A layer with one file, and the digest of what is packed in it."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("hello"))
    return gzip.compress(plain.getvalue(), mtime=0), digest(plain.getvalue())


_LAYER, _DIFF = _layer()
_CONFIG = json.dumps(
    {"architecture": "amd64", "os": "linux", "config": {}, "rootfs": {"type": "layers", "diff_ids": [_DIFF]}}
).encode()
_OCI = "application/vnd.oci.image"
_MANIFEST = json.dumps(
    {
        "schemaVersion": 2,
        "mediaType": f"{_OCI}.manifest.v1+json",
        "config": {"mediaType": f"{_OCI}.config.v1+json", "digest": digest(_CONFIG), "size": len(_CONFIG)},
        "layers": [{"mediaType": f"{_OCI}.layer.v1.tar+gzip", "digest": digest(_LAYER), "size": len(_LAYER)}],
    }
).encode()
_BLOBS = {digest(one): one for one in (_CONFIG, _LAYER, _MANIFEST)}


@dataclass
class Registry:
    """`tokens`: it sends who asks to its own token server, as Docker Hub does; else it wants Basic itself."""

    tokens: bool = False
    refused: list[str] = field(default_factory=list)
    port: int = 0

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"


def _handler(registry: Registry) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Silence."""

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            said = self.headers.get("Authorization", "")
            if self.path.startswith("/token"):
                known = said == BASIC
                return self._answer(200 if known else 401, json.dumps({"token": TOKEN}).encode() if known else b"{}")
            if said != (f"Bearer {TOKEN}" if registry.tokens else BASIC):
                registry.refused.append(self.path)
                realm = f'Bearer realm="http://{registry.host}/token",service="r",scope="repository:app:pull"'
                return self._answer(401, b"{}", {"WWW-Authenticate": realm if registry.tokens else 'Basic realm="r"'})
            name = self.path.rpartition("/")[2]
            found = _MANIFEST if name == "1" else _BLOBS.get(name)
            if found is None:
                return self._answer(404, b"{}")
            kind = f"{_OCI}.manifest.v1+json" if found == _MANIFEST else "application/octet-stream"
            return self._answer(200, found, {"Content-Type": kind, "Docker-Content-Digest": digest(found)})

        def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
            self.send_response(status)
            for key, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
                self.send_header(key, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

    return Handler


@pytest.fixture(params=[False, True], ids=["basic", "tokens"])
def registry(request: pytest.FixtureRequest) -> Iterator[Registry]:
    made = Registry(request.param)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(made))
    made.port = server.server_address[1]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield made
    server.shutdown()


@dataclass
class Puller:
    """A containerd that runs, with the programs that ask it for images."""

    version: Version
    folder: Path

    def knows(self, registry: Registry, auth: dict[str, str]) -> None:
        """hosts.toml as the role writes it."""
        option = read(RegistryOptions, {"host": registry.host, "server": f"http://{registry.host}", "auth": auth})
        (one,) = registries.registries([option], lambda path: Path(path).read_bytes())
        place = self.folder / "certs.d" / registry.host
        place.mkdir(parents=True, exist_ok=True)
        (place / registries.HOSTS_TOML).write_text(registries.hosts_toml(one))

    def by_ctr(self, image: str, version: str) -> subprocess.CompletedProcess[str]:
        """As images in advance are pulled; by ctr itself (`--local`), also where it would ask the daemon to."""
        ctr = build.program("ctr", version)
        if not ctr.exists():
            pytest.skip(f"lane real: `python -m tests.real.build ctr@{version}` gets ctr")
        local = ("--local",) if version.startswith("2.") else ()
        pull = ("images", "pull", *local, "--snapshotter", "native", "--hosts-dir", str(self.folder / "certs.d"), image)
        return _run(str(ctr), "--address", str(self.folder / "c.sock"), "--namespace", "k8s.io", *pull)

    def by_cri(self, image: str) -> subprocess.CompletedProcess[str]:
        """As the kubelet pulls."""
        crictl = build.program("crictl", build.CRICTL)
        if not crictl.exists():
            pytest.skip(f"lane real: `python -m tests.real.build crictl@{build.CRICTL}` gets crictl")
        socket = f"unix://{self.folder}/c.sock"
        return _run(str(crictl), "--runtime-endpoint", socket, "--image-endpoint", socket, "pull", image)


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def puller(containerd: RealContainerd) -> Iterator[Puller]:
    with TemporaryDirectory(prefix="winkube-reg-") as name:  # short: a socket's path has at most 107 characters
        folder = Path(name)
        (folder / "config.toml").write_text(CONFIG.format(folder=folder))
        command = [str(containerd.program), "--config", str(folder / "config.toml")]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            _wait(folder, process)
            yield Puller(Version.parse(containerd.version.partition("~")[0]), folder)
        finally:
            process.terminate()
            process.wait(timeout=30)


def _wait(folder: Path, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        try:
            with CriClient(f"unix://{folder}/c.sock", timeout_s=2) as client:
                client.version()
            return
        except CriError:
            time.sleep(0.2)
    pytest.fail(f"containerd did not come up:\n{(folder / 'log').read_text()[-3000:]}")


KNOWN = {"username": USER, "password": PASSWORD}


def _works(puller: Puller, registry: Registry, pull: Callable[[], subprocess.CompletedProcess[str]], by: str) -> None:
    """It is refused without a password, and pulls with one where no warning says that it will not."""
    puller.knows(registry, {})
    assert pull().returncode != 0
    assert registry.refused

    puller.knows(registry, KNOWN)
    done = pull()
    asked = registries.Registry(registry.host, registries.Endpoint(header=(("Authorization", Secret(BASIC)),)))
    told = registries.warnings([asked], Version.parse(by))
    if registry.tokens and told:
        assert done.returncode != 0, "the warning is right"
    else:
        assert done.returncode == 0, done.stderr
    log = (puller.folder / "log").read_text()
    assert PASSWORD not in log and BASIC not in log


@pytest.mark.parametrize("containerd", [build.DEBIAN], indirect=True)
@pytest.mark.parametrize("version", build.CTR_VERSIONS)
def test_images_in_advance(puller: Puller, registry: Registry, version: str) -> None:
    _works(puller, registry, lambda: puller.by_ctr(f"{registry.host}/app:1", version), version)


@pytest.mark.parametrize("containerd", build.CTR_VERSIONS, indirect=True)
def test_as_the_kubelet_pulls(puller: Puller, registry: Registry) -> None:
    _works(puller, registry, lambda: puller.by_cri(f"{registry.host}/app:1"), str(puller.version))
