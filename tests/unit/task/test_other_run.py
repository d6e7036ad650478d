"""Whether another run changed the same component a short while ago, by the node's own note and clock."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_key
from ansible_collections.winkube.node.plugins.plugin_utils.task.other_run import describe

from tests.unit.components.nodes import LAYOUT as WHERE

ME, OTHER = "ann@laptop (pid 4711)", "ci@runner-7 (pid 12)"
NOW = "2026-11-23T14:30:00.1234567Z"


def told(
    at: str,
    *,
    by: str = OTHER,
    clock: Any = NOW,
    component: str = "kubelet",
    text: str | None = None,
    was: str = "",
    reset: str = "2026-11-23T13:00:00Z",
    becomes: tuple[str, ...] = ("feedbeefdeadbeef",),
) -> str:
    kubelet = {"at": at, "by": by, "id": "a" * 32, "was": was}
    noted = json.dumps({"schema": 1, "components": {"kubelet": kubelet, "reset": {"at": reset, "by": ME}}})
    content = base64.b64encode((noted if text is None else text).encode()).decode()
    parts = {"system": {"clock": clock}, file_key(WHERE.changes): {"exists": True, "content": content}}
    return describe(Reading(parts=parts), WHERE, component, ME, becomes)


@pytest.mark.parametrize(
    ("at", "since"),
    [
        ("2026-11-23T14:26:03.7654321Z", "4 minutes ago, at 14:26:03 UTC"),
        ("2026-11-23T14:29:00.0000000Z", "1 minute ago"),
        ("2026-11-23T14:29:45.0000000Z", "less than a minute ago"),
        ("2026-11-23T13:30:05.0000000Z", "60 minutes ago"),
    ],
)
def test_who_changed_it_and_when(at: str, since: str) -> None:
    said = told(at)
    assert said.startswith(f"another run, {OTHER}, changed kubelet {since}")
    assert said.endswith("and this one changes it again. Compare your inventory with theirs.")


@pytest.mark.parametrize(
    ("by", "run", "end"),
    [
        (OTHER, f"another run, {OTHER},", "."),
        ("ann@laptop (pid 4712)", "an earlier run of yours (pid 4712)", ", if you did not mean to."),
    ],
)
def test_a_value_that_goes_back_is_told_whoever_set_it(by: str, run: str, end: str) -> None:
    said = told("2026-11-23T14:26:03Z", by=by, was="0123456789abcdef", becomes=("aaaa", "0123456789abcdef"))
    assert said.startswith(f"{run} changed kubelet 4 minutes ago")
    assert said.endswith(f"and this one changes it back. Compare the values of the two runs{end}")


@pytest.mark.parametrize(
    "unremarkable",
    [
        {"at": "2026-11-23T14:26:03Z", "by": ME},
        {"at": "2026-11-23T14:26:03Z", "by": "ann@laptop (pid 4712)", "was": "0123456789abcdef"},
        {"at": "2026-11-23T14:26:03Z", "by": "ann@laptop (pid 4712)", "becomes": ()},
        {"at": "2026-11-23T13:26:03Z"},
        {"at": "2026-11-23T14:26:03Z", "reset": "2026-11-23T14:26:04Z"},
        {"at": "2026-11-23T14:31:03Z"},
        {"at": "2026-11-23T14:26:03Z", "component": "containerd"},
        {"at": "2026-11-23T14:26:03Z", "clock": None},
        {"at": "2026-11-23T14:26:03"},
        {"at": "", "text": '{"components": ["torn"'},
        {"at": "", "text": '{"components": {"kubelet": 1}}'},
        {"at": "", "text": "[]"},
    ],
)
def test_my_own_run_one_long_ago_and_what_cannot_be_read_say_nothing(unremarkable: dict[str, Any]) -> None:
    assert told(**unremarkable) == ""


def test_a_node_that_has_no_note() -> None:
    absent = {"system": {"clock": NOW}, file_key(WHERE.changes): {"exists": False}}
    assert describe(Reading(parts=absent), WHERE, "kubelet", ME, ()) == ""
    assert describe(Reading(parts={}), WHERE, "kubelet", ME, ()) == ""
