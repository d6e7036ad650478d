"""Faults around a batch: a full disk, a folder that is open to others, no patience, a proxy's own page."""

from __future__ import annotations

import base64
import itertools
from dataclasses import replace

import pytest

from tests.contract.archives import archive
from tests.integration.troubles import PAGE
from tests.lab.machine.faults import Fault
from tests.lab.machine.node import SimulatedNode
from tests.lab.machine.session import Session
from tests.lab.twin.node import LabNode
from tests.lab.twin.submit import STATE_DIR, apply, content, envelope, op, wait
from tests.lab.twin.task import PATH as TASK

ANN = "S-1-5-21-1-2-3-1001"
DIR = op("mkdir", path="C:\\k", undo=[op("remove", path="C:\\k", only_if_empty=True)])
UNDO_OLD = op("restore", path="C:\\old", backup="C:\\k\\kept")
FILE = op("write", path="C:\\k\\f", content=content("x" * 1000), undo=[op("remove", path="C:\\k\\f")])


@pytest.fixture
def node() -> SimulatedNode:
    return LabNode("win1")


@pytest.fixture
def session(node: SimulatedNode) -> Session:
    return node.open_session()


@pytest.mark.parametrize("when", ["before", "in", "after"])
def test_a_disk_that_fills_under_a_batch_stops_it_until_there_is_room_then_it_is_taken_back(
    node: SimulatedNode, session: Session, when: str
) -> None:
    node.faults.arm(Fault("disk_full", 1, when))  # type: ignore[arg-type]
    first = apply(node, session, envelope([DIR, FILE], follow_s=30))
    assert first["outcome"] == "running", first
    node.clock.advance(180)
    assert node.drive.exists(f"{STATE_DIR}\\open.json"), "without a journal nothing is done"
    node.faults.disk_full_after = None
    node.clock.advance(61)
    assert not node.drive.exists(f"{STATE_DIR}\\open.json")
    end = apply(node, session, envelope(kind="follow", batch_id=first["batch"], runner_text=None))
    assert end["outcome"] == "undone", end
    assert not node.drive.exists("C:\\k")


MEMBERS = {"archive": "zip", "members": {"one": "1" * 3000, "two": "2" * 3000}}
KEY = "HKLM\\SOFTWARE\\winkube-test"
WORK = [
    DIR,
    FILE,
    op(
        "write",
        path="C:\\k\\a.zip",
        content=base64.b64encode(archive(MEMBERS)).decode(),
        undo=[op("remove", path="C:\\k\\a.zip")],
    ),
    op(
        "unpack",
        archive="C:\\k\\a.zip",
        destination="C:\\k\\out",
        members=[{"from": name, "to": name} for name in ("one", "two")],
        undo=[
            op("remove", path="C:\\k\\out\\one"),
            op("remove", path="C:\\k\\out\\two"),
            op("remove", path="C:\\k\\out", only_if_empty=True),
        ],
    ),
    op("fetch", url="file:///C:/k/f", path="C:\\k\\g", sha256=None, undo=[op("remove", path="C:\\k\\g")]),
    op("write", path="C:\\old", content=content("new"), backup="C:\\k\\kept", undo=[UNDO_OLD]),
    op("move", source_path="C:\\k\\g", to="C:\\k\\h", undo=[op("move", source_path="C:\\k\\h", to="C:\\k\\g")]),
    op("registry_set", path=KEY, name="n", type="string", value="v", undo=[op("registry_remove", path=KEY)]),
    op("remove", path="C:\\k\\a.zip"),
]
"""One of each op that writes to the disk, or looks at what was written."""


@pytest.mark.parametrize("when", ["before", "in", "after"])
@pytest.mark.parametrize("number", range(len(WORK)), ids=[each["op"] for each in WORK])
def test_a_disk_that_fills_in_any_op_of_a_batch_leaves_the_node_as_it_was(
    node: SimulatedNode, session: Session, number: int, when: str
) -> None:
    node.drive.write("C:\\old", b"old")
    node.faults.arm(Fault("disk_full", number, when))  # type: ignore[arg-type]
    first = apply(node, session, envelope(WORK, follow_s=30))
    assert first["answer"] == "accepted", first
    node.faults.disk_full_after = None
    node.clock.advance(121)
    assert not node.drive.exists(f"{STATE_DIR}\\open.json"), "within two minutes of room"
    end = apply(node, session, envelope(kind="follow", batch_id=first["batch"], runner_text=None))
    if (number, when) == (0, "before"):
        assert end["outcome"] == "done", "nothing had begun: it is done when there is room"
        return
    assert end["outcome"] == "undone", end
    assert node.drive.read("C:\\old") == b"old"
    assert not node.drive.exists("C:\\k"), node.drive.listdir("C:\\k")
    assert not node.registry.exists(KEY)
    again = apply(node, session, envelope(WORK, batch_id="b" * 32))
    assert again["outcome"] == "done", again
    assert node.drive.read("C:\\old") == b"new"
    assert node.drive.exists("C:\\k\\h")


