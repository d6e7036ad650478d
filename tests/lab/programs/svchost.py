"""svchost.exe, judged by memory.

Windows' own service processes: they run until they are asked to stop.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

from tests.lab.machine.program import Caller, Run, text

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode
    from tests.lab.machine.services import ServiceHost


def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
    """From a console it does nothing."""
    yield 0.01
    return text(1)


def serve(
    node: SimulatedNode, argv: list[str], host: ServiceHost, caller: Caller
) -> Generator[float | None, None, int]:
    host.report("running")
    return (yield from host.until_asked_to_stop(0.5))
