"""Real containerd opens and closes CRI over TCP as our editor tells it to, and answers gRPC on the port.

The daemon runs in a folder of the test, with its own sockets, and is ended with the test.
"""

from __future__ import annotations

import datetime
import json
import os
import select
import socket
import socketserver
import subprocess
import tempfile
import threading
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cri.client import CriError
from ansible_collections.winkube.node.plugins.plugin_utils.cri.client import Tls as ClientTls
from ansible_collections.winkube.node.plugins.plugin_utils.cri_tcp import certs as cri_tcp_certs
from ansible_collections.winkube.node.plugins.plugin_utils.cri_tcp import proof as cri_tcp_proof
from ansible_collections.winkube.node.plugins.plugin_utils.cri_tcp.edit import (
    Address,
    Listener,
    Tls,
    edit,
    effective,
    not_effective,
)

from tests.real import build
from tests.real.conftest import RealContainerd

CRI = "io.containerd.grpc.v1.cri"
TCP = "io.containerd.server.v1.grpc-tcp"
OPEN = Listener(Address.parse("127.0.0.1:8888"))
# One of each place where the keys have stood: [grpc] in 1.x and in 2.2, the plugin's table in 2.4; the oldest two serve
# CRI v1alpha2 alone.
DAEMONS = [build.OLDEST, build.WITHOUT_V1, build.DEBIAN, *build.CONTAINERD_VERSIONS]


def written(folder: Path, text: str, name: str = "config.toml") -> Path:
    file = folder / name
    file.write_text(text)
    return file


@pytest.mark.row("CT-05", "CT-06", "CT-08")
def test_the_default_of_each_release_can_be_opened_and_closed(containerd: RealContainerd, tmp_path: Path) -> None:
    arguments = [str(containerd.program), "config", "default"]
    default = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=True).stdout
    opened = edit(default, OPEN)
    dump = containerd.run(written(tmp_path, opened))
    assert not_effective(effective(dump.stdout), OPEN) == "", dump.stderr
    # Nothing but the two keys is another line.
    changed = [line.split()[0] for line in set(opened.splitlines()) - set(default.splitlines())]
    assert sorted(changed) == sorted(["disable_tcp_service", "tcp_address" if "[grpc]" in default else "address"])
    secure = Listener(OPEN.address, Tls(r"C:\cri\ca.crt", r"C:\cri\server.crt", r"C:\cri\server.key"))
    assert not_effective(effective(containerd.run(written(tmp_path, edit(default, secure))).stdout), secure) == ""
    closed = containerd.run(written(tmp_path, edit(opened, None)))
    assert not_effective(effective(closed.stdout), None) == "", closed.stderr


@pytest.mark.row("CT-05", "CT-07")
@pytest.mark.parametrize("head", ["version = 2\n", "version = 3\n", "version = 4\n", ""])
@pytest.mark.parametrize("table", ["", f"[plugins.'{TCP}']\n"])
def test_every_version_of_the_file_that_a_release_reads(
    containerd: RealContainerd, tmp_path: Path, head: str, table: str
) -> None:
    newest = containerd.run(written(tmp_path, "version = 2\n"))
    version = tomllib.loads(edit(head, OPEN))["version"]
    if version > tomllib.loads(newest.stdout)["version"]:
        return  # this containerd refuses or misreads such a file, whoever wrote it
    dump = containerd.run(written(tmp_path, edit(head + table, OPEN)))
    assert not_effective(effective(dump.stdout), OPEN) == "", dump.stderr


@pytest.mark.row("CT-07")
@pytest.mark.parametrize("containerd", [build.DEBIAN, "1.7.35"], indirect=True)
def test_the_snippet_without_a_version_is_what_1_x_ignores(containerd: RealContainerd, tmp_path: Path) -> None:
    snippet = f'[grpc]\ntcp_address = "127.0.0.1:8888"\n[plugins."{CRI}"]\ndisable_tcp_service = false\n'
    assert not effective(containerd.run(written(tmp_path, snippet)).stdout).serves_cri
    assert effective(containerd.run(written(tmp_path, edit(snippet, OPEN))).stdout).serves_cri


@pytest.mark.row("CT-09")
@pytest.mark.parametrize("containerd", ["1.7.35", "2.2.9"], indirect=True)
def test_a_drop_in_that_takes_the_switch_back_is_seen(containerd: RealContainerd, tmp_path: Path) -> None:
    """1.x replaces the plugin's whole table by the drop-in's, 2.x merges the two."""
    drop_in = f'version = 2\n[plugins."{CRI}"]\nmax_container_log_line_size = 1\n'
    written(tmp_path, drop_in, "more.toml")
    text = edit(f'version = 2\nimports = ["{tmp_path}/more.toml"]\n', OPEN)
    fault = not_effective(effective(containerd.run(written(tmp_path, text)).stdout), OPEN)
    assert bool(fault) == containerd.version.lstrip("v").startswith("1."), fault


