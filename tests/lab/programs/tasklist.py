"""tasklist.exe, judged by memory.

tasklist.exe `/V /FO CSV /NH`: one line a process. CPU time is the time since its start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.lab.machine.program import Caller, Run, crlf, text

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode


def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
    yield 0.5
    if [word.upper() for word in argv[1:]] != ["/V", "/FO", "CSV", "/NH"]:
        return text(1, "", crlf(f"The lab does not simulate tasklist {' '.join(argv[1:])}."))
    lines = []
    for process in node.processes.all():
        seconds = int(node.clock.now() - process.started)
        spent = f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        row = (process.name, str(process.pid), "Services", "0", "8,192 K", "Unknown", process.user, spent, "N/A")
        lines.append(",".join(f'"{field}"' for field in row))
    return text(0, crlf(*lines))
