"""sc.exe: argument lists, exit codes and texts (windows.md, what the simulator must reproduce, items 1 to 5)."""

from __future__ import annotations

import pytest

from tests.lab.machine.builds import build
from tests.lab.machine.node import SimulatedNode
from tests.lab.machine.service_config import key_of
from tests.lab.twin.node import LabNode

SC = "C:\\Windows\\System32\\sc.exe"
WORKER = "C:\\k\\w.exe"


@pytest.fixture
def node() -> SimulatedNode:
    node = LabNode("win1")
    node.drive.mkdir("C:\\k")
    node.drive.write(WORKER, build("worker", "1"))
    return node


def sc(node: SimulatedNode, *arguments: str) -> tuple[int, str]:
    completed = node.run(SC, list(arguments))
    return completed.exit_code, completed.stdout.decode("ascii")


def text(call: str, code: int, message: str) -> str:
    return f"[SC] {call} FAILED {code}:\r\n\r\n{message}\r\n\r\n"


def test_create_stores_what_it_is_given(node: SimulatedNode) -> None:
    line = f'"{WORKER}" --windows-service --log-dir="C:\\k\\logs"'
    arguments = (
        "create",
        "kubelet",
        "binPath=",
        line,
        "start=",
        "auto",
        "depend=",
        "EventLog/Dhcp",
        "DisplayName=",
        "Kubelet",
    )
    assert sc(node, *arguments) == (0, "[SC] CreateService SUCCESS\r\n")
    value = node.registry.value(key_of("kubelet"), "ImagePath")
    assert value is not None and (value.type, value.data) == ("expand_string", line)
    config = node.services.config("KUBELET")
    assert (config.start, config.type, config.account) == (2, 0x10, "LocalSystem")
    assert config.depends_on == ("EventLog", "Dhcp") and config.display_name == "Kubelet"


@pytest.mark.parametrize(
    "arguments",
    [
        ("create", "x", "binPath=C:\\k\\w.exe"),
        ("create", "x", "binPath="),
        ("create", "x", "binPath=", WORKER, "start=", "soon"),
        ("create", "x"),
        ("failure", "x", "reset=", "1"),
        ("failureflag", "x", "2"),
        ("config", "x", "binPath=C:\\y"),
    ],
)
def test_a_value_needs_its_blank_and_its_name(node: SimulatedNode, arguments: tuple[str, ...]) -> None:
    code, said = sc(node, *arguments)
    assert code == 1639 and "USAGE:" in said
    assert not node.services.exists("x")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (
            ("create", "EventLog", "binPath=", WORKER),
            1073,
            text("CreateService", 1073, "The specified service already exists."),
        ),
        (("create", "new", "binPath=", WORKER, "DisplayName=", "DHCP Client"), 1078, "[SC] CreateService FAILED 1078:"),
        (("start", "none"), 1060, "The specified service does not exist as an installed service."),
        (("stop", "none"), 1060, "[SC] OpenService FAILED 1060:"),
        (("delete", "none"), 1060, "[SC] OpenService FAILED 1060:"),
        (("query", "none"), 1060, "[SC] EnumQueryServicesStatus:OpenService FAILED 1060:"),
        (("config", "none", "start=", "auto"), 1060, "[SC] OpenService FAILED 1060:"),
        (("failure", "none", "reset=", "1", "actions=", "restart/1"), 1060, "[SC] OpenService FAILED 1060:"),
        (("start", "EventLog"), 1056, text("StartService", 1056, "An instance of the service is already running.")),
        (("stop", "TermService"), 1062, text("ControlService", 1062, "The service has not been started.")),
        (("stop", "BFE"), 1051, "[SC] ControlService FAILED 1051:"),
    ],
)
def test_errors(node: SimulatedNode, arguments: tuple[str, ...], code: int, said: str) -> None:
    result = sc(node, *arguments)
    assert result[0] == code and said in result[1]


def test_config_failure_failureflag_description(node: SimulatedNode) -> None:
    sc(node, "create", "w", "binPath=", WORKER)
    assert sc(node, "config", "w", "start=", "delayed-auto", "depend=", "Dhcp")[0] == 0
    assert node.services.config("w").delayed and node.services.config("w").depends_on == ("Dhcp",)
    assert sc(node, "config", "w", "depend=", "/")[0] == 0
    assert node.services.config("w").depends_on == ()
    actions = ("failure", "w", "reset=", "86400", "actions=", "restart/15000/restart/15000//0")
    assert sc(node, *actions) == (0, "[SC] ChangeServiceConfig2 SUCCESS\r\n")
    found = node.services.config("w").failure
    assert found is not None
    assert (found.reset_s, found.actions) == (86400, (("restart", 15000), ("restart", 15000), ("none", 0)))
    assert sc(node, "failureflag", "w", "1")[0] == 0 and node.services.config("w").non_crash
    assert sc(node, "description", "w", "a worker")[0] == 0
    assert node.registry.text(key_of("w"), "Description") == "a worker"


def test_query_prints_the_state_as_sc_does(node: SimulatedNode) -> None:
    assert "        STATE              : 4  RUNNING \r\n" in sc(node, "query", "EventLog")[1]
    code, said = sc(node, "qc", "sshd")
    assert code == 0 and "BINARY_PATH_NAME   : C:\\Windows\\System32\\OpenSSH\\sshd.exe" in said


def test_without_elevation_nothing_is_changed(node: SimulatedNode) -> None:
    plain = node.open_session("bob", elevated=False)
    completed = node.run(SC, ["create", "w", "binPath=", WORKER], session=plain)
    assert completed.exit_code == 5 and b"[SC] OpenSCManager FAILED 5:" in completed.stdout
    assert node.run(SC, ["query", "EventLog"], session=plain).exit_code == 0
    assert not node.services.exists("w")
