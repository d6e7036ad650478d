"""A removed service is recreated as it was, with everything in its registry key."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine.services.existing import Existing, dacl

from tests.lab.machine.descriptor import encode
from tests.lab.machine.node import SimulatedNode
from tests.lab.twin.apply import with_present
from tests.lab.twin.node import LabNode
from tests.lab.twin.ops import execute_op
from tests.lab.twin.probe import Asker, answer_queries
from tests.lab.twin.work import STATE_DIR

KEY = r"HKLM\SYSTEM\CurrentControlSet\Services\other"
ACCESS = "D:(A;;CCLCSWRPWPDTLOCRRC;;;SY)(A;;0x2009d;;;S-1-5-21-1-2-3-1000)"


def registry(node: SimulatedNode) -> dict[str, Any]:
    query = {"key": "it", "op": "registry", "path": KEY, "tree": True}
    found: dict[str, Any] = answer_queries(node, Asker("SYSTEM", True), STATE_DIR, [query])["it"]
    return found


def test_keys_below_and_who_may_do_what_are_kept() -> None:
    """Before, triggers, performance counters, nssm's hooks and the security descriptor were lost."""
    node = LabNode("existing")
    node.services.create("other", r"C:\other\other.exe", start=2)
    node.registry.set(f"{KEY}\\Security", "Security", "binary", encode(ACCESS))
    node.registry.set(f"{KEY}\\TriggerInfo\\0", "Action", "dword", 1)
    node.registry.set(f"{KEY}\\Performance", "Library", "expand_string", r"%SystemRoot%\x.dll")
    before = registry(node)
    found = answer_queries(node, Asker("SYSTEM", True), STATE_DIR, [{"key": "it", "op": "service", "name": "other"}])[
        "it"
    ]
    descriptor = before["tree"]["Security"]["Security"]["value"]
    existing = Existing(found, before["values"], before["tree"], descriptor)
    (delete, *_) = existing.remove()
    batch = with_present(node.registry, {"ops": [delete.wire(0)]})
    assert "failed" not in execute_op(node, delete.op, dict(delete.args))
    assert not node.registry.exists(KEY)
    for _ in range(2):  # an undo may run again
        for op in batch["ops"][0]["undo"]:
            assert "failed" not in execute_op(node, op["op"], op["args"])
        assert registry(node) == before


def test_a_descriptor_is_written_as_sc_takes_it() -> None:
    assert dacl(encode(ACCESS)) == "D:(A;;0x201fd;;;S-1-5-18)(A;;0x2009d;;;S-1-5-21-1-2-3-1000)"
    assert dacl(encode("D:(D;;WP;;;BU)")) == "D:(D;;0x20;;;S-1-5-32-545)"


@pytest.mark.parametrize(
    "data", [b"", b"\1\0", encode(ACCESS)[:40], bytes(20), encode(ACCESS).replace(b"\2\0", b"\2\0", 1)[:28]]
)
def test_a_damaged_descriptor_is_none(data: bytes) -> None:
    assert dacl(data) is None
