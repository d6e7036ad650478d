"""A bundle collected from a mirror, and a node that is built from it: over http, and from a folder on the node."""

from __future__ import annotations

import hashlib
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.integration.lab import ROOT, Bench, Run
from tests.integration.records import leaks
from tests.integration.site import SITE, VERSION, checksum
from tests.lab.machine.builds import nssm_archive

BUNDLE = ROOT / "playbooks" / "bundle.yml"
ARCHIVE = f"github.com/containerd/containerd/releases/download/v{VERSION}/containerd-{VERSION}-windows-amd64.tar.gz"
NSSM = "nssm.cc/release/nssm-2.24.zip"


def run(bench: Bench, playbook: Path, *args: str, **more: Any) -> Run:
    extra = bench.file(
        "extra.json", json.dumps({"winkube_hosts": "windows", "winkube_containerd_version": VERSION} | more)
    )
    return bench.ansible_playbook(playbook, "-e", f"@{extra}", *args)


def collect(bench: Bench, *args: str, **more: Any) -> Run:
    """From the lab's source server, which stands for all publishers."""
    wanted = {
        "winkube_bundle_dir": str(bench.directory / "bundle"),
        "winkube_bundle_from": f"http://{bench.lab.sources.address}",
        "winkube_containerd_checksum": checksum(),
        "winkube_nssm_checksum": f"sha256:{hashlib.sha256(nssm_archive()).hexdigest()}",
        "winkube_nssm_url": f"http://{bench.lab.sources.address}/{NSSM}",
    }
    return run(bench, BUNDLE, *args, **(wanted | more))


def test_what_is_collected_is_verified_and_listed(bench: Bench) -> None:
    bench.nodes(2)
    done = collect(bench)
    assert done.rc == 0, done
    folder = bench.directory / "bundle"
    pairs = [line.split("  ") for line in (folder / "SHA256SUMS").read_text().splitlines()]
    listed = {path: digest for digest, path in pairs}
    assert set(listed) == {ARCHIVE, NSSM}
    assert f"sha256:{listed[ARCHIVE]}" == checksum()
    assert {path: hashlib.sha256((folder / path).read_bytes()).hexdigest() for path in listed} == listed
    assert sum(bench.calls(f"win{n}") for n in (1, 2)) == 0, "no node is touched"
    again = collect(bench)
    assert again.rc == 0, again
    assert sum(recap.changed for recap in again.recap.values()) == 0, again


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"winkube_containerd_checksum": ""}, "has no checksum. Give 'sha256:<64 hex digits>' or"),
        ({"winkube_containerd_checksum": "sha256:" + "0" * 64}, ", and its checksum says 0000"),
        (
            {"winkube_containerd_checksum": "", "winkube_allow_unverified": ["containerd"]},
            "has no checksum and comes over http",
        ),
        (
            {"winkube_containerd_checksum": "http://sums.example.com/SUMS"},
            "nor an https address of a sum file",
        ),
    ],
)
def test_what_cannot_be_verified_is_not_collected(bench: Bench, more: dict[str, Any], sentence: str) -> None:
    bench.node()
    refused = collect(bench, **more)
    assert refused.rc == 2, refused
    assert sentence in refused.output
    assert not (bench.directory / "bundle" / "SHA256SUMS").exists()


@pytest.mark.exhaustive
def test_the_secrets_of_an_address_are_neither_told_nor_a_files_name(bench: Bench) -> None:
    bench.node()
    secret = bench.plant("planted-in-an-address", "a part of an address")
    address = f"http://ann:{secret}@{bench.lab.sources.address}/{ARCHIVE}?sig={secret}"
    done = collect(bench, winkube_containerd_url=address, winkube_bundle_from="")
    assert done.rc == 0, done
    host = bench.lab.sources.address.replace(":", "")
    assert (bench.directory / "bundle" / host / ARCHIVE).is_file()
    assert f"  {host}/{ARCHIVE}\n" in (bench.directory / "bundle" / "SHA256SUMS").read_text()
    refused = collect(bench, winkube_containerd_url=address, winkube_containerd_checksum="")
    assert f"http://***@{bench.lab.sources.address}/{ARCHIVE}?sig=*** has no checksum." in refused.output
    loud = collect(bench, "-vvv", winkube_containerd_url=address)
    assert loud.rc == 0, loud
    assert leaks(bench) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("base", ["http://xyz/bundle", "file:///C:/bundle"])
def test_a_node_is_built_from_a_bundle(bench: Bench, base: str) -> None:
    host = bench.node()
    assert collect(bench).rc == 0
    folder = bench.directory / "bundle"
    content = (folder / ARCHIVE).read_bytes()
    if base.startswith("http:"):
        bench.lab.sources.publish(f"/bundle/{ARCHIVE}", content)
    else:
        place = "C:\\bundle"
        for part in ("", *Path(ARCHIVE).parent.parts):
            place = f"{place}\\{part}".rstrip("\\")
            host.in_turn(partial(host.node.drive.mkdir, place))
        host.in_turn(lambda: host.node.drive.write(f"{place}\\{Path(ARCHIVE).name}", content))
    wanted = {"winkube_download_base": base, "winkube_download_sums": str(folder / "SHA256SUMS")}
    done = run(bench, SITE, **wanted)
    assert done.rc == 0, done
    assert f"installed containerd {VERSION} from {base}/{ARCHIVE}" in done.output
    assert host.in_turn(lambda: host.node.services.state("containerd")) == "running"
    assert run(bench, SITE, **wanted).recap["win1"].changed == 0
