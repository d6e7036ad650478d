"""Stand-ins for programs of a node, for tests of one role without a cluster: they start, and look at nothing."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Generator
from typing import Any

import pytest

from tests.lab.machine.node import SimulatedNode
from tests.lab.machine.program import Caller, Completed, Main, Run, Serve, text
from tests.lab.machine.services import ServiceHost
from tests.lab.programs import worker
from tests.lab.programs.catalogue import PROGRAMS


def healthy_at(monkeypatch: pytest.MonkeyPatch, name: str, port: int) -> None:
    """`name`.exe runs until it is stopped and answers 200 on `/healthz` at `port`."""

    def listen(node: SimulatedNode, caller: Caller) -> None:
        node.network.listen(port, caller.process.pid, lambda path: (200, b"ok"))

    def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
        listen(node, caller)
        return (yield from worker.main(node, argv, stdin, caller))

    def serve(
        node: SimulatedNode, argv: list[str], host: ServiceHost, caller: Caller
    ) -> Generator[float | None, None, int]:
        listen(node, caller)
        return (yield from worker.serve(node, argv, host, caller))

    put(monkeypatch, name, (main, serve))


def host_local(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """host-local.exe as of the CNI plugins, one range; the list gets each command that it was called with."""
    commands: list[str] = []

    def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
        yield 0.0
        variables = caller.environment
        commands.append(variables["CNI_COMMAND"])
        request: dict[str, Any] = json.loads(stdin)
        folder = f"{request['ipam']['dataDir']}\\{request['name']}"
        node.drive.mkdir(folder)
        mine = f"{variables['CNI_CONTAINERID']}\r\n{variables['CNI_IFNAME']}".encode()
        taken = {name: node.drive.read(f"{folder}\\{name}") for name in node.drive.listdir(folder)}
        if variables["CNI_COMMAND"] == "DEL":
            for name in (name for name, owner in taken.items() if owner == mine):
                node.drive.delete(f"{folder}\\{name}")
            return Completed(0)
        network = ipaddress.ip_network(request["ipam"]["ranges"][0][0]["subnet"])
        if any(owner == mine and ipaddress.ip_address(name) in network for name, owner in taken.items()):
            return text(1, '{"code": 999, "msg": "duplicate allocation is not allowed"}')
        _gateway, *free = network.hosts()
        address = next(str(each) for each in free if str(each) not in taken)
        node.drive.write(f"{folder}\\{address}", mine)
        return text(0, json.dumps({"cniVersion": "0.2.0", "ip4": {"ip": f"{address}/{network.prefixlen}"}}))

    put(monkeypatch, "host-local", (main, None))
    return commands


def put(monkeypatch: pytest.MonkeyPatch, name: str, program: tuple[Main, Serve | None]) -> None:
    """The program of this name, for this test."""
    monkeypatch.setitem(PROGRAMS, name, program)
