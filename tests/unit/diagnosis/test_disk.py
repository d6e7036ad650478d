"""The drive with containerd's images: numbers, and layers that are left over."""

from __future__ import annotations

from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis import checks_disk
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import file_key

from .nodes import Node, healthy

GB = 10**9


def node(free: int, *layers: str) -> Node:
    made = healthy()
    made.parts["volumes"] = {"C:": {"free": free * GB, "size": 128 * GB}, "D:": {"free": 0, "size": GB}}
    made.parts[file_key(checks_disk.FOLDER)] = {"exists": True, "kind": "directory", "entries": list(layers)}
    return made


def test_a_drive_with_room_and_layers_in_use_is_no_finding() -> None:
    made = node(20, "1", "2", "104")
    assert not made.find("host.drive-full") and not made.find("host.layers-left")
    assert not healthy().find("host.drive-full"), "what was not read"


def test_a_full_drive_is_told_with_numbers() -> None:
    (found,) = node(12, "1", "2", "rm-3").find("host.drive-full")
    assert "12.0 GB of 128.0 GB (9 %) are free; containerd has 2 layers there, and 1 that it could not remove" in (
        found.sentence
    )


def test_what_containerd_could_not_remove_is_counted_and_nothing_is_deleted() -> None:
    (found,) = node(100, "1", "rm-3", "rm-17").find("host.layers-left")
    assert "2 layers are left over beside 1 others (rm-3); 100.0 GB of 128.0 GB (78 %) are free" in found.sentence
    assert "never by deleting the folder" in found.remedy.plain
