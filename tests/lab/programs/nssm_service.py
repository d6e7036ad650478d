"""nssm.exe as a service, judged by Wine.

nssm.exe as a service: starts the application, keeps its output, starts it again when it ends.

An application that ends before AppThrottle (1500 ms) makes the service PAUSED for a delay that doubles each time;
started again after that it counts as RUNNING. At its start it sets the failure flag of its own service. Stopping kills
the application with everything under it. With AppRotateFiles its log gets a new file at each start, as with nssm
2.24-101 on Wine 10 (tests/windows/test_nssm_and_sc.py; 2.23 waits for AppRotateBytes).
Source: nssm 2.24 service.cpp (start_service, throttle_restart, end_service); README "Service shutdown".
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import TYPE_CHECKING

from tests.lab.machine.commandline import split_arguments
from tests.lab.machine.errors import WinError
from tests.lab.machine.image import expand
from tests.lab.machine.processes import Process
from tests.lab.machine.program import Caller, Completed
from tests.lab.programs.nssm import parameters

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode
    from tests.lab.machine.services import ServiceHost

DEFAULT_THROTTLE_MS = 1500
EVENT_SOURCE = "HKLM\\SYSTEM\\CurrentControlSet\\Services\\EventLog\\Application\\NSSM"
"""What nssm makes when it is started as a service, and `nssm remove` leaves. Source: registry.cpp, create_messages."""
LONGEST_DELAY_S = 128.0


class Keeper:
    """One service's settings, and its application while it runs."""

    def __init__(self, node: SimulatedNode, host: ServiceHost, caller: Caller) -> None:
        self.node, self.host, self.caller = node, host, caller
        self.key = parameters(host.name)
        self.registry = node.registry
        self.result: list[Completed] = []

    def setting(self, name: str) -> str:
        return expand(self.registry.text(self.key, name), self.node.environment)

    @property
    def throttle_s(self) -> float:
        return self.registry.number(self.key, "AppThrottle", DEFAULT_THROTTLE_MS) / 1000

    def exit_action(self, code: int) -> str:
        key = f"{self.key}\\AppExit"
        return self.registry.text(key, str(code)) or self.registry.text(key, "", "Restart")

    def rotate(self, path: str, least: int) -> None:
        """A log of `least` bytes or more gets a name with the time. None of those is ever taken away.

        Source: nssm 2.24 io.cpp, rotate_file and rotated_filename (`%s-%04u%02u%02uT%02u%02u%02u.%03u%s`); README,
        "I/O redirection", "File rotation".
        """
        drive, now = self.node.drive, self.node.clock.utc()
        if not path or not drive.is_file(path) or drive.stat(path).size < max(1, least):
            return
        stem, dot, ending = path.rpartition(".")
        with contextlib.suppress(WinError):
            drive.rename(path, f"{stem}-{now:%Y%m%dT%H%M%S}.{now.microsecond // 1000:03d}{dot}{ending}")

    def rotate_at_start(self) -> None:
        """What is in the logs by then, as nssm 2.24-101 does."""
        if self.registry.number(self.key, "AppRotateFiles"):
            both = (self.setting("AppStdout"), self.setting("AppStderr"))
            for path in {path.lower(): path for path in both}.values():
                self.rotate(path, 1)

    def rotate_online(self, path: str) -> None:
        """A log that has grown to AppRotateBytes, while the program runs."""
        number = self.registry.number
        most = number(self.key, "AppRotateBytes")
        if most and number(self.key, "AppRotateFiles") and number(self.key, "AppRotateOnline"):
            self.rotate(path, most)

    def launch(self) -> Process:
        """WinError when the application cannot be started."""
        self.rotate_at_start()
        program = self.setting("Application")
        extra = self.registry.strings(self.key, "AppEnvironmentExtra")
        own = self.registry.strings(self.key, "AppEnvironment")
        environment: dict[str, str] = {}
        for item in [
            *own,
            *extra,
        ]:  # one after the other, each with what is set by then: nssm env.cpp, set_environment_block
            name, _equals, value = item.partition("=")
            name = next((known for known in self.caller.environment if known.lower() == name.lower()), name)
            environment[name] = expand(value, {**self.caller.environment, **environment})
        process, self.result = self.node.start_program(
            program,
            split_arguments(self.setting("AppParameters")),
            parent=self.caller.process.pid,
            cwd=self.setting("AppDirectory") or self.node.drive.parent(program),
            environment={**self.caller.environment, **environment},
            command_line=f'"{program}" {self.setting("AppParameters")}'.rstrip(),
            log=lambda line: self.keep("AppStderr", f"{line}\n".encode()),
        )
        return process

    def keep(self, setting: str, data: bytes) -> None:
        path = self.setting(setting)
        if path and data:
            try:
                self.rotate_online(path)
                self.node.drive.write(path, data, append=True, owner="S-1-5-18")
            except WinError:
                return

    def keep_output(self) -> None:
        for completed in self.result:
            self.keep("AppStdout", completed.stdout)
            self.keep("AppStderr", completed.stderr)

    def wait(self, process: Process, seconds: float | None) -> Generator[float | None, None, bool]:
        """Whether the application has ended; False too when the service is to stop."""
        mine = self.caller.process
        process.on_exit.append(lambda _: self.node.processes.wake(mine))
        end = None if seconds is None else self.node.clock.now() + seconds
        while process.alive and not self.host.stop_requested:
            if end is not None and self.node.clock.now() >= end:
                return False
            yield None if end is None else end - self.node.clock.now()
        return not process.alive

    def pause(self, seconds: float) -> Generator[float | None, None, None]:
        end = self.node.clock.now() + seconds
        while self.node.clock.now() < end and not self.host.stop_requested:
            yield end - self.node.clock.now()


def serve(
    node: SimulatedNode, argv: list[str], host: ServiceHost, caller: Caller
) -> Generator[float | None, None, int]:
    keeper = Keeper(node, host, caller)
    host.report("start_pending")
    node.services.change(host.name, "FailureActionsOnNonCrashFailures", "dword", 1)
    node.registry.set(EVENT_SOURCE, "EventMessageFile", "string", caller.process.path)
    node.registry.set(EVENT_SOURCE, "TypesSupported", "dword", 7)
    failures = 0
    while not host.stop_requested:
        try:
            process = keeper.launch()
        except WinError:
            host.stopped(1066, 3)
            yield 0.1
            return 0
        if failures:
            host.report("running")
        if (yield from keeper.wait(process, keeper.throttle_s)):
            failures += 1
        elif not host.stop_requested:
            failures = 0
            host.report("running")
            yield from keeper.wait(process, None)
        if host.stop_requested:
            yield from _end(node, process)
            break
        keeper.keep_output()
        action = keeper.exit_action(process.exit_code or 0)
        if action in {"Exit", "Suicide"}:
            if action == "Exit":
                host.stopped(0 if not process.exit_code else 1066, process.exit_code or 0)
            return process.exit_code or 0
        while action == "Ignore" and not host.stop_requested:
            yield None
        delay = node.registry.number(keeper.key, "AppRestartDelay") / 1000
        if failures:
            host.report("paused")
            delay = max(delay, min(LONGEST_DELAY_S, 2.0**failures))
        yield from keeper.pause(delay)
    slow = node.faults.take_service(host.name, "slow_stop")
    yield slow.seconds if slow else 0.3
    host.stopped()
    yield 0.2
    return 0


def _end(node: SimulatedNode, process: Process) -> Generator[float | None, None, None]:
    yield 0.4
    node.processes.kill_tree(process.pid)
