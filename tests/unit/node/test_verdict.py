"""A node's answer as sentences for a person: none repeated, each with one end."""

from __future__ import annotations

import re
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.node import verdict

from tests.unit.answers import ID, answered

STUCK = "The service kubelet did not stop within 120 s: it is start_pending."


def undo_failed(*messages: str, error: str = "sc.exe ended with exit code 1053.") -> str:
    undo = [{"n": n, "op": "halt", "message": message} for n, message in enumerate(messages)]
    error_part: dict[str, Any] = {"message": error, "undo": undo}
    return verdict.sentence(answered({"outcome": "undo_failed", "batch": ID, "error": error_part}))


def test_undos_that_failed_for_one_reason_say_it_once() -> None:
    """Failed before: eight undo lists of one stuck service gave the same sentence eight times."""
    said = undo_failed(*[STUCK] * 8)
    assert said.count("start_pending") == 1
    assert f"The roll back failed as well: {STUCK} The node is blocked" in said


def test_undos_that_failed_for_several_reasons_are_one_sentence_in_their_order() -> None:
    said = undo_failed(STUCK, r"C:\k\kubelet.exe is held", STUCK)
    assert rf"as well: {STUCK[:-1]}; C:\k\kubelet.exe is held. The node is blocked" in said


def test_empty_lines_of_windows_programs_are_left_out() -> None:
    """Failed before: sc.exe's answer tore the sentence apart."""
    sc = "sc.exe ended with exit code 1053: [SC] StartService FAILED 1053:\r\n\r\nThe service did not respond."
    said = undo_failed(sc, error=sc)
    assert said.count("FAILED 1053:\nThe service did not respond. ") == 2


def test_that_a_batch_was_rolled_back_is_said_once() -> None:
    interrupted = {"message": "The batch was interrupted at op 4 (run) and rolled back."}
    answer = {"answer": "accepted", "outcome": "undone", "error": interrupted}
    assert verdict.sentence(answered(answer)) == "The batch was interrupted at op 4 (run) and rolled back. Run again."


@pytest.mark.parametrize("end", ["", ".", "!", "?"])
@pytest.mark.parametrize(
    "answer",
    [
        {"answer": "accepted", "outcome": "undone", "error": {"message": "TEXT"}},
        {"answer": "accepted", "outcome": "undo_failed", "error": {"message": "TEXT", "undo": [{"message": "TEXT"}]}},
        {"answer": "accepted", "outcome": "interrupted", "batch": ID, "error": {"message": "TEXT"}},
        {"answer": "blocked", "blocked": {"id": ID, "error": {"message": "TEXT"}}},
        {"answer": "blocked", "blocked": {"id": ID, "error": "TEXT"}},
        {"answer": "busy", "busy": {"id": ID, "controller": "ann", "since": "9:00", "error": "TEXT"}},
        {"answer": "refused", "reason": "TEXT"},
    ],
)
def test_a_sentence_never_ends_twice(answer: dict[str, Any], end: str) -> None:
    """Failed before: it read `start_pending.). Look at the node`."""

    def put(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: put(each) for key, each in value.items()}
        if isinstance(value, list):
            return [put(each) for each in value]
        return f"it is start_pending{end}" if value == "TEXT" else value

    said = verdict.sentence(answered(put(answer)))
    assert "start_pending" in said
    assert not re.search(r"[.!?]\)?[.;]|[.!?]\)", said), said


def test_a_reason_that_is_missing_is_said_to_be() -> None:
    assert verdict.sentence(answered({"outcome": "undone"})).startswith("no reason was given. Rolled back")