ROOT = Path(__file__).resolve().parents[2]


# --- the daemon ------------------------------------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def running(containerd: RealContainerd, folder: Path, text: str) -> Iterator[None]:
    """A daemon with this configuration, until its own socket is there; the folder's path must be short."""
    config = written(folder, text)
    sockets = ["--address", str(folder / "c.sock"), "--root", str(folder / "root"), "--state", str(folder / "state")]
    with (folder / "log").open("wb") as log:
        daemon = subprocess.Popen(
            [str(containerd.program), "--config", str(config), *sockets], stdout=log, stderr=log, cwd=folder
        )
        try:
            until = time.monotonic() + 20
            while not (folder / "c.sock").exists() or b"successfully booted" not in (folder / "log").read_bytes():
                assert daemon.poll() is None and time.monotonic() < until, (folder / "log").read_text()[-3000:]
                time.sleep(0.1)
            yield
        finally:
            daemon.terminate()
            daemon.wait(timeout=20)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path: a Unix socket's may not have more than 107 characters."""
    with tempfile.TemporaryDirectory(prefix="wkc") as name:
        yield Path(name)


def base(containerd: RealContainerd, folder: Path) -> str:
    """What lets CRI come up in a scratch folder: nothing of the machine's own is used."""
    default = subprocess.run(
        [str(containerd.program), "config", "default"], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    text = default.replace("/run/containerd", str(folder / "state")).replace("/opt/containerd", str(folder / "opt"))
    text = text.replace('"overlayfs"', '"native"').replace("'overlayfs'", "'native'")
    return text.replace("/etc/cni/net.d", str(folder)).replace("/var/run/cdi", str(folder)).replace("/opt/cni", "/x")


def ask(address: Address, tls: ClientTls | None = None) -> str:
    return str(cri_tcp_proof.ask(str(address), tls)["runtimeName"])


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="lane real: the daemon of containerd runs as root only")


@needs_root
@pytest.mark.row("CT-06")
@pytest.mark.parametrize("containerd", DAEMONS, indirect=True)
def test_cri_answers_only_with_both_switches(containerd: RealContainerd, folder: Path) -> None:
    listener = Listener(Address("127.0.0.1", free_port()))
    opened = edit(base(containerd, folder), listener)
    with running(containerd, folder, opened):
        assert ask(listener.address) == "containerd"
    half = opened.replace("disable_tcp_service = false", "disable_tcp_service = true")
    with running(containerd, folder, half), pytest.raises(CriError) as without:
        ask(listener.address)
    # Since 2.3 a server without services does not even listen.
    served_by_plugin = f"{TCP}'" in opened
    assert without.value.code == ("UNAVAILABLE" if served_by_plugin else "UNIMPLEMENTED")
    with running(containerd, folder, edit(opened, None)), pytest.raises(CriError) as closed:
        ask(listener.address)
    assert closed.value.code == "UNAVAILABLE"


def tool(name: str, version: str) -> Path:
    found = build.program(name, version)
    if not found.exists():
        pytest.skip(f"lane real: {name} is not there; `python -m tests.real.build {name}@{version}` gets it")
    return found


def said(*words: object) -> str:
    """A command that has to succeed; what it printed."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def page_commands(page: str, listener: Listener) -> list[list[str]]:
    """The documentation's calls of grpcurl without TLS, with the address of this listener."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    lines = [line.removeprefix("$ ") for line in text.splitlines() if line.removeprefix("$ ").startswith("grpcurl -")]
    plain = [line.split() for line in lines if "-plaintext" in line]
    return [[str(listener.address) if word == "127.0.0.1:8888" else word for word in words] for words in plain]


@needs_root
@pytest.mark.row("CT-13")
@pytest.mark.parametrize(
    ("page", "method", "answers"),
    # Without containers an answer about them is empty.
    [("cpu-stats.md", "ListContainerStats", set()), ("cri-over-tcp.md", "Version", {"runtimeName", "runtimeVersion"})],
)
@pytest.mark.parametrize("containerd", [build.DEBIAN, "2.3.7"], indirect=True)
def test_the_documentations_grpcurl_call_works_against_what_was_configured(
    containerd: RealContainerd, folder: Path, page: str, method: str, answers: set[str]
) -> None:
    grpcurl = tool("grpcurl", build.GRPCURL)
    listener = Listener(Address("127.0.0.1", free_port()))
    (command,) = page_commands(page, listener)
    assert command[-1] == f"runtime.v1.RuntimeService/{method}"
    with running(containerd, folder, edit(base(containerd, folder), listener)):
        done = subprocess.run(
            [str(grpcurl), *command[1:]], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
        )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer.keys() >= answers if answers else answer == {}


