"""The op remove, where Windows denies it for a while: .NET throws that for a folder without the error's number."""

from __future__ import annotations

from tests.lab.machine.node import SimulatedNode
from tests.lab.twin.node import LabNode
from tests.lab.twin.ops import execute_op

FOLDER = "C:\\k\\old"


def node(seconds: float) -> SimulatedNode:
    made = LabNode("remove")
    made.drive.mkdir(FOLDER)
    made.faults.denied[FOLDER.lower()] = made.clock.now() + seconds
    return made


def test_a_folder_that_is_denied_for_a_moment_is_tried_again() -> None:
    """Source: referencesource, mscorlib directory.cs, DeleteHelper: a bare IOException, which was not tried again."""
    assert execute_op(node(2), "remove", {"path": FOLDER}) == {"changed": True}


def test_a_folder_that_stays_denied_may_stay_with_in_use_ok() -> None:
    assert execute_op(node(60), "remove", {"path": FOLDER, "in_use_ok": True}) == {"changed": True, "left": True}


def test_a_folder_that_stays_denied_is_an_error_without_it() -> None:
    assert "(5)" in execute_op(node(60), "remove", {"path": FOLDER})["failed"]


def test_what_is_held_is_waited_for_within_one_budget() -> None:
    """Each of 200 files for 5 s were a quarter of an hour."""
    made = LabNode("remove")
    made.drive.mkdir(FOLDER)
    for number in range(200):
        path = f"{FOLDER}\\{number}"
        made.drive.write(path, b"x")
        made.faults.denied[path.lower()] = made.clock.now() + 10_000
    begun = made.clock.now()
    result = execute_op(made, "remove", {"path": FOLDER, "recurse": True, "in_use_ok": True})
    assert result == {"changed": True, "left": True}
    assert made.clock.now() - begun < 40
