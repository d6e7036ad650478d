"""kubelet.exe, kube-proxy.exe, flanneld.exe, judged by kubernetes v1.37.1 pkg/windows/service/service.go.

What kubelet, kube-proxy and flanneld have in common: their life under a console, a wrapper or the SCM, and logs.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

from tests.lab.machine.builds import identify
from tests.lab.machine.errors import WinError
from tests.lab.machine.program import Caller, Run, text
from tests.lab.programs.flags import Flags

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode
    from tests.lab.machine.services import ServiceHost

Log = Callable[[str], None]
Steps = Generator[float | None, None, None]


class ExitError(Exception):
    """The program ends with 1; the text is its last line."""


Body = Callable[["Daemon"], Steps]
"""A daemon's work: ends when `daemon.stopping()`, or with ExitError."""
NO_CONTROLLER = "The service process could not connect to the service controller."


class Daemon:
    """One run of a program: its flags, and where its log lines go."""

    def __init__(
        self, node: SimulatedNode, name: str, argv: list[str], flags: Flags, caller: Caller, host: ServiceHost | None
    ) -> None:
        self.node, self.name, self.argv, self.flags, self.caller, self.host = node, name, argv, flags, caller, host
        self.version = version_of(node, argv[0])

    @property
    def minor(self) -> int:
        return int(self.version.split(".")[1])

    def stopping(self) -> bool:
        return self.host is not None and (self.host.stop_requested or self.host.preshutdown_requested)

    def sleep(self, seconds: float) -> Steps:
        """Until the time is up, or the service is to stop."""
        end = self.node.clock.now() + seconds
        while self.node.clock.now() < end and not self.stopping():
            yield end - self.node.clock.now()

    def log(self, message: str, level: str = "I") -> None:
        """As klog writes it; to the file of --log-file or --log-dir where the release has them, else to stderr."""
        stamp = self.node.clock.utc().strftime("%m%d %H:%M:%S.%f")
        line = f"{level}{stamp} {self.caller.process.pid:7d} {self.name}.go:1] {message}"
        path = self.flags.text("log-file")
        if self.flags.given("log-dir") and not self.flags.on("logtostderr", True):
            path = path or f"{self.flags.text('log-dir')}\\{self.name}.INFO"
        if not path or self.flags.on("logtostderr", not path):
            self.caller.log(line)
            return
        try:
            self.node.drive.write(path, f"{line}\n".encode(), append=True, owner="S-1-5-18")
        except WinError:
            self.caller.log(line)


def version_of(node: SimulatedNode, path: str) -> str:
    found = identify(node.drive.read(path))
    assert found is not None
    return found.version


def run(daemon: Daemon, body: Body) -> Run:
    """From a console or a wrapper: until it ends."""
    try:
        yield from body(daemon)
    except ExitError as error:
        return text(1, "", f"Error: {error}\n")
    return text(0)


def serve(daemon: Daemon, body: Body) -> Generator[float | None, None, int]:
    """Under the SCM: RUNNING at once, before anything works; an error ends it without SERVICE_STOPPED.

    Source: kubernetes pkg/windows/service/service.go.
    """
    host = daemon.host
    assert host is not None
    host.report("running")
    try:
        yield from body(daemon)
    except ExitError as error:
        daemon.log(f'"command failed" err="{error}"', "E")
        yield 0.1
        return 1
    slow = daemon.node.faults.take_service(host.name, "slow_stop")
    yield slow.seconds if slow else 0.5
    host.stopped()
    yield 0.2
    return 0


def unanswering() -> Generator[float | None, None, int]:
    """A console program that the SCM has started: it never answers, and is killed after 30 s (1053)."""
    while True:
        yield None
