"""halt: what is stuck is ended, what depends on it comes first, and what failed once is not tried again."""

from __future__ import annotations

import pytest

from tests.lab.machine.builds import build
from tests.lab.machine.faults import ServiceFault
from tests.lab.machine.node import SimulatedNode
from tests.lab.twin.node import LabNode
from tests.lab.twin.ops import execute_op
from tests.lab.twin.submit import apply, envelope, op

SC = "C:\\Windows\\System32\\sc.exe"
EXE = "C:\\k\\w.exe"


@pytest.fixture
def node() -> SimulatedNode:
    made = LabNode("win1")
    made.drive.mkdir("C:\\k")
    made.drive.write(EXE, build("worker", "1"))
    for name in ("a", "b"):
        made.services.create(name, f'"{EXE}" --run 1000000', start=3)
    return made


def start(node: SimulatedNode, name: str) -> None:
    node.run(SC, ["start", name])
    node.clock.advance(5)


def windows_own(node: SimulatedNode) -> None:
    """A service `w` of a program in the Windows folder that does not stop."""
    node.drive.write("C:\\Windows\\w.exe", build("worker", "1"))
    node.services.create("w", '"C:\\Windows\\w.exe" --run 1000000', start=3)
    node.faults.service("w", ServiceFault("slow_stop", 100_000))
    start(node, "w")


def test_what_depends_on_it_goes_first(node: SimulatedNode) -> None:
    node.services.change("b", "DependOnService", "multi_string", ["a"])
    start(node, "b")
    assert (node.services.state("a"), node.services.state("b")) == ("running", "running")
    assert execute_op(node, "halt", {"name": "a", "timeout_s": 60}) == {"changed": True}
    assert (node.services.state("a"), node.services.state("b")) == ("stopped", "stopped")
    assert execute_op(node, "halt", {"name": "a", "timeout_s": 60}) == {"changed": False}


@pytest.mark.parametrize(("kind", "within"), [("slow_start", 40), ("slow_stop", 80)])
def test_what_is_stuck_is_ended(node: SimulatedNode, kind: str, within: float) -> None:
    """Windows takes no order for a service in START_PENDING: it was asked for the whole time, and then given up."""
    node.faults.service("a", ServiceFault(kind, 100_000))  # type: ignore[arg-type]
    start(node, "a")
    began = node.clock.now()
    assert execute_op(node, "halt", {"name": "a", "timeout_s": 60}) == {"changed": True}
    assert node.clock.now() - began < within
    assert node.services.state("a") == "stopped"
    assert node.processes.named(["w.exe"]) == []
    assert node.counters.programs["sc"] < 10


def test_what_waits_for_its_dependant_is_not_ended_for_that(node: SimulatedNode) -> None:
    node.services.change("b", "DependOnService", "multi_string", ["a"])
    node.faults.service("b", ServiceFault("slow_stop", 50))
    start(node, "b")
    assert execute_op(node, "halt", {"name": "a", "timeout_s": 120}) == {"changed": True}
    assert node.services.runtime("a").exit_code == node.services.runtime("b").exit_code == 0


def test_a_program_of_windows_own_is_left_alone_and_told(node: SimulatedNode) -> None:
    windows_own(node)
    found = execute_op(node, "halt", {"name": "w", "timeout_s": 5})
    assert "The service w did not stop within" in found["failed"]
    assert node.processes.named(["w.exe"]), "it is not ended"


def test_what_failed_once_is_not_tried_again_in_the_next_list(node: SimulatedNode) -> None:
    windows_own(node)
    undo = [{"op": "halt", "args": {"name": "w", "timeout_s": 60}}]
    ops = [op("mkdir", undo=undo, path=f"C:\\k\\{number}") for number in range(8)]
    began = node.clock.now()
    answer = apply(node, node.open_session(), envelope([*ops, op("move", source_path="C:\\none", to="C:\\k\\x")]))
    assert answer["outcome"] == "undo_failed", answer
    assert len(answer["error"]["undo"]) == 8
    assert node.clock.now() - began < 150, "once two minutes, not eight times"
