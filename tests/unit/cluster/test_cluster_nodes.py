"""The inventory of a cluster's nodes: which files are its sources."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.inventory.cluster_nodes import InventoryModule, find_slice

OURS = "plugin: winkube.node.cluster_nodes\n"


@pytest.mark.parametrize(
    ("name", "text", "ours"),
    [
        ("cluster_nodes.yml", OURS, True),
        ("windows.yaml", f"# of production\n---\n{OURS}", True),
        ("windows.ini", OURS, False),
        ("cluster_nodes.yml", "all: {hosts: {win1: {}}}\n", False),
        ("windows.yml", "plugin: winkube.node.node_yaml\n", False),
        ("windows.yml", f"all:\n  vars:\n    {OURS}", False),
    ],
)
def test_a_source_is_a_yaml_file_that_names_the_plugin(tmp_path: Path, name: str, text: str, ours: bool) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert InventoryModule().verify_file(str(tmp_path / name)) is ours


def test_slices_have_each_node_once_whatever_others_come_and_go() -> None:
    names = [f"win{number}" for number in range(2000)]
    slices = [[name for name in names if find_slice(name, 20) == number] for number in range(20)]
    assert sorted(name for one in slices for name in one) == sorted(names)
    assert all(60 < len(one) < 140 for one in slices), "about as many each"
    assert [name for name in names[::2] if find_slice(name, 20) == 7] == [
        name for name in slices[7] if name in names[::2]
    ]
    assert {find_slice(name, 1) for name in names} == {0}
