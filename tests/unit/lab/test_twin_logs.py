"""logs.json: what stands in the way of one file keeps no other from being removed, and nothing of others is lost."""

from __future__ import annotations

from tests.lab.machine.node import SimulatedNode
from tests.lab.twin.log_limit import keep_small
from tests.lab.twin.node import LabNode
from tests.lab.twin.state import StateFolder
from tests.lab.twin.submit import STATE_DIR

FOLDER = "C:\\logs"
LOG = f"{FOLDER}\\c.log"


def made(**limits: object) -> tuple[SimulatedNode, StateFolder]:
    node = LabNode("win1")
    node.drive.mkdir(FOLDER)
    folder = StateFolder(node, STATE_DIR)
    folder.make()
    log = {"path": LOG, "max_bytes": 10, "keep_files": 1, "keep_days": 14, "empty": False, **limits}
    folder.write({"schema": 1, "logs": [log]}, "logs.json")
    return node, folder


def test_a_file_that_cannot_be_removed_keeps_no_other() -> None:
    """The first that Windows refused to delete ended it for the newer ones, hour after hour."""
    node, folder = made()
    names = [f"c-2026110{n}T000000.000.log" for n in range(1, 5)]
    for name in names:
        node.drive.write(f"{FOLDER}\\{name}", b"x")
    node.drive.set_read_only(f"{FOLDER}\\{names[0]}", True)
    keep_small(node, folder)
    assert sorted(node.drive.listdir(FOLDER)) == [names[0], names[3]]


def test_what_already_has_the_name_is_neither_removed_nor_written_over() -> None:
    """The end of the log went over a file that was there."""
    node, folder = made(empty=True)
    node.drive.write(LOG, b"0123456789abcdef")
    there = f"{FOLDER}\\c-{node.clock.utc():%Y%m%dT%H%M%S}.log"
    node.drive.write(there, b"older")
    keep_small(node, folder)
    assert node.drive.read(there) == b"older"
    assert node.drive.read(LOG) == b"0123456789abcdef"
