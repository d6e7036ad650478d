"""Builds on the controller: when one begins, which file it made, and when nobody should send what it found."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine.clock import Clock
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.provision import provision_source
from ansible_collections.winkube.node.plugins.plugin_utils.provision.provision_items import parse_items

from tests.lab.machine.builds import build
from tests.unit.components.nodes import LAYOUT

LINUX = b"\x7fELF\x02\x01\x01" + bytes(11) + b"\x3e\0" + bytes(100)


class Time:
    """A clock whose sleeps let things happen."""

    def __init__(self, *happens: str) -> None:
        self.at, self.happens, self.said = 0.0, list(happens), "a"

    def sleep(self, seconds: float) -> None:
        self.at += seconds
        if self.happens:
            self.said = self.happens.pop(0)

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self.at, self.sleep)


def test_a_build_begins_when_nothing_is_written_any_more() -> None:
    there = Time("a", "a", "b", "c", "d", "d")
    assert provision_source.wait_for_change(lambda: there.said, "a", 1.0, there.clock) == "d"
    assert there.at >= 6
    at_once = Time()
    assert provision_source.wait_for_change(lambda: at_once.said, "", 0.5, at_once.clock) == "a"
    assert at_once.at == 0.5


def test_sources_count_and_results_do_not(tmp_path: Path) -> None:
    for name in ("a.go", "bin/b.go", "_output/c.go", ".git/d.go", "sub/e.go", "readme.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    before = provision_source.stamp(tmp_path)
    for name in ("bin/b.go", "_output/c.go", ".git/d.go", "readme.md"):
        (tmp_path / name).write_text("changed")
    assert provision_source.stamp(tmp_path) == before
    (tmp_path / "sub" / "e.go").write_text("changed")
    assert provision_source.stamp(tmp_path) != before


def two(folder: Path, exe: bytes, bare: bytes, newer: str) -> Path:
    for name, data in (("containerd.exe", exe), ("containerd", bare)):
        (folder / name).write_bytes(data)
        at = 2_000_000_000 if name == newer else 1_000_000_000
        os.utime(folder / name, (at, at))
    return folder


@pytest.mark.parametrize("named", ["", "containerd", "containerd.exe"])
def test_the_build_that_was_written_last_is_sent(tmp_path: Path, named: str) -> None:
    """`bin/containerd.exe` of last week was sent in the place of `bin/containerd`, which `make` had just written."""
    folder = two(tmp_path, build("containerd", "1.7.0"), build("containerd", "1.7.1"), "containerd")
    (item,) = parse_items({"name": "containerd", "sourceURL": str(folder / named)}, LAYOUT)
    origin = provision_source.from_controller(item, (), lambda url: "")
    assert origin.build is not None and origin.build.path == folder / "containerd"


def test_a_newer_build_for_linux_hides_no_old_one_for_windows(tmp_path: Path) -> None:
    folder = two(tmp_path, build("containerd", "1.7.0"), LINUX, "containerd")
    with pytest.raises(
        Refused, match=r"two builds: .*/containerd \(.*GOOS=windows was forgotten.*containerd.exe \("
    ) as no:
        provision_source.find_newest("containerd", folder)
    assert "but older" in str(no.value)
    folder = two(tmp_path, build("containerd", "1.7.0"), LINUX, "containerd.exe")
    assert provision_source.find_newest("containerd", folder) == folder / "containerd.exe"
    assert provision_source.find_newest("containerd", tmp_path / "none") is None


def test_a_build_is_named_by_size_time_and_revision(tmp_path: Path) -> None:
    path = tmp_path / "kubelet.exe"
    path.write_bytes(bytes(1_500_000))
    about = provision_source.describe_build(path, tmp_path)
    assert (about["size"], about["revision"]) == (1_500_000, "")
    told = provision_source.summarise_build("kubelet", {**about, "revision": "v1.37.0-dirty"}, 4.1)
    assert told.startswith(f"kubelet: built {path} in 4.1 s (1.5 MB, written 20")
    assert told.endswith(", revision v1.37.0-dirty)")


def test_a_build_that_fails_says_its_last_lines(tmp_path: Path) -> None:
    made = provision_source.make(["sh", "-c", "echo one; echo two >&2; exit 3"], tmp_path, {"GOOS": "windows"})
    assert (made.code, made.output.splitlines()) == (3, ["one", "two"])
    with pytest.raises(Refused, match="no-such-program: it cannot be started in"):
        provision_source.make(["no-such-program"], tmp_path, {})
