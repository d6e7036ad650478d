"""powershell.exe, judged by memory.

It runs the runner that the scheduled task names, and nothing else (sessions go through the lab's server).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.lab.machine.program import Caller, Run, text
from tests.lab.twin.runner import run
from tests.lab.twin.state import StateFolder
from tests.lab.twin.task import runner_of

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode


def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
    yield 0.5
    script = runner_of(argv[1:])
    if script is None:
        return text(1, "", "The lab's powershell.exe runs only the runner of the state folder.\r\n")
    folder = StateFolder(node, node.drive.parent(script))
    folder.note_start()
    refusal = node.faults.runner_refused
    if not node.drive.is_file(script):
        refusal = f"Could not find file '{script}'."
    if refusal:
        folder.note_error(refusal)
        return text(1, "", f"{refusal}\r\n")
    code = yield from run(node, folder.path, caller.process)
    return text(code)
