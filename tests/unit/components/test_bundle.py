"""A bundle's SHA256SUMS names files by their path: the checksum is that of the very file, or none."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.components.source import source
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.facts import service_wrappers

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
    """An upgrade whose list had only the old release's kubelet.exe ended with changed=0: the old one was right."""
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
