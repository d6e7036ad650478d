"""Whose switches of Windows a node has, and whether its revision is known."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.host.os_switches import query
from ansible_collections.winkube.node.plugins.plugin_utils.facts.os_switches import list_common, list_switches
from ansible_collections.winkube.node.plugins.plugin_utils.facts.windows_revisions import find_last

from .nodes import Node, healthy

BUILD = 20348


def having(*makers: str) -> Node:
    """A healthy node on Windows Server 2022 with the switches of these makers, and those of all."""
    node = healthy()
    node.parts["system"]["os"] |= {"build": BUILD}
    switches = [*list_common(), *(each for maker in makers for each in list_switches(maker, BUILD))]
    for each in switches:
        part = node.parts.setdefault(query(each.key).key, {"exists": True, "values": {}, "keys": []})
        part["values"][each.name.upper()] = {"type": "dword", "value": each.value}
    return node


@pytest.mark.parametrize(
    ("makers", "seen"),
    [
        ((), []),
        (("image-builder",), ["Windows: of image-builder's switches for this build 1 of 1 are set."]),
        (("aks",), ["Windows: of AKS's switches for this build 70 of 70 are set."]),
        (
            ("aks", "image-builder"),
            [
                "Windows: of image-builder's switches for this build 1 of 1 are set.",
                "Windows: of AKS's switches for this build 69 of 70 are set.",
            ],
        ),
    ],
    ids=["none", "image-builder", "aks", "both"],
)
def test_whose_switches_a_machine_has_is_noted(makers: tuple[str, ...], seen: list[str]) -> None:
    assert [each.text for each in having(*makers).find("host.os-switches")] == seen


@pytest.mark.parametrize(("later", "seen"), [(0, []), (1, [True])])
def test_a_revision_beyond_the_table_is_noted(later: int, seen: list[bool]) -> None:
    last = find_last(BUILD)
    assert last is not None
    node = having()
    node.parts["system"]["os"] |= {"revision": last.revision + later}
    found = [each.text for each in node.find("host.newer-revision")]
    assert [f"newer than what is known here ({last.date})" in text for text in found] == seen
