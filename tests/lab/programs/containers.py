"""containerd.exe's containers, judged by memory.

The containers that a simulated containerd runs: each a process of the machine, with files and adapters.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode
    from tests.lab.machine.processes import Process

FACT = "containers"
"""Of containerd's process: what a client is told, gone with it."""


@dataclass(frozen=True)
class Container:
    """`cores` is what it uses all the time, `hosts` its hosts file, `ipconfig` what that program prints in it;
    `container` is empty for a sandbox."""

    id: str
    pid: int
    namespace: str
    pod: str
    container: str = ""
    status: str = "RUNNING"
    cores: float = 0.0
    hosts: str = ""
    ipconfig: str = ""

    @property
    def labels(self) -> dict[str, str]:
        """As the kubelet gives them."""
        named = {"io.kubernetes.pod.namespace": self.namespace, "io.kubernetes.pod.name": self.pod}
        return named | ({"io.kubernetes.container.name": self.container} if self.container else {})


def of(server: Process) -> list[Container]:
    """The containers of this containerd."""
    return [Container(**one) for one in json.loads(server.facts.get(FACT, "[]"))]


def add(server: Process, container: Container) -> None:
    """From now on it has this one, too."""
    put(server, [*of(server), container])


def put(server: Process, containers: list[Container]) -> None:
    """These are the ones it has."""
    server.facts[FACT] = json.dumps([asdict(one) for one in containers])


def find(node: SimulatedNode, identity: str) -> Container | None:
    """A container of this id in any containerd of the machine, as HCS knows it."""
    servers = (process for process in node.processes.all() if FACT in process.facts)
    return next((one for server in servers for one in of(server) if one.id == identity), None)
