"""The scheduled task that starts the runner."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING

from tests.lab.machine.tasks import Task

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

PATH = "\\winkube\\runner"
POWERSHELL = "C:\\Windows\\System32\\WindowsPowerShell\\v1.0\\powershell.exe"
_SCRIPT = re.compile(r"ReadAllText\('(?P<path>(?:[^']|'')+)'\)")


def command(state_dir: str) -> list[str]:
    """PowerShell's arguments: an encoded command that reads the runner and runs it, whatever the execution policy."""
    path = f"{state_dir}\\runner.ps1".replace("'", "''")
    script = f"& ([ScriptBlock]::Create([IO.File]::ReadAllText('{path}')))"
    return ["-NoProfile", "-NonInteractive", "-EncodedCommand", base64.b64encode(script.encode("utf-16-le")).decode()]


def runner_of(arguments: list[str]) -> str | None:
    """The runner's path that such arguments name; None for others."""
    if "-EncodedCommand" not in arguments[:-1]:
        return None
    encoded = arguments[arguments.index("-EncodedCommand") + 1]
    try:
        found = _SCRIPT.search(base64.b64decode(encoded).decode("utf-16-le"))
    except ValueError:
        return None
    return found["path"].replace("''", "'") if found else None


def enable(node: SimulatedNode, state_dir: str) -> None:
    """Makes the task as it has to be, enabled: on demand, at startup, each minute, one instance."""
    task = node.tasks.get(PATH)
    arguments = command(state_dir)
    if task is None or task.arguments != arguments or task.program != POWERSHELL:
        node.tasks.register(Task(PATH, POWERSHELL, arguments, at_boot=True, repeat_s=60.0, time_limit_s=4 * 3600.0))
    else:
        node.tasks.enable(PATH, True)


def disable(node: SimulatedNode) -> None:
    if node.tasks.get(PATH) is not None:
        node.tasks.enable(PATH, False)


def will_run(node: SimulatedNode, state_dir: str) -> bool:
    """Whether the task is there and starts this folder's runner. One that is disabled is enabled and started."""
    task = node.tasks.get(PATH)
    if task is None or task.arguments != command(state_dir):
        return False
    if not task.enabled:
        node.tasks.enable(PATH, True)
        node.tasks.run(PATH)
    return True
