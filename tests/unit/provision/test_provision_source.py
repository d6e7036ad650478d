"""What a new program is: its header, its own words, and where on the controller it is found."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from ansible_collections.winkube.node.plugins.action.win_k8s_provisioner import ActionModule
from ansible_collections.winkube.node.plugins.plugin_utils.components.layout import Layout
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.provision import pe_image, provision_source
from ansible_collections.winkube.node.plugins.plugin_utils.provision.provision_items import Item, parse_items

from tests.lab.machine.builds import build
from tests.unit.components.nodes import LAYOUT

KUBELET = build("kubelet", "1.29.0")
SHA256 = hashlib.sha256(KUBELET).hexdigest()


def problem(data: bytes, architecture: str = "amd64") -> str | None:
    return pe_image.problem(data[: pe_image.HEAD], len(data), architecture)


def elf(machine: int) -> bytes:
    return b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", 2, machine) + bytes(200)


def changed(at: int, value: int, form: str = "<H") -> bytes:
    data = bytearray(KUBELET)
    struct.pack_into(form, data, at, value)
    return bytes(data)


@pytest.mark.row("PV-10")
def test_a_program_for_the_nodes_architecture_passes() -> None:
    assert problem(KUBELET) is None
    assert problem(build("kubelet", "1.29.0", "arm64"), "arm64") is None
    assert problem(KUBELET, "") is None


@pytest.mark.row("PV-10")
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (elf(0x3E), "is a program for Linux (ELF, amd64), not for Windows: GOOS=windows was forgotten. Build it with"),
        (elf(0xB7), "is a program for Linux (ELF, arm64)"),
        (build("kubelet", "1.29.0", "386"), "is a 32-bit Windows program (386): nodes are amd64. Build it with GOOS"),
        (build("kubelet", "1.29.0", "arm64"), "is a Windows program for arm64, and the node is amd64. Build it with"),
        (changed(64 + 4, 0x01C4), "is a Windows program for arm, and the node is amd64"),
        (changed(64 + 24, 0x10B), "is a 32-bit Windows program (amd64)"),
        (changed(64 + 24, 0x107), "has an optional header of the unknown kind 0x107"),
        (changed(64 + 22, 0x2022), "is a library (DLL), no program."),
        (changed(64, 0x4E4E), "has no PE header"),
        (KUBELET[:40], "is cut off after 40 bytes, inside the first header"),
        (KUBELET[:80], "is cut off after 80 bytes, before its PE header"),
        (KUBELET[:2000], "is cut off: it has 2000 bytes, its headers promise 3584. Build or copy it again."),
        (b"", "is empty"),
        (b"<!DOCTYPE html><html>Sign in</html>", "is a web page, no program: the server answered with an error or"),
        (b"\xef\xbb\xbf\r\n<html>", "is a web page"),
        (b"#!/bin/sh\n", "is a script"),
        (b"\x1f\x8b\x08\0", "is a gzip archive, no program: unpack it"),
        (b"PK\x03\x04", "is a zip archive"),
        (b"\xcf\xfa\xed\xfe" + bytes(60), "is a program for macOS"),
        (b"version https://git-lfs.github.com/spec/v1\n", "is a pointer of Git LFS"),
        (b"Not Found\n", "it begins with 4e6f7420, not with 4d5a (MZ)"),
    ],
)
def test_what_is_no_program_for_the_node_is_said_with_what_to_do(data: bytes, said: str) -> None:
    found = problem(data) or ""
    assert said in found
    if said.endswith("."):
        assert found == said


@pytest.mark.row("PV-10")
def test_a_real_linux_program_is_told_by_its_header() -> None:
    head = Path("/bin/true").read_bytes()
    assert "is a program for Linux (ELF," in (problem(head) or "")


@pytest.mark.row("PV-09")
@pytest.mark.parametrize(
    ("output", "version"),
    [
        ("containerd github.com/containerd/containerd v1.7.11 64b8a811b07ba6288238eefc14d898ee0b5b99ba", "1.7.11"),
        ("containerd github.com/containerd/containerd/v2 v2.3.2 abc", "2.3.2"),
        ("containerd github.com/containerd/containerd v1.7.12-3-g4a5f6e7.m 4a5f6e7.m", "1.7.12-3-g4a5f6e7.m"),
        ("containerd github.com/containerd/containerd 1.7.12+unknown ", "1.7.12+unknown"),
        ("Kubernetes v1.29.0\r\n", "1.29.0"),
        ("Kubernetes v1.30.0-alpha.0.123+4a5f6e7b-dirty", "1.30.0-alpha.0.123+4a5f6e7b-dirty"),
        ("Kubernetes v0.0.0-master+$Format:%H$", "0.0.0-master+$Format:%H$"),
        ("v0.26.1\n", "0.26.1"),
        ("W1121 warning: go1.21\nKubernetes v1.29.0", "1.29.0"),
        ("unknown flag: --version", None),
        ("", None),
    ],
)
def test_a_program_says_its_version(output: str, version: str | None) -> None:
    assert pe_image.read_version(output) == version


@pytest.mark.row("PV-09")
@pytest.mark.parametrize(
    ("resource", "version"),
    [
        ("1.7.11.0", "1.7.11"),
        ("1, 7, 11, 0", "1.7.11"),
        ("v1.7.11", "1.7.11"),
        ("2.0.0-rc.1", "2.0.0-rc.1"),
        ("0.0.0.0", None),
        ("", None),
        ("10.0", None),
    ],
)
def test_a_version_resource_says_its_version(resource: str, version: str | None) -> None:
    assert pe_image.read_resource_version(resource) == version


@pytest.mark.row("PV-09")
@pytest.mark.parametrize(
    ("wanted", "found", "kind"),
    [
        ("1.29.0", "1.29.0", "same"),
        ("v1.29.0", "1.29.0", "same"),
        ("1.7.11", "1.7.11+unknown", "same"),
        ("1.29.0", "1.29.1", "other"),
        ("1.29.0", "1.29.0-rc.1", "other"),
        ("1.7.12", "1.7.12-3-g4a5f6e7.m", "unclear"),
        ("1.30.0", "0.0.0-master+$Format:%H$", "unclear"),
        ("1.30.0", "0.0.0", "unclear"),
        ("v0.0.0-master+4a5f6e7", "0.0.0-master+4a5f6e7", "same"),
        ("1.30.0", "1.30.0-alpha.0.123+4a5f6e7b", "unclear"),
        ("1.29.0", None, "unclear"),
    ],
)
def test_a_build_between_releases_is_neither_right_nor_wrong(wanted: str, found: str | None, kind: str) -> None:
    verdict = pe_image.compare(wanted, found)
    assert verdict.kind == kind
    assert (verdict.text == "") is (kind == "same")


def located(folder: Path, source: str, name: str = "kubelet", *more: Path, **options: str) -> provision_source.Origin:
    (item,) = parse_items({"name": name, "sourceURL": source, "destination": r"C:\k\x.exe", **options}, _layout())
    return provision_source.from_controller(item, (folder, *more), lambda url: "")


def _layout() -> Layout:
    return LAYOUT


@pytest.mark.row("PV-07", "PV-13", "NY-15")
@pytest.mark.parametrize(
    ("there", "source", "found"),
    [
        ("bin/containerd", "bin/containerd", "bin/containerd"),
        ("bin/containerd", "./bin/containerd.exe", "bin/containerd"),
        ("bin/containerd.exe", "bin/containerd", "bin/containerd.exe"),
        ("bin/kubelet.exe", "bin", "bin/kubelet.exe"),
        ("bin/kubelet", "bin", "bin/kubelet"),
        ("kubelet.exe", "file://{}/kubelet.exe", "kubelet.exe"),
        ("a b.exe", "file://{}/a%20b.exe", "a b.exe"),
    ],
)
def test_a_build_is_found_with_or_without_exe_and_by_name(tmp_path: Path, there: str, source: str, found: str) -> None:
    (tmp_path / there).parent.mkdir(exist_ok=True)
    (tmp_path / there).write_bytes(KUBELET)
    origin = located(tmp_path, source.format(tmp_path))
    assert origin.build is not None
    assert origin.build.path == tmp_path / found
    assert (origin.build.size, origin.sha256) == (len(KUBELET), hashlib.sha256(KUBELET).hexdigest())


def test_of_a_folder_with_builds_for_both_the_one_for_windows_is_taken(tmp_path: Path) -> None:
    (tmp_path / "kubelet").write_bytes(elf(0x3E))
    (tmp_path / "kubelet.exe").write_bytes(KUBELET)
    origin = located(tmp_path, str(tmp_path))
    assert origin.build is not None and origin.build.path.name == "kubelet.exe"


def test_the_folder_of_the_node_yaml_comes_before_that_of_the_playbook(tmp_path: Path) -> None:
    for folder in ("nodes", "playbooks"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "kubelet.exe").write_bytes(KUBELET)
    origin = located(tmp_path / "nodes", "kubelet.exe", "kubelet", tmp_path / "playbooks")
    assert origin.build is not None and origin.build.path.parent.name == "nodes"


@pytest.mark.row("PV-10")
def test_what_is_wrong_with_a_file_on_the_controller_is_refused_before_the_node_is_asked(tmp_path: Path) -> None:
    (tmp_path / "kubelet").write_bytes(elf(0x3E))
    with pytest.raises(Refused, match=r"kubelet: .*/kubelet is a program for Linux .*GOOS=windows was forgotten"):
        located(tmp_path, "kubelet")
    with pytest.raises(Refused, match=r"there is no build on the controller; looked for .*/nothing, .*/nothing\.exe"):
        located(tmp_path, "nothing")
    (tmp_path / "good.exe").write_bytes(KUBELET)
    with pytest.raises(Refused, match="another build, or it was damaged"):
        located(tmp_path, "good.exe", checksum=f"sha256:{'0' * 64}")
    right = f"sha256:{hashlib.sha256(KUBELET).hexdigest()}"
    assert located(tmp_path, "good.exe", checksum=right).build is not None


@pytest.mark.row("PV-19")
def test_the_checksum_of_an_address_is_what_its_program_must_have() -> None:
    given = {"name": "kubelet", "sourceURL": "http://xyz/kubelet.exe"}
    (item,) = parse_items({**given, "checksum": f"sha256:{'AB' * 32}"}, _layout())
    assert provision_source.from_address(item, lambda url: "").sha256 == "ab" * 32
    (item,) = parse_items(given, _layout())
    assert provision_source.from_address(item, lambda url: "").sha256 is None
    (item,) = parse_items({**given, "checksum": "md5:0"}, _layout())
    with pytest.raises(Refused, match="neither 'sha256:' and 64 hex digits nor"):
        provision_source.from_address(item, lambda url: "")


@pytest.mark.row("PV-19")
@pytest.mark.parametrize(
    ("url", "checksum", "warned"),
    [
        ("http://xyz/kubelet.exe", "", True),
        ("HTTP://xyz/kubelet.exe", "", True),
        ("http://xyz/kubelet.exe", f"sha256:{SHA256}", False),
        ("https://xyz/kubelet.exe", "", False),
    ],
)
def test_plain_http_without_a_checksum_is_warned_of(url: str, checksum: str, warned: bool) -> None:
    said: list[str] = []
    (item,) = parse_items({"name": "kubelet", "sourceURL": url, "checksum": checksum}, _layout())
    provision_source.find_origins([item], (), lambda url: "", None, said.extend)
    assert [text.partition(":")[0] for text in said] == ["kubelet"] * warned
    assert all(f"{url} is fetched over plain http and without a checksum" in text for text in said)


class _Served(BaseHTTPRequestHandler):
    """One build, and what is none."""

    def do_GET(self) -> None:
        found = {"/kubelet.exe": KUBELET, "/linux": elf(0x3E), "/cut": KUBELET[:2000]}.get(self.path)
        self.send_response(200 if found else 404)
        self.send_header("Content-Length", str(len(KUBELET if self.path == "/cut" else found or b"")))
        self.end_headers()
        self.wfile.write(found or b"")

    def log_message(self, *args: object) -> None:
        """Nothing: the test says what was asked."""


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Generator[str]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), _Served) as server:
        thread = Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.mark.row("PV-07")
def test_the_controller_may_fetch_a_build_and_judges_it_like_its_own(tmp_path: Path, address: str) -> None:
    action = ActionModule.__new__(ActionModule)

    def download(item: Item) -> Path:
        return action.download(item.name, item.source, tmp_path, 10)

    def fetched(path: str, **more: str) -> provision_source.Origin:
        given = {"name": "kubelet", "sourceURL": f"{address}{path}", "checksum": f"sha256:{SHA256}", **more}
        (item,) = parse_items(given, _layout())
        return provision_source.find_origins([item], (), lambda url: "", download, lambda said: None)["kubelet"]

    origin = fetched("/kubelet.exe")
    assert origin.build is not None and origin.build.path.parent == tmp_path
    assert (origin.build.path.read_bytes(), origin.sha256) == (KUBELET, SHA256)
    with pytest.raises(
        Refused, match=r"kubelet: http://.*/nothing could not be fetched on the controller: HTTP Error 404"
    ):
        fetched("/nothing")
    with pytest.raises(Refused, match="GOOS=windows was forgotten"):
        fetched("/linux")
    with pytest.raises(Refused, match="kubelet: "):
        fetched("/cut")
    with pytest.raises(Refused, match="another build, or it was damaged"):
        fetched("/kubelet.exe", checksum=f"sha256:{'0' * 64}")


def noted(package: str) -> bytes:
    """As Go's linker notes it, after its sentinel."""
    return KUBELET + b"\xff\x20Go buildinf:path\t" + package.encode() + b"\nmod\tk8s.io/kubernetes\t(devel)\t\n"


