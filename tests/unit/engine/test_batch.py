"""A batch as it travels: numbered ops with their undo, one string that a node takes."""

from __future__ import annotations

import os

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine.batch import MAX_BYTES, Batch, Op, decode, encode
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Expectation, file_query

WRITE = Op("write", {"path": r"C:\k\x", "content": "eA=="}, secrets=("content",)).with_undo(
    Op("remove", {"path": r"C:\k\x"})
)
WAIT = Op("wait", {"for": "pipe", "name": "x"})
EXPECTED = Expectation(file_query(r"C:\k\x"), (("exists", False),))


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