@contextmanager
def forwarded(path: Path, address: Address) -> Iterator[None]:
    """A Unix socket that leads to a port, as `ssh -L cri.sock:127.0.0.1:8888` makes one."""

    class Pair(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError), socket.create_connection((address.host, address.port)) as there:
                ends = {self.request: there, there: self.request}
                while True:
                    for one in select.select(list(ends), [], [])[0]:
                        data = one.recv(65536)
                        if not data:
                            return
                        ends[one].sendall(data)

    with socketserver.ThreadingUnixStreamServer(str(path), Pair) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield
        server.shutdown()


@needs_root
@pytest.mark.parametrize("containerd", [build.DEBIAN, *build.CONTAINERD_VERSIONS], indirect=True)
def test_crictl_speaks_with_the_opened_port_and_no_longer_with_the_closed_one(
    containerd: RealContainerd, folder: Path
) -> None:
    """crictl of today, which knows CRI v1 alone. Its build for Linux takes no address but a Unix socket's; that for
    Windows takes tcp:// as well (kubernetes v1.36 staging/src/k8s.io/cri-client/pkg/util/util_windows.go)."""
    crictl, listener = tool("crictl", build.CRICTL), Listener(Address("127.0.0.1", free_port()))
    config = ("--config", written(folder, "", "crictl.yaml"), "--timeout", "20s", "--runtime-endpoint")
    opened = edit(base(containerd, folder), listener)
    with forwarded(folder / "port", listener.address):
        with running(containerd, folder, opened):
            asked = (crictl, *config, f"unix://{folder}/port")
            told = dict(line.split(":", 1) for line in said(*asked, "version").splitlines())
            assert told["RuntimeName"].strip() == "containerd" and told["RuntimeApiVersion"].strip() == "v1"
            assert told["RuntimeVersion"].strip().lstrip("v") == containerd.version.lstrip("v")
            assert json.loads(said(*asked, "ps", "-a", "-o", "json"))["containers"] == []
            assert json.loads(said(*asked, "stats", "-o", "json"))["stats"] == []
            with pytest.raises(AssertionError, match="only support unix socket"):
                said(crictl, *config, f"tcp://{listener.address}", "version")
        with (
            running(containerd, folder, edit(opened, None)),
            pytest.raises(AssertionError, match="code = Unavailable"),
        ):
            said(*asked, "version")


@needs_root
@pytest.mark.parametrize("containerd", [build.DEBIAN, "1.7.35", "2.4.2"], indirect=True)
def test_nerdctl_needs_the_socket_whatever_is_open(containerd: RealContainerd, folder: Path) -> None:
    """nerdctl, as ctr does, speaks containerd's own API, which no release serves over TCP."""
    nerdctl, listener = tool("nerdctl", build.NERDCTL), Listener(Address("127.0.0.1", free_port()))
    own = (
        nerdctl,
        "--data-root",
        folder / "n",
        "--cni-netconfpath",
        folder / "net",
        "--namespace",
        "k8s.io",
        "--address",
    )
    with running(containerd, folder, edit(base(containerd, folder), listener)):
        assert said(*own, folder / "c.sock", "ps", "--all", "--quiet") == ""
        with pytest.raises(AssertionError, match="invalid address"):
            said(*own, f"tcp://{listener.address}", "ps", "--all", "--quiet")
        assert ask(listener.address) == "containerd"


@needs_root
@pytest.mark.row("CT-12")
@pytest.mark.parametrize("containerd", [build.DEBIAN, "2.4.2"], indirect=True)
def test_only_the_owner_of_a_certificate_gets_in(containerd: RealContainerd, folder: Path) -> None:
    own, stranger = certificates(folder, "own"), certificates(folder, "stranger")
    listener = Listener(
        Address("127.0.0.1", free_port()), Tls(*(str(folder / "own" / name) for name in cri_tcp_certs.ON_NODE))
    )
    with running(containerd, folder, edit(base(containerd, folder), listener)):
        assert ask(listener.address, own) == "containerd"
        for other in (ClientTls(own.ca, stranger.cert, stranger.key), ClientTls(own.ca), None):
            with pytest.raises(CriError) as refused:
                ask(listener.address, other)
            assert refused.value.code == "UNAVAILABLE"


def certificates(folder: Path, name: str) -> ClientTls:
    """Made by us, for 127.0.0.1; the server's lie beside the client's."""
    found = cri_tcp_certs.create(["127.0.0.1"], 1, datetime.datetime.now(datetime.UTC))
    cri_tcp_certs.keep(folder / name, found)
    return ClientTls(*(str(folder / name / file) for file in ("ca.crt", "client.crt", "client.key")))