def started_within(node: SimulatedNode, seconds: int) -> list[float]:
    """When the runner's task was started, the last time before included; looked at each second."""
    times = set()
    for _ in range(seconds):
        node.clock.advance(1)
        task = node.tasks.get(TASK)
        assert task is not None and task.process is not None
        times.add(task.process.started)
    return sorted(times)


@pytest.mark.parametrize(("seconds", "outcome"), [(300, "done"), (900, "undone")])
@pytest.mark.parametrize(
    "fault", [Fault("disk_full", 0, "before"), Fault("disk_full", 0, "after", "gate")], ids=["nothing", "the gate"]
)
def test_a_batch_that_nothing_or_only_the_gate_is_left_of_is_finished_when_there_is_room(
    node: SimulatedNode, session: Session, fault: Fault, seconds: int, outcome: str
) -> None:
    """Within the batch's time; later it is rolled back."""
    node.faults.arm(replace(fault))
    gate = [wait("service", 5, name="sshd", state="running")]
    first = apply(node, session, envelope([DIR, FILE], gate=gate, follow_s=30))
    assert first["outcome"] == "running", first
    tries = started_within(node, seconds)
    assert node.drive.exists(f"{STATE_DIR}\\open.json")
    assert [round(late - early) for early, late in itertools.pairwise(tries)] == [60] * (len(tries) - 1)
    assert len(tries) >= 5, "each minute"
    node.faults.disk_full_after = None
    node.clock.advance(61)
    assert not node.drive.exists(f"{STATE_DIR}\\open.json")
    end = apply(node, session, envelope(kind="follow", batch_id=first["batch"], runner_text=None))
    assert end["outcome"] == outcome, end
    assert node.drive.exists("C:\\k\\f") is (outcome == "done")
    ended = node.clock.now()
    assert max(started_within(node, 180)) < ended, "and then no more"


def test_a_proxys_page_in_place_of_a_download_is_told_and_nothing_stays(node: SimulatedNode, session: Session) -> None:
    node.network.portal = PAGE
    node.network.hosts["xyz"] = "127.0.0.1:1"
    fetch = op("fetch", url="http://xyz/a.zip", path="C:\\k\\a.zip", sha256="0" * 64, magic=["504b0304"])
    end = apply(node, session, envelope([DIR, fetch]))
    assert end["outcome"] == "undone"
    assert "http://xyz/a.zip" in end["error"]["message"]
    assert not node.drive.exists("C:\\k")


def test_no_patience_is_no_patience(node: SimulatedNode, session: Session) -> None:
    before = node.clock.now()
    answer = apply(node, session, envelope([wait("pipe", 100, name="never")], follow_s=0))
    assert answer["outcome"] == "running"
    assert node.clock.now() - before < 2


@pytest.mark.parametrize("name", ["batches\\aa\\batch.json", "staging\\x"])
def test_nothing_of_others_is_taken_at_any_depth(node: SimulatedNode, session: Session, name: str) -> None:
    """A batch.json with a journal that has begun would be the open batch, and run as SYSTEM; only the first level was
    looked at."""
    node.drive.mkdir(node.drive.parent(f"{STATE_DIR}\\{name}"))
    node.drive.set_sddl(STATE_DIR, "O:BAG:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1301bf;;;BU)")
    node.drive.write(f"{STATE_DIR}\\{name}", b"{}", owner=ANN)
    assert f"{STATE_DIR}\\{name} is owned by {ANN}" in apply(node, session, envelope([DIR]))["reason"]
    node.drive.delete(f"{STATE_DIR}\\{name}")
    node.drive.link(f"{STATE_DIR}\\{name}", "C:\\Windows")
    assert f"{STATE_DIR}\\{name} is a link" in apply(node, session, envelope([DIR]))["reason"]


def test_what_others_put_into_an_open_state_folder_is_refused_their_rights_are_taken(
    node: SimulatedNode, session: Session
) -> None:
    node.drive.mkdir(STATE_DIR)
    node.drive.set_sddl(STATE_DIR, "O:BAG:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1301bf;;;BU)")
    node.drive.write(f"{STATE_DIR}\\runner.ps1", b"mine", owner=ANN)
    refused = apply(node, session, envelope([DIR]))
    assert refused["answer"] == "refused"
    assert f"{STATE_DIR}\\runner.ps1 is owned by {ANN}" in refused["reason"]
    assert not node.drive.exists("C:\\k")
    node.drive.delete(f"{STATE_DIR}\\runner.ps1")
    assert apply(node, session, envelope([DIR]))["outcome"] == "done"
    assert node.drive.sddl(STATE_DIR) == "O:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"
