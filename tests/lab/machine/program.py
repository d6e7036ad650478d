"""What a program of the lab gets and gives."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode
    from tests.lab.machine.processes import Process
    from tests.lab.machine.services import ServiceHost


@dataclass(frozen=True)
class Completed:
    """seconds: how long it took on the node's clock."""

    exit_code: int
    stdout: bytes = b""
    stderr: bytes = b""
    seconds: float = 0.0


def _nowhere(line: str) -> None:
    """Discards a line."""


@dataclass(frozen=True)
class Caller:
    """Who runs a program: its process, user and rights; cwd and environment as the program sees them."""

    process: Process
    user: str
    elevated: bool
    cwd: str = "C:\\Windows\\System32"
    environment: dict[str, str] = field(default_factory=dict)
    log: Callable[[str], None] = _nowhere
    """Where its standard error goes while it runs: a service wrapper may keep it."""


Run = Generator[float | None, None, Completed]
"""Yields the seconds it sleeps (None: until woken); returns what became of it."""
Main = Callable[["SimulatedNode", list[str], bytes, Caller], Run]
"""A console program: node, argv (its own path first), stdin, caller."""
Serve = Callable[["SimulatedNode", list[str], "ServiceHost", Caller], Generator[float | None, None, int]]
"""A program that the service control manager has started."""


def text(exit_code: int, stdout: str = "", stderr: str = "", encoding: str = "utf-8") -> Completed:
    return Completed(exit_code, stdout.encode(encoding), stderr.encode(encoding))


def crlf(*lines: str) -> str:
    return "".join(f"{line}\r\n" for line in lines)
