"""Our CRI client against real containerd, started in a scratch folder: what is served with which switches."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cri.client import CriClient, CriError, pool
from ansible_collections.winkube.node.plugins.plugin_utils.cri.inventory import look
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Version
from google.protobuf.descriptor_pb2 import FieldDescriptorProto

from tests.real import build
from tests.real.conftest import RealContainerd

COLLECTIONS = Path(__file__).resolve().parents[2] / ".venv" / "collections"

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="lane real: containerd's daemon needs root")

# Written here and not taken from the collection: the binaries are the judge. Config version 2 is read by all of them;
# 2.3 and later take tcp_address from it as well (its migration), so one file does for all.
CONFIG = """\
version = 2
root = "{folder}/lib"
state = "{folder}/run"
[grpc]
  address = "{folder}/containerd.sock"
  tcp_address = "127.0.0.1:{port}"
[plugins."io.containerd.grpc.v1.cri"]
  disable_tcp_service = {without_tcp}
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{folder}/cni"
    conf_dir = "{folder}/cni/config"
"""


@dataclass(frozen=True)
class Daemon:
    """A containerd that runs."""

    version: Version
    folder: Path
    port: int

    @property
    def tcp(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def unix(self) -> str:
        return f"unix://{self.folder}/containerd.sock"


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


Start = Callable[..., Daemon]


@pytest.fixture
def start(containerd: RealContainerd) -> Iterator[Start]:
    """Starts the fixture's containerd; ends it with the test."""
    running: list[subprocess.Popen[bytes]] = []
    with TemporaryDirectory(prefix="winkube-cri-") as name:  # short: a socket's path has at most 107 characters
        folder = Path(name)

        def begin(*, cri_over_tcp: bool = True) -> Daemon:
            port = free_port()
            config = folder / "config.toml"
            config.write_text(CONFIG.format(folder=folder, port=port, without_tcp=str(not cri_over_tcp).lower()))
            with (folder / "log").open("wb") as log:
                command = [str(containerd.program), "--config", str(config)]
                running.append(subprocess.Popen(command, stdout=log, stderr=log))
            daemon = Daemon(Version.parse(containerd.version), folder, port)
            _wait(daemon, running[-1])
            return daemon

        try:
            yield begin
        finally:
            for process in running:
                process.terminate()
                try:
                    process.wait(timeout=20)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


def _wait(daemon: Daemon, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end and process.poll() is None:
        try:
            with CriClient(daemon.unix, timeout_s=2) as client:
                client.version()
            return
        except CriError:
            time.sleep(0.2)
    pytest.fail(f"containerd did not come up:\n{(daemon.folder / 'log').read_text()[-3000:]}")


@pytest.mark.row("CT-13", "CT-14", "CT-17", "CT-18")
def test_it_answers_over_tcp_and_over_its_socket(start: Start) -> None:
    daemon = start()
    for address in (daemon.tcp, daemon.unix):
        with CriClient(address) as client:
            found = look(client)
        assert found["version"]["runtimeName"] == "containerd"
        assert Version.parse(found["version"]["runtimeVersion"]) == daemon.version
        assert found["apis"] == (["v1", "v1alpha2"] if daemon.version < Version.parse("2.0.0") else ["v1"])
        assert set(found["calls"].values()) == {"ok"}
        assert [one["type"] for one in found["conditions"]][:2] == ["RuntimeReady", "NetworkReady"]
        assert (found["pods"], found["containers"], found["images"]) == ([], [], [])


@pytest.mark.row("CT-06")
def test_a_port_without_cri_is_told_apart(start: Start) -> None:
    """Up to 2.2 tcp_address alone opens the port, without CRI behind it. 2.3 and later do not open it."""
    daemon = start(cri_over_tcp=False)
    opens = daemon.version < Version.parse("2.3.0")
    said = "speaks gRPC but serves no CRI" if opens else "cannot be asked .*Connection refused"
    with CriClient(daemon.tcp) as client, pytest.raises(CriError, match=said):
        client.version()


@pytest.mark.row("CT-13", "CT-14")
@pytest.mark.parametrize("containerd", [build.DEBIAN], indirect=True)
def test_the_module_in_a_real_ansible(start: Start, tmp_path: Path) -> None:
    daemon = start()
    book = [
        {
            "hosts": "localhost",
            "gather_facts": False,
            "tasks": [
                {"winkube.node.k8s_windows_cri_info": {"address": daemon.tcp}, "register": "info"},
                {
                    "winkube.node.k8s_windows_cri_info": {
                        "gather": ["stats"],
                        "address": daemon.tcp,
                        "stats": {"samples": 2, "interval": 0.1, "second_caller": 0.05},
                    },
                    "register": "stats",
                },
                {
                    "winkube.node.k8s_windows_cri_info": {"gather": ["stats"], "address": "127.0.0.1:1"},
                    "register": "nobody",
                    "ignore_errors": True,
                },
                {
                    "ansible.builtin.copy": {
                        "dest": str(tmp_path / "result.json"),
                        "content": "{{ {'info': info, 'stats': stats, 'nobody': nobody} | to_json }}",
                    }
                },
            ],
        }
    ]
    (tmp_path / "play.json").write_text(json.dumps(book))
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS), "ANSIBLE_NOCOLOR": "1"}
    environment.pop("ANSIBLE_CONFIG", None)
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "play.json"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((tmp_path / "result.json").read_text())
    assert Version.parse(result["info"]["version"]["runtimeVersion"]) == daemon.version
    assert result["info"]["calls"]["ListContainerStats"] == "ok"
    assert Version.parse(result["stats"]["containerd_version"]) == daemon.version
    assert (result["stats"]["findings"], result["stats"]["notes"]) == ([], [])
    assert result["stats"]["second_caller"] >= 1
    assert "127.0.0.1:1 cannot be asked" in result["nobody"]["msg"]