@pytest.mark.parametrize(
    ("name", "package", "other"),
    [
        ("kubelet", "k8s.io/kubernetes/cmd/kube-proxy", "kube-proxy"),
        ("containerd", "github.com/containerd/containerd/v2/cmd/ctr", "ctr"),
        ("kubelet", "k8s.io/kubernetes/cmd/kubelet", ""),
        ("kubelet", "example.com/fork/cmd/our-kubelet", ""),
        ("flanneld", "github.com/flannel-io/flannel", ""),
        ("my-agent", "k8s.io/kubernetes/cmd/kubelet", ""),
        ("kubelet", "", ""),
    ],
)
def test_a_build_of_another_program_is_refused_before_the_node_is_asked(
    tmp_path: Path, name: str, package: str, other: str
) -> None:
    """A kube-proxy given as kubelet says the very same version."""
    path = tmp_path / "build.exe"
    path.write_bytes(noted(package) if package else KUBELET)
    found = provision_source.read(path)
    assert found.package == package
    assert pe_image.another_program(name, found.package) == other
    given = {"name": name, "sourceURL": str(path), "destination": r"C:\k\x.exe", "overwrite": True}
    (item,) = parse_items(given, LAYOUT)
    if other:
        with pytest.raises(Refused, match=f"is {other}: Go notes in it that it was built from {package}"):
            provision_source.from_build(item, found, lambda url: "")
    else:
        provision_source.from_build(item, found, lambda url: "")


def test_the_package_is_found_across_two_pieces_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "build.exe"
    path.write_bytes(noted("k8s.io/kubernetes/cmd/kubelet"))
    for size in (1000, 1024, 1500, 2000):
        monkeypatch.setattr(provision_source, "_CHUNK", size)
        assert provision_source.read(path).package == "k8s.io/kubernetes/cmd/kubelet"
