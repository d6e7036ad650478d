"""The folder that bundle.yml makes: whose word counts for a file, and what is left after each way to fail."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.provision import mirror
from ansible_collections.winkube.node.plugins.plugin_utils.transfer import download

from tests.unit.transfer.file_servers import PROGRAM, SHA256, serve_both

SAID = [
    "kubelet: dl.example.com/kubelet.exe is wanted twice, from T/kubelet.exe with the sha256 ",
    "kubelet: the path '../out' leads out of the folder.",
    "kubelet: the path '/etc/out' leads out of the folder.",
    "kubelet: the source P/kubelet.exe has no checksum and comes over http: anyone on the way can put",
    "kubelet: the checksum 'http://sums.example.com/SUMS' is neither 'sha256:' and 64 hex digits nor an https",
]
PATH = "dl.example.com/kubelet.exe"


@pytest.fixture
def servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, str]]:
    """http and https."""
    with serve_both(tmp_path, monkeypatch) as addresses:
        yield addresses


def wanted(url: str, checksum: str = f"sha256:{SHA256}", path: str = PATH) -> mirror.FileOptions:
    return mirror.FileOptions(component="kubelet", url=url, checksum=checksum, path=path)


def collect(folder: Path, *files: mirror.FileOptions, unverified: tuple[str, ...] = ()) -> list[str]:
    """What was downloaded."""
    listed = mirror.list_files(files, unverified)
    missing = mirror.list_missing(folder, listed)
    for file in missing:
        mirror.fetch(folder, file, 60)
    mirror.write_sums(folder, mirror.sum_up(folder, listed))
    return [file.path for file in missing]


def test_a_file_is_fetched_once_verified_and_summed_up(servers: tuple[str, str], tmp_path: Path) -> None:
    plain, tls = servers
    folder = tmp_path / "bundle"
    for checksum in (f"sha256:{SHA256}", f"{tls}/kubelet.exe.sha256"):
        one = wanted(f"{plain}/kubelet.exe", checksum)
        assert collect(folder, one) == [PATH]
        assert (folder / PATH).read_bytes() == PROGRAM
        assert (folder / PATH).stat().st_mode & 0o777 == 0o644
        assert (folder / "SHA256SUMS").read_text() == f"{SHA256}  {PATH}\n"
        assert collect(folder, one, one) == []
        (folder / PATH).write_bytes(b"damaged")
    assert [path.name for path in (folder / PATH).parent.iterdir()] == ["kubelet.exe"]


def test_a_sum_file_that_leads_from_https_to_http_is_not_believed(servers: tuple[str, str], tmp_path: Path) -> None:
    plain, tls = servers
    led = wanted(f"{plain}/kubelet.exe", f"{tls}/to/{plain}/kubelet.exe.sha256")
    with pytest.raises(Refused, match=r"redirected from https to http://localhost:\d+/kubelet.exe.sha256"):
        collect(tmp_path / "bundle", led)
    with pytest.raises(Refused, match=r"redirected from https to http://localhost:\d+/kubelet.exe; that is not"):
        collect(tmp_path / "bundle", wanted(f"{tls}/to/{plain}/kubelet.exe"))
    assert list((tmp_path / "bundle").rglob("*.*")) == [tmp_path / "bundle" / "dl.example.com"]


def test_another_file_keeps_the_old_one(servers: tuple[str, str], tmp_path: Path) -> None:
    plain, _tls = servers
    folder = tmp_path / "bundle"
    (folder / PATH).parent.mkdir(parents=True)
    (folder / PATH).write_bytes(b"of before")
    with pytest.raises(Refused, match=f"has the sha256 {SHA256}, and its checksum says 0000"):
        collect(folder, wanted(f"{plain}/kubelet.exe", f"sha256:{'0' * 64}"))
    assert [path.read_bytes() for path in folder.rglob("*.exe*")] == [b"of before"]
    assert not (folder / "SHA256SUMS").exists()


def test_a_full_disk_is_a_sentence_and_leaves_nothing(
    servers: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(download, "save", full)
    with pytest.raises(Refused, match=r"kubelet.exe.part: the controller's disk is full. More has to be written"):
        collect(tmp_path / "bundle", wanted(f"{servers[0]}/kubelet.exe"))
    assert not list((tmp_path / "bundle").rglob("*exe*"))


def test_all_that_is_wrong_is_said_before_anything_is_fetched(servers: tuple[str, str], tmp_path: Path) -> None:
    plain, tls = servers
    with pytest.raises(Refused) as refused:
        collect(
            tmp_path / "bundle",
            wanted(f"{plain}/kubelet.exe"),
            wanted(f"{tls}/kubelet.exe"),
            wanted(f"{plain}/kubelet.exe", path="../out"),
            wanted(f"{plain}/kubelet.exe", path="/etc/out"),
            wanted(f"{plain}/kubelet.exe", "", "a"),
            wanted(f"{tls}/kubelet.exe", "http://sums.example.com/SUMS", "b"),
            unverified=("kubelet",),
        )
    said = [sentence.replace(plain, "P").replace(tls, "T") for sentence in refused.value.sentences]
    assert [sentence[: len(begin)] for sentence, begin in zip(said, SAID, strict=True)] == SAID
    assert not (tmp_path / "bundle").exists()


def test_a_component_that_is_named_may_come_without_a_sum_over_https(servers: tuple[str, str], tmp_path: Path) -> None:
    _plain, tls = servers
    one = wanted(f"{tls}/kubelet.exe", "")
    assert collect(tmp_path / "bundle", one, unverified=("kubelet",)) == [PATH]
    assert collect(tmp_path / "bundle", one, unverified=("kubelet",)) == []
