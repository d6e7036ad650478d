"""A bundle's SHA256SUMS names files by their path: the checksum is that of exactly this file, or there is none."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.components.source import find_trust, source
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.facts import pins, service_wrappers
from ansible_collections.winkube.node.plugins.plugin_utils.task.node_action import NodeAction
from ansible_collections.winkube.node.plugins.plugin_utils.transfer import download

ROOT = Path(__file__).resolve().parents[3]
OLD, NEW = "1" * 64, "2" * 64
SUMS = (
    f"{OLD}  dl.k8s.io/release/v1.36.0/bin/windows/amd64/kubelet.exe\n"
    f"{NEW}  ./dl.k8s.io/release/v1.37.0/bin/windows/amd64/kubelet.exe\n"
)


def no_network(address: str) -> str:
    raise AssertionError(f"{address} was asked")


def checksum_of(url: str, sums: Path) -> str | None:
    made = source(
        component="kubelet", version="1.37.0", url=url, checksum=str(sums), unverified=(), read_url=no_network
    )
    return made.sha256


@pytest.mark.parametrize("base", ["http://mirror/bundle", "file:///D:/bundle", "https://mirror"])
@pytest.mark.parametrize(("version", "sha256"), [("1.36.0", OLD), ("1.37.0", NEW)])
def test_the_sum_is_that_of_the_same_path_under_any_base(tmp_path: Path, base: str, version: str, sha256: str) -> None:
    sums = tmp_path / "SHA256SUMS"
    sums.write_text(SUMS)
    url = f"{base}/dl.k8s.io/release/v{version}/bin/windows/amd64/kubelet.exe"
    assert checksum_of(url, sums) == sha256


@pytest.mark.parametrize(
    "url", ["http://m/dl.k8s.io/release/v1.36.4/bin/windows/amd64/kubelet.exe", "http://m/kubelet.exe"]
)
@pytest.mark.parametrize("listed", [SUMS, SUMS.splitlines()[1]])
def test_the_same_name_in_another_folder_is_another_file(tmp_path: Path, url: str, listed: str) -> None:
    """Failed before: an upgrade whose list had only the old release's kubelet.exe ended with changed=0, since the
    old one matched."""
    sums = tmp_path / "SHA256SUMS"
    sums.write_text(listed)
    with pytest.raises(
        Refused, match=rf"has no line for {url}; the kubelet\.exe that it lists is dl\.k8s\.io/release/v1"
    ):
        checksum_of(url, sums)


def test_a_name_without_a_folder_is_the_file_wherever_it_lies(tmp_path: Path) -> None:
    sums = tmp_path / "SHA256SUMS"
    sums.write_text(f"{NEW} *kubelet.exe\n{OLD}  dl.k8s.io/release/v1.36.0/bin/windows/amd64/kubelet.exe\n")
    assert checksum_of("http://m/v1.37.0/kubelet.exe", sums) == NEW
    sums.write_text(f"{NEW}  kubelet.exe\n{OLD}  kubelet.exe\n")
    with pytest.raises(Refused, match=r"lists several files called kubelet\.exe"):
        checksum_of("http://m/v1.37.0/kubelet.exe", sums)


def test_a_publishers_own_sum_of_one_file_may_name_the_folder_it_was_made_in() -> None:
    url = "https://m/v1/thing.exe"
    for text, found in ((f"{NEW}  dist/thing.exe\n", NEW), (f"{NEW}  dist/other.exe\n", None)):
        read = {f"{url}.sha256": text}.__getitem__
        wanted = partial(
            source, component="thing", version="1", url=url, checksum=f"{url}.sha256", unverified=(), read_url=read
        )
        if found is None:
            with pytest.raises(Refused, match=r"holds no sha256 for thing\.exe"):
                wanted()
        else:
            assert wanted().sha256 == found


def test_a_file_that_is_not_listed_or_a_list_that_is_not_there_is_refused(tmp_path: Path) -> None:
    sums = tmp_path / "SHA256SUMS"
    with pytest.raises(Refused, match="could not read the sum file"):
        checksum_of("http://m/kubelet.exe", sums)
    sums.write_text(SUMS)
    with pytest.raises(Refused, match=r"holds no sha256 for kubeadm\.exe"):
        checksum_of("http://m/kubeadm.exe", sums)


def test_the_playbook_knows_the_same_checksums_as_the_modules() -> None:
    (play,) = yaml.safe_load((ROOT / "playbooks" / "bundle.yml").read_text())
    known = {release.file: f"sha256:{release.sha256}" for release in service_wrappers.NSSM_RELEASES}
    assert play["vars"]["winkube_bundle_known"] == known


HEX = "ab" * 32
URL = "https://example.com/v1/kubelet.exe"


def told(checksum: str, text: str = "", url: str = URL) -> str | None:
    read = partial(lambda said, address: said, text)
    return source(component="kubelet", version="", url=url, checksum=checksum, unverified=(), read_url=read).sha256


@pytest.mark.parametrize(
    "checksum", [f"sha256:{HEX}\n", f"sha256:\n{HEX}", f" sha256: {HEX} ", f"SHA256:{HEX.upper()}"]
)
def test_a_checksum_is_read_as_it_was_meant(checksum: str) -> None:
    """Failed before: the newline of a YAML block went to the node, where no file has such a sum."""
    assert told(checksum) == HEX


@pytest.mark.parametrize("checksum", ["sha256:", f"sha512:{HEX}", f"sha256:{HEX}0", "sha256:\u0660" + HEX[1:]])
def test_what_is_no_sum_is_refused(checksum: str) -> None:
    with pytest.raises(Refused, match="is neither 'sha256:' and 64 hex digits nor"):
        told(checksum)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_sum_file_of_windows_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    """Failed before: the byte order mark stood before the first digit, and the line counted as none."""
    data = f"{HEX}  v1/kubelet.exe\r\n".encode(encoding)
    (tmp_path / "SHA256SUMS").write_bytes(data)
    assert told(str(tmp_path / "SHA256SUMS")) == HEX
    monkeypatch.setattr(download, "read", lambda address: data)
    assert told("https://example.com/SHA256SUMS", NodeAction.read_url(NodeAction.__new__(NodeAction), "")) == HEX


@pytest.mark.parametrize("url", [URL, f"{URL}?sig=a/b", f"{URL}#x"])
@pytest.mark.parametrize("sums", ["https://example.com/v1/SHA256SUMS?sp=r&sig=x/y", f"{URL}.sha256?sig=x"])
def test_an_address_with_a_query_is_read_as_it_was_meant(url: str, sums: str) -> None:
    """Failed before: the file's name was b, and the sum of this one file counted as another's."""
    assert told(sums, f"{HEX}  kubelet.exe\n", url) == HEX
    assert told(sums, f"{HEX}  v1/kubelet.exe\n", url) == HEX
    with pytest.raises(Refused, match=r"has no line for|holds no sha256 for"):
        told("https://example.com/SHA256SUMS?sig=x", f"{HEX}  v2/kubelet.exe\n", url)


KUBELET = "dl.k8s.io/release/v1.37.0/bin/windows/amd64/kubelet.exe"


@pytest.fixture
def one_pin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pins, "pins", lambda: {KUBELET: NEW})


@pytest.mark.usefixtures("one_pin")
@pytest.mark.parametrize("base", ["https://", "https://ann:secret@", "http://mirror:8080/a/", "file:///D:/bundle/"])
@pytest.mark.parametrize("own", [False, True])
def test_a_pin_is_the_default_and_comes_before_the_sum_file_of_the_same_server(base: str, own: bool) -> None:
    url = f"{base}{KUBELET}?sig=1"
    checksum = f"{url}.sha256".replace("http://", "https://") if own and base.startswith("http") else ""
    made = source(component="kubelet", version="1.37.0", url=url, checksum=checksum, unverified=(), read_url=no_network)
    assert made.sha256 == NEW
    assert find_trust(url, checksum) == ""


@pytest.mark.usefixtures("one_pin")
def test_what_the_user_says_comes_before_a_pin(tmp_path: Path) -> None:
    sums = tmp_path / "SHA256SUMS"
    sums.write_text(f"{OLD}  {KUBELET}\n")
    assert checksum_of(f"https://{KUBELET}", sums) == OLD
    read = {"https://other/sums": sums.read_text()}.__getitem__
    for checksum in (f"sha256:{OLD}", "https://other/sums"):
        made = source(
            component="kubelet", version="", url=f"https://{KUBELET}", checksum=checksum, unverified=(), read_url=read
        )
        assert made.sha256 == OLD


def test_a_sum_from_the_server_of_the_file_is_known_as_such() -> None:
    url = f"https://{KUBELET}"
    assert find_trust(url, f"{url}.sha256") == find_trust(url, "https://DL.k8s.io/sums") == "its server's sum"
    assert not any(find_trust(url, checksum) for checksum in (f"sha256:{NEW}", "https://other/sums", "/x/SHA256SUMS"))


def test_a_source_without_a_sum_is_told_and_over_http_refused_whatever_is_allowed() -> None:
    wanted = partial(source, component="kubelet", version="", checksum="", unverified=("kubelet",), read_url=no_network)
    assert find_trust(URL, "") == find_trust(URL.replace("https", "http"), "") == "no sum"
    assert wanted(url=URL).sha256 is None
    for url in ("http://ann:s3cret@example.com/kubelet.exe", "HTTP://example.com/kubelet.exe"):
        with pytest.raises(Refused, match="has no checksum and comes over http: anyone on the way can put") as refused:
            wanted(url=url)
        assert "s3cret" not in str(refused.value)
    assert wanted(url="file:///C:/kubelet.exe").sha256 is None and find_trust("file:///C:/kubelet.exe", "") == ""


def test_the_table_of_pins_holds_sums_of_files_alone() -> None:
    lines = [line for line in pins.TABLE.read_text().splitlines() if not line.startswith("#")]
    assert len(pins.pins()) == len(lines), "a line of it is malformed, or a file is there twice"
    assert not [path for path in pins.pins() if "://" in path or "@" in path or "?" in path]
