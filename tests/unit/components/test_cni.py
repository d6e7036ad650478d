"""The CNI plugins, their folders, and other files in them."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.cni import cni
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import make_plan
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_key
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.programs import Source

from .nodes import LAYOUT, bare, file, lines

MARK = "0123456789abcdef0123456789abcdef"
PLUGINS = Source("https://example.com/cni-plugins-windows-amd64-v1.9.0.tgz", "a" * 64, "1.9.0")
FLANNEL = Source("https://example.com/cni-plugin-flannel-windows-amd64-v1.2.0-flannel1.tgz", "b" * 64, "1.2.0-flannel1")
ARGS = cni.CniArgs(LAYOUT, PLUGINS, FLANNEL, mark=MARK)


def node(entries: tuple[str, ...] = ()) -> Reading:
    folder: dict[str, Any] = {"exists": True, "kind": "directory", "sddl": "O:BAG:BAD:PAI", "entries": list(entries)}
    return bare(cni.reads(LAYOUT)).merge({file_key(LAYOUT.cni_conf_dir): folder})


@pytest.mark.row("FL-05", "NW-31", "NW-13")
def test_the_plugins_that_flannel_needs() -> None:
    made = make_plan(cni.NAME, cni.build_resources(ARGS), bare(cni.reads(LAYOUT))).batch
    assert made is not None
    moved = [line.rpartition(" -> ")[2] for line in lines(made.ops) if line.startswith("move")]
    assert moved == [
        rf"C:\k\cni\{name}" for name in ("host-local.exe", "win-bridge.exe", "win-overlay.exe", "flannel.exe")
    ]
    members = [member["from"] for op in made.ops if op.op == "unpack" for member in op.args["members"]]
    assert members == ["host-local.exe", "win-bridge.exe", "win-overlay.exe", "flannel-amd64.exe"]
    folders = [line for line in lines(made.ops) if line.startswith("mkdir") and "cni" in line]
    assert folders[:2] == [r"mkdir C:\k\cni", r"mkdir C:\k\cni\config"]


def test_flannels_plugin_alone() -> None:
    source = Source("https://example.com/flannel-amd64.exe", "b" * 64, "1.2.0-flannel1")
    args = cni.CniArgs(LAYOUT, PLUGINS, source, flannel_archive=False, mark=MARK)
    made = make_plan(cni.NAME, cni.build_resources(args), bare(cni.reads(LAYOUT))).batch
    assert made is not None
    staging = r"C:\ProgramData\winkube\staging\flannel-cni-01234567"
    assert rf"move {staging}\flannel.exe -> C:\k\cni\flannel.exe" in lines(made.ops)


def test_a_network_of_the_clusters_own_gets_the_folders_and_nothing_else() -> None:
    made = make_plan(cni.NAME, cni.build_resources(cni.CniArgs(LAYOUT)), bare(cni.reads(LAYOUT))).batch
    assert made is not None
    assert {op.op for op in made.ops} == {"mkdir"}


def test_plugins_of_unknown_origin_are_compared_first() -> None:
    there = {file_key(rf"C:\k\cni\{name}"): file(name.encode()) for name in ("host-local.exe", "win-bridge.exe")}
    there[file_key(r"C:\k\cni\win-overlay.exe")] = file(b"win-overlay.exe")
    staged = cni.stage_first(cni.NAME, cni.build_resources(ARGS), node().merge(there))
    assert staged is not None
    assert [op.op for op in staged.ops] == ["mkdir", "fetch", "unpack"]
    assert cni.stage_first(cni.NAME, cni.build_resources(ARGS), node()) is None


@pytest.mark.row("FL-05")
def test_strangers_in_the_folder_are_named_with_what_they_mean() -> None:
    found = cni.strangers(LAYOUT, node(("10-azure.conflist", "cni.conf", "nat.CONF", "readme.txt", "vpc.json")))
    assert len(found) == 3
    assert found[0].startswith(r"C:\k\cni\config\10-azure.conflist is another network configuration, which is used:")
    assert "nat.CONF is another network configuration, which is used as soon as cni.conf is gone:" in found[1]
    assert found[2].startswith(r"C:\k\cni\config\vpc.json is another network configuration")
    assert cni.strangers(LAYOUT, node(("cni.conf",))) == ()
    assert cni.strangers(LAYOUT, bare(cni.reads(LAYOUT))) == ()


@pytest.mark.row("NW-14")
@pytest.mark.parametrize(
    ("text", "sentence"), [("1.9", "names the release line"), ("0.7.5", "0.7.5 is older than 0.8.0")]
)
def test_a_release_that_is_not_known(text: str, sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        cni.plugins_version(text)
    assert str(cni.plugins_version("1.9.0")) == "1.9.0"


def test_one_read_plan_is_enough() -> None:
    assert (
        bare(cni.reads(LAYOUT)).find_missing(query for each in cni.build_resources(ARGS) for query in each.reads())
        == ()
    )
