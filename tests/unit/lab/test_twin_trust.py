"""What lies in the state folder and is not the node's own, and a scheduler that does not answer."""

from __future__ import annotations

import json

import pytest

from tests.lab.machine.errors import WinError
from tests.lab.machine.node import SimulatedNode
from tests.lab.twin.node import LabNode
from tests.lab.twin.state import SDDL
from tests.lab.twin.submit import STATE_DIR, apply, envelope, op
from tests.lab.twin.task import POWERSHELL, command

USER = "S-1-5-21-1-2-3-1001"
DIR = op("mkdir", path="C:\\made")


@pytest.fixture
def node() -> SimulatedNode:
    return LabNode("win1")


@pytest.mark.parametrize("name", ["batches", "receipts", "staging", "batches\\x", "batches\\x\\backup", "staging\\y"])
def test_a_child_of_somebody_else_is_refused_each_time_also_in_a_folder_that_is_closed(
    node: SimulatedNode, name: str
) -> None:
    node.drive.mkdir(STATE_DIR)
    node.drive.set_sddl(STATE_DIR, SDDL)
    node.drive.mkdir(node.drive.parent(f"{STATE_DIR}\\{name}"))
    node.drive.mkdir(f"{STATE_DIR}\\{name}", owner=USER)
    for _ in range(3):
        result = apply(node, node.open_session(), envelope([DIR]))
        assert result["answer"] == "refused" and f"{name} is owned by {USER}" in result["reason"]
    assert not node.drive.exists("C:\\made")


@pytest.mark.parametrize("name", ["batches", "receipts", "staging"])
def test_a_junction_in_the_place_of_a_folder_is_refused(node: SimulatedNode, name: str) -> None:
    node.drive.mkdir("C:\\elsewhere")
    node.drive.mkdir(STATE_DIR)
    node.drive.set_sddl(STATE_DIR, SDDL)
    node.drive.link(f"{STATE_DIR}\\{name}", "C:\\elsewhere")
    result = apply(node, node.open_session(), envelope([DIR]))
    assert result["answer"] == "refused" and f"{name} is a link" in result["reason"]
    assert node.drive.listdir("C:\\elsewhere") == []


@pytest.mark.parametrize("step", ["protect", "make"])
def test_who_is_quicker_at_the_first_set_up_gets_nothing_carried_out(
    node: SimulatedNode, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """The folder is looked at, then made: in between a user makes his own, with a batch in it."""
    from tests.lab.twin.state import StateFolder

    original = getattr(StateFolder, step)

    def slower(folder: StateFolder, *args: str) -> object:
        monkeypatch.setattr(StateFolder, step, original)
        if not node.drive.exists(STATE_DIR):
            node.drive.mkdir(STATE_DIR, owner=USER)
        if not node.drive.exists(f"{STATE_DIR}\\batches"):
            node.drive.mkdir(f"{STATE_DIR}\\batches", owner=USER)
        return original(folder, *args)

    monkeypatch.setattr(StateFolder, step, slower)
    result = apply(node, node.open_session(), envelope([DIR]))
    assert result["answer"] == "refused" and f"is owned by {USER}" in result["reason"]
    assert not node.drive.exists("C:\\made")


def test_what_expires_ends_also_where_the_scheduler_does_not_answer(node: SimulatedNode) -> None:
    assert apply(node, node.open_session(), envelope([]))["outcome"] == "done"
    over = {"schema": 1, "at": "2020-01-02T03:04:05+00:00", "path": "C:\\f", "sha256": []}
    lists = {"first": [{"op": "mkdir", "args": {"path": "C:\\first"}}], "same": [], "last": []}
    node.drive.write(f"{STATE_DIR}\\expiry.json", json.dumps({**over, **lists}).encode())
    node.tasks.answers = False
    with pytest.raises(WinError):
        node.tasks.get("\\winkube\\runner")
    node.run(POWERSHELL, command(STATE_DIR))
    assert node.drive.exists("C:\\first")
