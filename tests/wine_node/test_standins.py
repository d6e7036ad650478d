"""What the stand-ins answer, asked without Wine."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any, cast

import pytest

from tests.lab.machine.node import SimulatedNode
from tests.lab.programs.catalogue import PROGRAMS
from tests.wine_node.machine import Machine
from tests.wine_node.standins import StandIns

XML = """<Task xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <Triggers><BootTrigger><Enabled>true</Enabled></BootTrigger>
    <TimeTrigger><Repetition><Interval>PT1M</Interval></Repetition></TimeTrigger></Triggers>
  <Settings><Enabled>false</Enabled><ExecutionTimeLimit>PT3H</ExecutionTimeLimit></Settings>
  <Actions><Exec><Command>C:\\Windows\\System32\\sc.exe</Command><Arguments>query sshd</Arguments></Exec></Actions>
</Task>"""
NOT_FOUND = (0x80070002 - (1 << 32), "n", "")


class Node(SimulatedNode):
    programs = PROGRAMS


@pytest.fixture
def stand_ins() -> Iterator[StandIns]:
    with StandIns(cast(Machine, Node("win1"))) as server:
        yield server
        server.shutdown()


def ask(server: StandIns, **question: Any) -> str:
    host, port = server.address.split(":")
    with socket.create_connection((host, int(port)), 30) as connection:
        connection.sendall(json.dumps(question).encode() + b"\n")
        return b"".join(iter(lambda: connection.recv(65536), b"")).decode()


def com(server: StandIns, number: int, member: str, *arguments: object, put: bool = False) -> tuple[int, str, str]:
    code, kind, value = ask(server, com=number, member=member, put=put, arguments=arguments).split("\n")[:3]
    return int(code), kind, value


def test_a_program_of_windows_is_the_labs(stand_ins: StandIns) -> None:
    said = json.loads(ask(stand_ins, program="sc", arguments=["query", "nobody"]))
    assert said["exit"] == 1060
    assert stand_ins.calls == {"sc": 1}


def test_a_task_is_registered_enabled_and_run(stand_ins: StandIns) -> None:
    assert com(stand_ins, 0, "Connect") == (0, "n", "")
    assert com(stand_ins, 0, "GetFolder", "\\winkube") == NOT_FOUND
    assert com(stand_ins, 0, "GetFolder", "\\") == (0, "o", "1 ITaskFolder")
    assert com(stand_ins, 1, "CreateFolder", "winkube") == (0, "o", "2 ITaskFolder")
    assert com(stand_ins, 2, "GetTask", "runner") == NOT_FOUND
    assert com(stand_ins, 2, "RegisterTask", "runner", XML, 6, "SYSTEM", None, 5) == (0, "o", "3 IRegisteredTask")
    assert com(stand_ins, 3, "Enabled") == (0, "b", "0")
    assert com(stand_ins, 3, "State") == (0, "i", "1")
    assert com(stand_ins, 3, "Enabled", True, put=True) == (0, "n", "")
    assert com(stand_ins, 3, "Run", None)[:2] == (0, "o")
    assert com(stand_ins, 3, "State") == (0, "i", "4")
    assert com(stand_ins, 3, "xml") == (0, "s", XML.replace("\\", "\\\\").replace("\n", "\\n"))
    assert com(stand_ins, 3, "Nonsense") == (-2147352573, "n", "")
    assert com(stand_ins, 0, "GetFolder", "\\WINKUBE")[:2] == (0, "o")


def test_a_class_of_cim_that_is_not_there_is_an_error(stand_ins: StandIns) -> None:
    asked = {"what": "query", "namespace": "root/cimv2", "query": "", "class": "Win32_Processor", "filter": ""}
    assert json.loads(ask(stand_ins, cim=asked)) == {"error": "Invalid class Win32_Processor"}
    assert stand_ins.calls == {"Win32_Processor": 1}
