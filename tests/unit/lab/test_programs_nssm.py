"""nssm.exe 2.24: its registry layout, exit codes, UTF-16 output, throttling."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.lab.machine.builds import build
from tests.lab.machine.node import SimulatedNode
from tests.lab.machine.program import Completed
from tests.lab.machine.service_config import key_of
from tests.lab.twin.node import LabNode
from tests.lab.twin.ops import execute_op

NSSM = "C:\\k\\nssm.exe"
WORKER = "C:\\k\\w.exe"
KEY = f"{key_of('kubelet')}\\Parameters"


@pytest.fixture
def node() -> SimulatedNode:
    node = LabNode("win1")
    node.drive.mkdir("C:\\k")
    node.drive.write(NSSM, build("nssm", "2.24", resource="2.24.0.0"))
    node.drive.write(WORKER, build("worker", "1"))
    return node


def nssm(node: SimulatedNode, *arguments: str) -> Completed:
    return node.run(NSSM, list(arguments))


def said(completed: Completed) -> str:
    return (completed.stdout + completed.stderr).decode("utf-16-le").strip()


def install(node: SimulatedNode, *parameters: str) -> None:
    assert nssm(node, "install", "kubelet", WORKER, *parameters).exit_code == 0


@pytest.mark.parametrize("version", ["2.24", "2.24-101-g897c7ad"])
def test_what_either_build_prints_is_read(node: SimulatedNode, version: str) -> None:
    """Only UTF-16 was; the later build's bytes became Chinese."""
    node.drive.write(NSSM, build("nssm", version, resource="2.24.0.0"))
    done = execute_op(node, "run", {"program": NSSM, "args": ["install", "kubelet", WORKER], "encoding": "utf-16"})
    assert done["stdout"] == 'Service "kubelet" installed successfully!\r\n'
    missing = {"program": NSSM, "args": ["start", "none"], "encoding": "utf-16", "ok_exit": [3]}
    assert "Can't open service!" in execute_op(node, "run", missing)["stderr"]


def test_install_writes_the_measured_layout(node: SimulatedNode) -> None:
    install(node)
    config = node.services.config("kubelet")
    assert (config.image_path, config.start) == (NSSM, 2)
    assert node.registry.text(KEY, "Application") == WORKER
    assert node.registry.text(KEY, "AppDirectory") == "C:\\k"
    assert node.registry.get(f"{KEY}\\AppExit", "") == "Restart"
    again = nssm(node, "install", "kubelet", WORKER)
    assert again.exit_code == 5 and "The specified service already exists." in said(again)


def test_set_joins_arguments_and_loses_their_quotes(node: SimulatedNode) -> None:
    install(node)
    nssm(
        node,
        "set",
        "kubelet",
        "AppParameters",
        '--feature-gates="WinOverlay=true"',
        "--log-dir=C:\\Program Files\\logs",
    )
    value = node.registry.value(KEY, "AppParameters")
    assert value is not None and value.type == "expand_string"
    assert value.data == '--feature-gates="WinOverlay=true" --log-dir=C:\\Program Files\\logs'
    line = '--log-dir="C:\\Program Files\\logs" --x=""'
    nssm(node, "set", "kubelet", "AppParameters", line)
    assert node.registry.text(KEY, "AppParameters") == line
    assert said(nssm(node, "get", "kubelet", "AppParameters")) == line


def test_settings_have_their_types(node: SimulatedNode) -> None:
    install(node)
    nssm(node, "set", "kubelet", "AppEnvironmentExtra", "A=1", "B=2")
    nssm(node, "set", "kubelet", "AppThrottle", "3000")
    nssm(node, "set", "kubelet", "AppExit", "Default", "Exit")
    nssm(node, "set", "kubelet", "DependOnService", "EventLog")
    nssm(node, "set", "kubelet", "Start", "SERVICE_DELAYED_AUTO_START")
    assert node.registry.strings(KEY, "AppEnvironmentExtra") == ["A=1", "B=2"]
    assert node.registry.number(KEY, "AppThrottle") == 3000
    assert node.registry.get(f"{KEY}\\AppExit", "") == "Exit"
    assert node.services.config("kubelet").depends_on == ("EventLog",) and node.services.config("kubelet").delayed
    assert nssm(node, "reset", "kubelet", "AppThrottle").exit_code == 0
    assert node.registry.value(KEY, "AppThrottle") is None
    assert nssm(node, "set", "kubelet", "AppThrottle", "soon").exit_code != 0
    assert nssm(node, "set", "kubelet", "Nonsense", "1").exit_code == 1


