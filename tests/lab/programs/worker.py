"""A program for tests: `worker.exe [--run SECONDS] [--exit CODE] [--print TEXT] [--stderr TEXT] [--env NAME] [--echo]
[--hold FILE [--shared]]`.

Without `--run` it runs until it is killed. `--echo` prints its standard input, `--env` a variable, `--args` its
arguments.
As a service it reports RUNNING, and after `--run` seconds ends without a word; with `--hold` it has a file open, which
others may delete if `--shared`.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

from tests.lab.machine.program import Caller, Completed, Run

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode
    from tests.lab.machine.services import ServiceHost


def _option(argv: list[str], name: str) -> str | None:
    return argv[argv.index(name) + 1] if name in argv[:-1] else None


def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
    out = (_option(argv, "--print") or "").encode()
    if "--args" in argv:
        out += "\n".join(argv[1:]).encode()
    if "--echo" in argv:
        out += stdin
    name = _option(argv, "--env")
    if name is not None:
        out += caller.environment.get(name, "").encode()
    seconds = _option(argv, "--run")
    while seconds is None:
        yield None
    yield float(seconds)
    return Completed(int(_option(argv, "--exit") or 0), out, (_option(argv, "--stderr") or "").encode())


def serve(
    node: SimulatedNode, argv: list[str], host: ServiceHost, caller: Caller
) -> Generator[float | None, None, int]:
    file = _option(argv, "--hold")
    if file is not None:
        close = node.drive.hold(file, caller.process.pid, shared="--shared" in argv)
        caller.process.on_exit.append(lambda _: close())
    host.report("running")
    seconds = _option(argv, "--run")
    end = None if seconds is None else node.clock.now() + float(seconds)
    while not host.stop_requested:
        if end is None:
            yield None
        elif node.clock.now() >= end:
            return int(_option(argv, "--exit") or 0)
        else:
            yield end - node.clock.now()
    slow = node.faults.take_service(host.name, "slow_stop")
    yield slow.seconds if slow else 0.2
    host.stopped()
    yield 0.3
    return 0
