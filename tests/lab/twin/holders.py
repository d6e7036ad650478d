"""Which processes run a file, as the scripts can tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode


def holders(node: SimulatedNode, path: str) -> list[int]:
    """Pids whose main module is this file: Windows tells the name under which a program was started, and what was
    renamed since is found under neither name.
    """
    wanted = node.drive.normal(path).lower()
    found = [node.processes.get(pid) for pid in node.drive.holders(path)]
    return [process.pid for process in found if process and node.drive.normal(process.path).lower() == wanted]
