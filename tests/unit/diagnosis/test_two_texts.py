"""A remedy has two texts: what to do in any cluster, and what of this collection does it, made from its action."""

from __future__ import annotations

import re

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.explain import explain
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.table import KNOWN
from ansible_collections.winkube.node.plugins.plugin_utils.words.cause import Cause
from ansible_collections.winkube.node.plugins.plugin_utils.words.causes import CAUSES
from ansible_collections.winkube.node.plugins.plugin_utils.words.meanings import meanings
from ansible_collections.winkube.node.plugins.plugin_utils.words.places import look_next
from ansible_collections.winkube.node.plugins.plugin_utils.words.remedies import advice, converge, restart

OURS = re.compile(r"winkube|\b(?:site|repair|calico|patch|scheduling)\.yml|playbook|docs/|this collection|inventory")
OWN = {"cri-tcp.left-open": "nothing but this collection opens CRI over TCP"}
JUICEFS = (
    'MountVolume.SetUp failed for volume "pvc-1" : rpc error: code = Internal desc = Could not mount juicefs: exit '
    "status 1"
)


@pytest.mark.parametrize("cause", {**CAUSES, **KNOWN}.values(), ids=lambda cause: str(cause.id))
def test_the_plain_text_is_for_any_cluster(cause: Cause) -> None:
    assert cause.id in OWN or not OURS.search(cause.remedy.plain), cause.remedy.plain
    assert not re.search(r"<\w", cause.remedy.plain), "a shell redirects: a word in capitals"


@pytest.mark.parametrize("cause", KNOWN.values(), ids=lambda cause: str(cause.id))
def test_what_of_this_collection_does_it_is_made_from_the_action(cause: Cause) -> None:
    ours = cause.remedy.ours("win1")
    assert not re.search(r"<\w", ours)
    assert bool(cause.remedy.command("win1")) == cause.remedy.automatic
    assert not cause.remedy.automatic or ours == cause.remedy.command("win1")


def test_the_parts_of_ours() -> None:
    assert advice("Look.").ours("win1") == ""
    assert advice("Name it.", variables=("winkube_a", "winkube_b")).ours("win1") == "Set winkube_a and winkube_b."
    command = "ansible-playbook winkube.node.site --tags cni --limit win1"
    assert converge("cni", text="Write it.", variables=("winkube_a",)).ours("win1") == f"Set winkube_a, then {command}"
    assert converge("cni", text="Write it.").untried().ours("win1").startswith(f"{command} (no test has run this")
    assert restart("Restart it.", "hns").ours("win1").endswith("-e winkube_repair_services=hns")


def test_explain_prints_the_plain_text_and_an_inventory_gets_ours_behind_it() -> None:
    text = "flanneld: failed to read net conf: open /etc/kube-flannel/net-conf.json: no such file"
    (alone, _looked) = explain({"stdin": text}).lines
    assert "net-conf.json (Network, Backend)" in alone and "ansible-playbook" not in alone
    (said,) = meanings(text, "win1")
    assert "--tags flannel --limit win1" in said["ours"]


def test_the_next_look_belongs_to_the_operation() -> None:
    assert "SmbGlobalMapping" not in look_next("not-known", JUICEFS)
    assert "driver's pod" in look_next("not-known", JUICEFS)
    assert "SmbGlobalMapping" in look_next("not-known", "New-SmbGlobalMapping : Generic failure")
