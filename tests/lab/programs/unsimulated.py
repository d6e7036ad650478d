"""Programs that are there on a Windows machine and that the lab does not know: they say so and fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.lab.machine.program import Caller, Run, text

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode


def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
    yield 0.01
    return text(1, "", f"The lab does not simulate {argv[0]} with the arguments {argv[1:]}.\r\n")
