"""A batch as it travels: numbered ops with their undo, one string that a node takes."""

from __future__ import annotations

import os

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine.batch import (
    MAX_BYTES,
    Batch,
    Op,
    as_base64,
    decode,
    encode,
)
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Expectation, file_query
from ansible_collections.winkube.node.plugins.plugin_utils.engine.secret import Secret
from ansible_collections.winkube.node.plugins.plugin_utils.engine.tools import restore_value

WRITE = Op("write", {"path": r"C:\k\x", "content": Secret("eA==")}).with_undo(Op("remove", {"path": r"C:\k\x"}))
WAIT = Op("wait", {"for": "pipe", "name": "x"})
EXPECTED = Expectation(file_query(r"C:\k\x"), (("exists", False),))


def test_a_secret_is_secret_wherever_it_lies_in_an_argument_and_opened_on_the_wire_alone() -> None:
    secret = Secret("hunter2")
    op = Op("run", {"program": "x.exe", "env": {"A": secret}, "args": ["--t", secret], "stdin": secret, "more": [1]})
    assert op.secrets == ("env", "args", "stdin")
    assert "hunter2" not in repr(op)
    wire = op.wire(0)
    assert wire["args"] == {
        "program": "x.exe",
        "env": {"A": "hunter2"},
        "args": ["--t", "hunter2"],
        "stdin": "hunter2",
        "more": [1],
    }
    assert wire["secrets"] == ["env", "args", "stdin"]
    assert as_base64(Secret(b"x")) == Secret("eA==")


def test_what_the_node_notes_for_an_undo_it_keeps_secret_there() -> None:
    """Failed before: an undo's own secrets were not sent, and the node showed what it had noted in an error."""
    back = restore_value(r"HKLM\SOFTWARE\x", "y")
    assert Op("run", {}).with_undo(back).wire(0)["undo"][0]["secrets"] == ["value"]


def test_ops_are_numbered_and_their_undo_is_not() -> None:
    wire = Batch("kubelet", (WRITE, WAIT), gate=(WAIT,), pre=(EXPECTED,), deadline_s=60).wire("b-1")
    assert wire == {
        "schema": 1,
        "id": "b-1",
        "component": "kubelet",
        "deadline_s": 60,
        "was": "",
        "pre": [
            {
                "key": r"file:c:\k\x",
                "query": {"key": r"file:c:\k\x", "op": "file", "path": r"C:\k\x"},
                "expect": {"exists": False},
            }
        ],
        "ops": [
            {
                "op": "write",
                "args": {"path": r"C:\k\x", "content": "eA=="},
                "n": 0,
                "undo": [{"op": "remove", "args": {"path": r"C:\k\x"}}],
                "secrets": ["content"],
            },
            {"op": "wait", "args": {"for": "pipe", "name": "x"}, "n": 1, "undo": [], "secrets": []},
        ],
        "gate": [{"op": "wait", "args": {"for": "pipe", "name": "x"}, "n": 0, "undo": [], "secrets": []}],
    }


def test_a_string_is_the_same_for_the_same_batch_and_can_be_read_again() -> None:
    wire = Batch("kubelet", (WRITE,)).wire("b-1")
    assert encode(wire) == encode(dict(reversed(wire.items())))
    assert decode(encode(wire)) == wire


def test_what_no_node_accepts_is_refused_with_its_size() -> None:
    with pytest.raises(ValueError, match=rf"the batch is \d+ bytes, more than the {MAX_BYTES} that a node accepts"):
        encode({"noise": os.urandom(MAX_BYTES).hex()})
