"""A wait that ends with a service, and the service control manager, which may start that again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.lab.machine.builds import build
from tests.lab.machine.node import SimulatedNode
from tests.lab.machine.service_config import FailureActions
from tests.lab.twin.node import LabNode
from tests.lab.twin.ops import execute_op

WORKER = "C:\\Program Files\\w\\w.exe"
WAIT = {"for": "service", "name": "w", "state": "running", "stable_s": 20, "ends_with": "w", "timeout_s": 120}
AGAIN = FailureActions(86400, (("restart", 15000),))


@pytest.fixture
def node() -> SimulatedNode:
    node = LabNode("win1")
    node.drive.mkdir("C:\\Program Files\\w")
    node.drive.write(WORKER, build("worker", "1"))
    node.services.create("w", f'"{WORKER}" --run 1000000')
    return node


def crash(node: SimulatedNode, at_s: float) -> None:
    node.clock.call_later(at_s, lambda: node.processes.kill(node.services.runtime("w").pid))


def waited(node: SimulatedNode) -> tuple[dict[str, Any], float]:
    assert node.run("C:\\Windows\\System32\\sc.exe", ["start", "w"]).exit_code == 0
    crash(node, 5)
    began = node.clock.now()
    return execute_op(node, "wait", WAIT), node.clock.now() - began


def test_one_that_is_started_again_in_a_moment_has_not_ended(node: SimulatedNode) -> None:
    """As the kubelet, which ends at boot until containerd's pipe is there: the batch was rolled back."""
    node.services.set_failure("w", AGAIN)
    assert waited(node)[0] == {"changed": False}


def test_one_that_stops_with_an_error_is_started_again_too_where_that_is_set(node: SimulatedNode) -> None:
    """`sc.exe failureflag`: the twin took it for one that had ended for good."""
    node.services.set_failure("w", AGAIN)
    node.services.change("w", "FailureActionsOnNonCrashFailures", "dword", 1)
    assert node.run("C:\\Windows\\System32\\sc.exe", ["start", "w"]).exit_code == 0
    runtime = node.services.runtime("w")
    host, pid = runtime.host, runtime.pid
    assert host is not None
    node.clock.call_later(5, lambda: node.services.reported(host, "stopped", 1))
    node.clock.call_later(6, lambda: node.processes.kill(pid))
    assert execute_op(node, "wait", WAIT) == {"changed": False}


def test_one_that_ends_twice_has(node: SimulatedNode) -> None:
    node.services.set_failure("w", AGAIN)
    crash(node, 25)
    failed, seconds = waited(node)
    assert "it is stopped, its exit code 1067" in failed["failed"] and seconds < 40


@pytest.mark.parametrize("failure", [None, FailureActions(86400, (("none", 0),))])
def test_one_that_nobody_starts_again_has(node: SimulatedNode, failure: FailureActions | None) -> None:
    if failure is not None:
        node.services.set_failure("w", failure)
    failed, seconds = waited(node)
    assert "it is stopped, its exit code 1067" in failed["failed"] and seconds < 10


STRICT = {**WAIT, "ends_with_program": WORKER}


def test_the_first_end_counts_where_the_program_is_named(node: SimulatedNode) -> None:
    """A build that crashes was waited for as if its restart could make it better."""
    node.services.set_failure("w", AGAIN)
    assert node.run("C:\\Windows\\System32\\sc.exe", ["start", "w"]).exit_code == 0
    crash(node, 5)
    began = node.clock.now()
    failed = execute_op(node, "wait", STRICT)
    assert "w.exe has ended, its exit code 1" in failed["failed"]
    assert node.clock.now() - began < 7


def test_another_process_of_the_program_may_end(node: SimulatedNode) -> None:
    """Such as one that only said its version."""
    assert node.run("C:\\Windows\\System32\\sc.exe", ["start", "w"]).exit_code == 0
    other, _result = node.start_program(WORKER, ["--run", "3"])
    assert execute_op(node, "wait", STRICT) == {"changed": False}
    assert not other.alive
