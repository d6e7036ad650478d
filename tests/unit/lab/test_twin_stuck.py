"""A runner that does not come up, and who holds the node's lock."""

from __future__ import annotations

import pytest

from tests.lab.machine.node import SimulatedNode
from tests.lab.machine.session import Session
from tests.lab.twin.node import LabNode
from tests.lab.twin.state import StateFolder
from tests.lab.twin.submit import STATE_DIR, apply, envelope, op

DIR = op("mkdir", undo=[op("remove", path="C:\\k")], path="C:\\k")
ANTIVIRUS = "This script contains malicious content and has been blocked by your antivirus software."


@pytest.fixture
def node() -> SimulatedNode:
    return LabNode("win1")


@pytest.fixture
def session(node: SimulatedNode) -> Session:
    return node.open_session()


def test_a_runner_that_antivirus_stops_is_told_and_blocks_until_it_is_acknowledged(
    node: SimulatedNode, session: Session
) -> None:
    node.faults.runner_refused = ANTIVIRUS
    first = apply(node, session, envelope([DIR], batch_id="a" * 32))
    assert first["outcome"] == "interrupted"
    assert ANTIVIRUS in first["error"]["message"]
    second = apply(node, session, envelope([DIR]))
    assert second["answer"] == "blocked"
    assert second["blocked"]["id"] == "a" * 32
    assert ANTIVIRUS in second["blocked"]["error"]["message"]
    node.faults.runner_refused = ""
    assert apply(node, session, envelope(kind="acknowledge", batch_id="a" * 32))["outcome"] == "done"
    assert apply(node, session, envelope(kind="follow", batch_id="a" * 32))["outcome"] == "undo_failed"
    assert apply(node, session, envelope([DIR]))["outcome"] == "done"
    assert not {"open.json", "blocked.json", "runner-starts.log", "runner-error.txt"} & set(
        node.drive.listdir(STATE_DIR)
    )


def test_a_runner_that_comes_up_again_ends_the_batch_by_itself(node: SimulatedNode, session: Session) -> None:
    node.faults.runner_refused = ANTIVIRUS
    apply(node, session, envelope([DIR], batch_id="a" * 32, follow_s=1))
    busy = apply(node, session, envelope([DIR]))
    assert (busy["answer"], ANTIVIRUS in busy["busy"]["error"]) == ("busy", True)
    node.faults.runner_refused = ""
    node.clock.advance(90)
    assert apply(node, session, envelope(kind="follow", batch_id="a" * 32))["outcome"] == "done"


def test_two_sessions_do_not_submit_at_the_same_time(node: SimulatedNode, session: Session) -> None:
    """The second one waits 10 s for the lock of the first, and is then told that somebody works here."""
    assert apply(node, session, envelope([]))["outcome"] == "done"
    other = node.processes.spawn("C:\\Windows\\System32\\WindowsPowerShell\\v1.0\\powershell.exe", None)
    folder = StateFolder(node, STATE_DIR)
    assert folder.enter(other)
    before = node.clock.now()
    assert apply(node, session, envelope([DIR]))["answer"] == "busy"
    assert 10 <= node.clock.now() - before < 12
    assert node.drive.kind("C:\\k") is None
    node.processes.kill(other.pid)
    assert apply(node, session, envelope([DIR]))["outcome"] == "done"


def test_what_was_never_opened_leaves_no_secrets_and_a_clock_that_was_ahead_takes_no_answer_away(
    node: SimulatedNode, session: Session
) -> None:
    """Before, the first batch.json stayed, and the batch that had just ended was the oldest folder and went at once."""
    assert apply(node, session, envelope([]))["outcome"] == "done"
    for number in range(20):
        folder = f"{STATE_DIR}\\batches\\{number:032x}"
        node.drive.mkdir(folder)
        node.drive.write(f"{folder}\\batch.json", b"{}")
        node.drive.entry(folder).written = 1e12
    assert apply(node, session, envelope([DIR], batch_id="b" * 32))["outcome"] == "done"
    left = node.drive.listdir(f"{STATE_DIR}\\batches")
    assert "b" * 32 in left and len(left) == 20
    assert not any(node.drive.is_file(f"{STATE_DIR}\\batches\\{name}\\batch.json") for name in left)