def test_the_life_of_a_service(node: SimulatedNode) -> None:
    install(node)
    nssm(node, "set", "kubelet", "AppEnvironmentExtra", "NODE_NAME=win1", "PATH=C:\\tools;%Path%")
    started = nssm(node, "start", "kubelet")
    assert started.exit_code == 0 and said(started) == "kubelet: START: The operation completed successfully."
    assert said(nssm(node, "status", "kubelet")) == "SERVICE_RUNNING"
    (app,) = node.processes.named(["w.exe"])
    assert app.environment["NODE_NAME"] == "win1"
    assert app.environment["Path"] == f"C:\\tools;{node.environment['Path']}" and "PATH" not in app.environment
    parent = node.processes.get(app.parent)
    assert parent is not None and parent.path == NSSM
    assert nssm(node, "start", "kubelet").exit_code == 1
    stopped = nssm(node, "stop", "kubelet")
    assert stopped.exit_code == 0 and not app.alive
    assert nssm(node, "stop", "kubelet").exit_code == 0
    assert nssm(node, "remove", "kubelet", "confirm").exit_code == 0
    assert not node.services.exists("kubelet")
    missing = nssm(node, "status", "kubelet")
    assert missing.exit_code == 3 and "Can't open service!" in said(missing)


def test_an_application_that_ends_at_once_pauses_the_service(node: SimulatedNode) -> None:
    install(node, "--run", "0.2", "--exit", "1")
    started = nssm(node, "start", "kubelet")
    assert started.exit_code == 1
    assert said(started) == "kubelet: Unexpected status SERVICE_PAUSED in response to START control."
    seen: list[str] = []
    starts: list[float] = []
    for _ in range(400):
        node.clock.advance(0.1)
        state = node.services.state("kubelet")
        seen += [state] if seen[-1:] != [state] else []
        starts += [p.started for p in node.processes.named(["w.exe"]) if p.started not in starts]
    assert set(seen) == {"paused", "running"}
    delays = [round(later - earlier) for earlier, later in pairwise(starts)]
    assert delays == sorted(delays) and delays[-1] > delays[0]


def test_an_application_that_dies_later_is_started_again(node: SimulatedNode) -> None:
    install(node)
    nssm(node, "start", "kubelet")
    (app,) = node.processes.named(["w.exe"])
    node.processes.kill(app.pid)
    node.clock.advance(1)
    (again,) = node.processes.named(["w.exe"])
    assert again.pid != app.pid and node.services.state("kubelet") == "running"
    nssm(node, "set", "kubelet", "AppExit", "Default", "Exit")
    node.processes.kill(again.pid)
    node.clock.advance(1)
    assert node.services.state("kubelet") == "stopped" and node.processes.named(["w.exe"]) == []


def test_a_missing_application_stops_the_service(node: SimulatedNode) -> None:
    install(node)
    node.drive.delete(WORKER)
    started = nssm(node, "start", "kubelet")
    assert started.exit_code == 1
    assert said(started) == "kubelet: Unexpected status SERVICE_STOPPED in response to START control."


def test_output_goes_to_the_log_file(node: SimulatedNode) -> None:
    install(node, "--run", "2", "--print", "hello")
    nssm(node, "set", "kubelet", "AppStdout", "C:\\k\\log.txt")
    nssm(node, "start", "kubelet")
    node.clock.advance(1)
    assert node.drive.read("C:\\k\\log.txt") == b"hello"


def test_containerd_runs_under_nssm(node: SimulatedNode) -> None:
    node.drive.write("C:\\k\\containerd.exe", build("containerd", "1.7.11"))
    assert nssm(node, "install", "containerd", "C:\\k\\containerd.exe").exit_code == 0
    nssm(node, "set", "containerd", "AppStderr", "C:\\k\\containerd.log")
    assert nssm(node, "start", "containerd").exit_code == 0
    node.clock.advance(10)
    assert node.pipes.exists("containerd-containerd")
    assert b"successfully booted" in node.drive.read("C:\\k\\containerd.log")
    nssm(node, "stop", "containerd")
    assert not node.pipes.exists("containerd-containerd")
