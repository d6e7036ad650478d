"""A code of several causes is a short list with the look that tells them apart, and no drastic command."""

from __future__ import annotations

from itertools import combinations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.node import Node
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis import checks_logs, table
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.scene import Scene
from ansible_collections.winkube.node.plugins.plugin_utils.facts.ambiguous import AMBIGUOUS, MOST, Ambiguous, find_row
from ansible_collections.winkube.node.plugins.plugin_utils.facts.message_places import ENDPOINT, PROCESS
from ansible_collections.winkube.node.plugins.plugin_utils.network.model import Hns
from ansible_collections.winkube.node.plugins.plugin_utils.words.causes import CAUSES
from ansible_collections.winkube.node.plugins.plugin_utils.words.finding import Finding, Seen
from ansible_collections.winkube.node.plugins.plugin_utils.words.meanings import meanings, say

from tests.judge.signs import DRASTIC
from tests.unit.components.nodes import LAYOUT

PORT = (
    "E0630 13:55:09.771203    4412 proxier.go:1213] Policy creation failed: hcnCreateLoadBalancer failed in Win32: The "
    "specified port already exists. (0x803b0013)"
)
LISTS = {
    PORT: ["kube-proxy.rule-port-taken", "hns.ports-exhausted"],
    "hcsshim::PrepareLayer failed in Win32: The container image contains a layer with an unrecognized format. "
    "(0xc0370112)": ["image.mismatch", "image.layer"],
    'plugin type="vpc-bridge" failed (add): hnsCall failed in Win32: An address provided is invalid or reserved. '
    "(0x803b002f)": ["hns.address-refused", "hns.endpoint-duplicate-address"],
    "failed to create containerd task: hcsshim::CreateComputeSystem web: The parameter is incorrect.": [
        "container.parameter",
        "container.mount-refused",
    ],
}


@pytest.mark.parametrize(("text", "causes"), LISTS.items())
def test_a_code_of_several_causes_is_a_list_with_the_look(text: str, causes: list[str]) -> None:
    (said,) = meanings(text, "win1")
    assert said["causes"] == causes
    assert all(f"({each})" in said["title"] for each in causes)
    assert said["ours"] == "" and said["remedy"].startswith("What tells them apart: ")


@pytest.mark.parametrize("row", AMBIGUOUS, ids=lambda row: f"{row.codes[0]:x} {row.doing[0]}")
def test_a_row_is_short_and_each_cause_has_its_source_and_its_sign(row: Ambiguous) -> None:
    assert 2 <= len(row.causes) <= MOST and row.look
    assert all(each.id in CAUSES and each.shows and ("#" in each.source or "/" in each.source) for each in row.causes)
    assert all(one.shows != other.shows and one.id != other.id for one, other in combinations(row.causes, 2))
    assert not DRASTIC.search(row.look + "".join(each.shows for each in row.causes))


def test_words_of_one_cause_stay_definite() -> None:
    (said,) = meanings(f"{PORT.partition(']')[0]}] Source Vip endpoint creation failed: (0x803b001e)", "win1")
    assert said["id"] == "kube-proxy.source-vip" and "causes" not in said


def test_a_code_with_one_known_cause_has_no_row() -> None:
    assert find_row("windows", "2", {PROCESS}) is None
    assert find_row("windows", "32", {ENDPOINT}) is None
    (said,) = meanings("hcs::System::CreateProcess web: The system cannot find the file specified.: unknown", "win1")
    assert said["id"] == "container.command" and "causes" not in said


def test_a_number_of_another_kind_has_no_row() -> None:
    row, code = AMBIGUOUS[0], str(AMBIGUOUS[0].codes[0])
    assert find_row("hcn", code, row.doing) == row
    assert find_row("exit", code, row.doing) is find_row("http", code, row.doing) is None


def test_a_list_is_a_sentence() -> None:
    (said,) = meanings(PORT, "")
    assert say(said).startswith(f"{said['title']}. {said['cause']} ")


def with_logs(found: tuple[Finding, ...], *ruled_out: str) -> tuple[Finding, ...]:
    scene = Scene(Node.unknown(LAYOUT), Hns(), logs={"kube-proxy": PORT})
    return checks_logs.with_logs(found, scene, table.KNOWN, table.CHECKS, ruled_out)


def test_without_a_node_the_log_makes_the_list() -> None:
    (said,) = with_logs(())
    assert said.title.startswith("One of several causes") and "dynamicportrange" in said.remedy.plain


def test_with_a_node_its_own_reading_is_the_look() -> None:
    (one,) = with_logs((), "hns.ports-exhausted")
    assert (one.id, one.title) == ("kube-proxy.rule-port-taken", table.KNOWN["kube-proxy.rule-port-taken"].title)
    exhausted = Finding(table.KNOWN["hns.ports-exhausted"], Seen("ports", "3 of 16384 are free"))
    (two,) = with_logs((exhausted,))
    assert two.id == "hns.ports-exhausted" and PORT in two.evidence