# -- upstream's own files ----------------------------------------------------------------------------------------

_MESSAGE = re.compile(r"^message (\w+) ?\{(?:\}|(.*?)^\})", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^\s*(repeated )?(map<string, ?string>|\w+) (\w+) = (\d+)\s*(?:\[.*\])?;", re.MULTILINE)


def published() -> dict[tuple[int, ...], dict[str, dict[str, tuple[bool, str, int]]]]:
    """Per release of k8s.io/cri-api and version of CRI: message, field, (repeated, type, number)."""
    go = shutil.which("go")
    if not go:
        return {}
    cache = subprocess.run([go, "env", "GOMODCACHE"], capture_output=True, text=True, timeout=30, check=True).stdout
    found = {}
    for file in Path(cache.strip()).glob("k8s.io/cri-api@*/pkg/apis/runtime/v1*/api.proto"):
        release = re.search(r"cri-api@v(\d+)\.(\d+)\.(\d+)", str(file))
        assert release is not None
        text = re.sub(r"//[^\n]*", "", file.read_text())
        key = (file.parent.name == "v1", *(int(part) for part in release.groups()))
        found[key] = {name: _fields(body) for name, body in _MESSAGE.findall(text)}
    return found


def _fields(body: str) -> dict[str, tuple[bool, str, int]]:
    return {one[2]: (bool(one[0]), one[1].replace(",string", ", string"), int(one[3])) for one in _FIELD.findall(body)}


def test_our_fields_are_those_of_every_published_api() -> None:
    """What the building of the programs of this lane has left in Go's module cache."""
    releases = published()
    if not releases:
        pytest.skip("lane real: Go's module cache has no k8s.io/cri-api; `python -m tests.real.build` gets it")
    newest = releases[max(releases)]
    for message, descriptor in pool().FindFileByName("v1.proto").message_types_by_name.items():
        for ours in descriptor.fields:
            said = (ours.is_repeated and not _is_map(ours), _type(ours), ours.number)
            assert newest[message][ours.name] == said, f"{message}.{ours.name}"
            for release, messages in releases.items():
                assert messages.get(message, {}).get(ours.name, said) == said, f"{release}: {message}.{ours.name}"


def _is_map(field: Any) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _type(field: Any) -> str:
    """As api.proto writes it."""
    if _is_map(field):
        return f"map<{', '.join(_type(part) for part in field.message_type.fields)}>"
    named = field.message_type or field.enum_type
    if named is not None:
        return str(named.name)
    return FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()
