"""The service control manager: states, errors, dependencies, failure actions, deletion."""

from __future__ import annotations

import pytest

from tests.lab.machine.builds import build
from tests.lab.machine.faults import ServiceFault
from tests.lab.machine.node import SimulatedNode
from tests.lab.machine.service_config import FailureActions, key_of
from tests.lab.twin.node import LabNode

SC = "C:\\Windows\\System32\\sc.exe"
WORKER = "C:\\Program Files\\w\\w.exe"


@pytest.fixture
def node() -> SimulatedNode:
    node = LabNode("win1")
    node.drive.mkdir("C:\\Program Files\\w")
    node.drive.write(WORKER, build("worker", "1"))
    node.services.create("w", f'"{WORKER}" --run 1000000')
    return node


def sc(node: SimulatedNode, *arguments: str) -> int:
    return node.run(SC, list(arguments)).exit_code


def test_start_stop_and_their_errors(node: SimulatedNode) -> None:
    assert sc(node, "stop", "w") == 1062
    assert sc(node, "start", "w") == 0
    assert node.services.state("w") == "running"
    assert sc(node, "start", "w") == 1056
    assert sc(node, "stop", "w") == 0
    assert node.services.state("w") == "stop_pending"
    assert sc(node, "stop", "w") == 1061
    node.clock.advance(5)
    assert node.services.state("w") == "stopped"
    node.services.change("w", "Start", "dword", 4)
    assert sc(node, "start", "w") == 1058
    assert sc(node, "start", "nobody") == 1060


def test_the_program_is_held_longer_than_the_service_runs(node: SimulatedNode) -> None:
    sc(node, "start", "w")
    node.services.stop("w")
    while node.services.state("w") != "stopped":
        node.clock.advance(0.05)
    assert node.drive.holders(WORKER)
    node.clock.advance(1)
    assert not node.drive.holders(WORKER)


@pytest.mark.parametrize(("kind", "takes"), [("never_answers", 30.0), ("crash_at_start", 1.0)])
def test_no_answer_is_1053(node: SimulatedNode, kind: str, takes: float) -> None:
    node.faults.service("w", ServiceFault(kind))  # type: ignore[arg-type]
    completed = node.run(SC, ["start", "w"])
    assert completed.exit_code == 1053
    assert (completed.seconds >= 30) == (takes >= 30)
    assert b"[SC] StartService FAILED 1053:\r\n\r\nThe service did not respond to the start or control request" in (
        completed.stdout
    )
    assert node.services.state("w") == "stopped" and not node.drive.holders(WORKER)


def test_dependencies_start_first_and_hold_back_a_stop(node: SimulatedNode) -> None:
    node.services.create("d", f'"{WORKER}" --run 1000000', depends_on=["w"])
    assert sc(node, "start", "d") == 0
    assert node.services.state("w") == "running"
    assert sc(node, "stop", "w") == 1051
    sc(node, "stop", "d")
    node.clock.advance(5)
    sc(node, "stop", "w")
    node.clock.advance(5)
    node.faults.service("w", ServiceFault("never_answers"))
    assert sc(node, "start", "d") == 1068
    assert node.services.state("d") == "stopped"


def test_a_failed_dependency_at_boot_leaves_the_dependant_down(node: SimulatedNode) -> None:
    node.services.change("w", "Start", "dword", 2)
    node.services.create("d", f'"{WORKER}" --run 1000000', start=2, depends_on=["w"])
    node.services.set_failure("d", FailureActions(60, (("restart", 1000),)))
    node.faults.service("w", ServiceFault("never_answers"))
    node.restart()
    node.clock.advance(300)
    assert node.services.state("d") == "stopped"
    assert node.services.runtime("d").exit_code == 1068


def test_failure_actions_run_on_a_crash_in_their_row(node: SimulatedNode) -> None:
    node.services.set_failure("w", FailureActions(86400, (("restart", 15000), ("restart", 15000), ("none", 0))))
    sc(node, "start", "w")
    for _ in range(2):
        node.processes.kill(node.services.runtime("w").pid)
        assert (node.services.state("w"), node.services.runtime("w").exit_code) == ("stopped", 1067)
        node.clock.advance(14)
        assert node.services.state("w") == "stopped"
        node.clock.advance(2)
        assert node.services.state("w") == "running"
    node.processes.kill(node.services.runtime("w").pid)
    node.clock.advance(600)
    assert node.services.state("w") == "stopped"


def test_the_count_of_failures_starts_anew_after_the_reset_time(node: SimulatedNode) -> None:
    node.services.set_failure("w", FailureActions(100, (("restart", 1000), ("none", 0))))
    sc(node, "start", "w")
    for _ in range(3):
        node.processes.kill(node.services.runtime("w").pid)
        node.clock.advance(2)
        assert node.services.state("w") == "running"
        node.clock.advance(100)


def test_an_orderly_stop_is_no_failure(node: SimulatedNode) -> None:
    node.services.set_failure("w", FailureActions(100, (("restart", 1000),)))
    sc(node, "start", "w")
    sc(node, "stop", "w")
    node.clock.advance(60)
    assert node.services.state("w") == "stopped"


def test_deleting_waits_for_the_stop_and_the_last_handle(node: SimulatedNode) -> None:
    sc(node, "start", "w")
    node.services.open_handle("w")
    assert sc(node, "delete", "w") == 0
    assert node.registry.number(key_of("w"), "DeleteFlag") == 1
    assert sc(node, "delete", "w") == 1072
    assert sc(node, "create", "w", "binPath=", WORKER) == 1072
    sc(node, "stop", "w")
    node.clock.advance(5)
    assert node.services.exists("w")
    node.services.close_handle("w")
    assert not node.services.exists("w")
    assert sc(node, "create", "w", "binPath=", WORKER) == 0


def test_an_image_path_without_quotes_is_cut_at_its_blanks(node: SimulatedNode) -> None:
    node.services.create("u", f"{WORKER} --run 5")
    assert sc(node, "start", "u") == 0
    node.drive.write("C:\\Program.exe", b"no program")
    node.services.create("v", f"{WORKER} --run 5")
    assert sc(node, "start", "v") == 193


def test_a_missing_program_is_error_2(node: SimulatedNode) -> None:
    node.services.create("m", "C:\\nowhere\\m.exe")
    assert sc(node, "start", "m") == 2
    assert node.services.state("m") == "stopped"


def test_a_program_for_another_processor_is_error_216(node: SimulatedNode) -> None:
    node.drive.write("C:\\arm.exe", build("worker", "1", arch="arm64"))
    node.services.create("a", "C:\\arm.exe")
    assert sc(node, "start", "a") == 216


def test_failure_actions_in_the_registry_are_the_scms_own_bytes() -> None:
    actions = FailureActions(86400, (("restart", 15000), ("restart", 15000), ("none", 0)))
    assert actions.encode().hex() == (
        "805101000000000000000000030000001400000001000000983a000001000000983a00000000000000000000"
    )
    assert FailureActions.decode(actions.encode()) == actions
    assert FailureActions.decode(b"short") is None


def test_a_service_gets_its_own_environment(node: SimulatedNode) -> None:
    node.services.change("w", "Environment", "multi_string", ["NODE_NAME=win1"])
    sc(node, "start", "w")
    process = node.processes.get(node.services.runtime("w").pid)
    assert process is not None and process.environment["NODE_NAME"] == "win1"
