"""hcsdiag.exe, judged by memory.

`list`, `read <id> <file>`, `exec <id> <program>`; its texts are field knowledge, unverified.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.lab.machine.program import Caller, Run, crlf, text
from tests.lab.programs import containers

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

_HOSTS = "c:\\windows\\system32\\drivers\\etc\\hosts"


def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
    yield 0.3
    if not caller.elevated:
        return text(5, "", crlf("Access is denied."))
    words = argv[1:]
    if words == ["list"]:
        servers = [process for process in node.processes.all() if containers.FACT in process.facts]
        found = [one for server in servers for one in containers.of(server) if one.status == "RUNNING"]
        return text(0, crlf(*(f"{one.id}\r\n    Windows Server Container, \tRunning, {one.id}" for one in found)))
    if len(words) != 3 or words[0] not in ("read", "exec"):
        return text(1, crlf(f"The lab does not simulate hcsdiag {' '.join(words)}."))
    container = containers.find(node, words[1])
    if container is None or container.status != "RUNNING":
        return text(1, "", crlf("The specified virtual machine or container was not found."))
    if words[0] == "read" and words[2].lower() == _HOSTS:
        return text(0, container.hosts)
    if words[0] == "exec" and words[2] == "ipconfig":
        return text(0, container.ipconfig)
    return text(2, "", crlf("The system cannot find the file specified."))
