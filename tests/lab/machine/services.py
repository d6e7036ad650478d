"""The service control manager: states, start and stop with their errors, dependencies, failure actions, deletion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.lab.machine.clock import Clock
from tests.lab.machine.errors import WinError
from tests.lab.machine.faults import Faults
from tests.lab.machine.processes import Body, Process, ProcessTable, Steps
from tests.lab.machine.registry import SERVICES, Registry
from tests.lab.machine.service_config import FailureActions, ServiceConfig, key_of, read_config

ANSWER_TIMEOUT = 30.0
PRESHUTDOWN_MS = 10_000
"""How long a service has for its preshutdown unless its PreshutdownTimeout says otherwise.

Source: learn.microsoft.com, SERVICE_PRESHUTDOWN_INFO (from Windows 10 build 15063 on).
"""
SERVICES_EXE = "C:\\Windows\\System32\\services.exe"
STATE_NUMBERS = {
    "stopped": 1,
    "start_pending": 2,
    "stop_pending": 3,
    "running": 4,
    "continue_pending": 5,
    "pause_pending": 6,
    "paused": 7,
}


class ServiceHost:
    """What a service's program knows of the SCM: it connects, reports its state, and is asked to stop."""

    def __init__(self, manager: ServiceManager, name: str) -> None:
        self._manager = manager
        self.name = name
        self.connected = False
        self.stop_requested = False
        self.accepts_preshutdown = False
        self.preshutdown_requested = False
        self.process: Process | None = None

    def connect(self) -> None:
        """StartServiceCtrlDispatcher: until then, and for 30 s at most, whoever starts the service waits."""
        self.connected = True

    def report(self, state: str) -> None:
        self.connected = True
        self._manager.reported(self, state)

    def until_asked_to_stop(self, takes_s: float, close: Callable[[], object] = lambda: None) -> Body:
        """What a service does that works by itself: it waits, closes what it holds when it is asked to stop, takes its
        time, and says that it has."""
        while not self.stop_requested:
            yield None
        close()
        yield takes_s
        self.stopped()
        return 0

    def stopped(self, exit_code: int = 0, specific: int = 0) -> None:
        """SERVICE_STOPPED; the process may go on for a while."""
        self._manager.reported(self, "stopped", exit_code, specific)


Launcher = Callable[[ServiceConfig, ServiceHost], Process]


@dataclass(eq=False)
class Runtime:
    """What is not in the registry: the state of a service since the last boot."""

    state: str = "stopped"
    exit_code: int = 1077
    service_exit_code: int = 0
    host: ServiceHost | None = None
    process: Process | None = None
    failures: list[float] = field(default_factory=list)
    handles: int = 0
    preshutdown_ends: float = 0.0

    @property
    def pid(self) -> int:
        return self.process.pid if self.process is not None and self.process.alive and self.state != "stopped" else 0


class ServiceManager:
    def __init__(
        self, clock: Clock, registry: Registry, processes: ProcessTable, faults: Faults, launch: Launcher
    ) -> None:
        self._clock = clock
        self._registry = registry
        self._processes = processes
        self._faults = faults
        self._launch = launch
        self._runtimes: dict[str, Runtime] = {}
        self.pid = 0
        """The process of services.exe, the parent of all services."""

    # -- looking -------------------------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """All Win32 services, sorted without regard to case."""
        found = (read_config(self._registry, name) for name in self._registry.keys(SERVICES))
        return [config.name for config in found if config is not None and config.is_win32 and config.image_path]

    def exists(self, name: str) -> bool:
        return read_config(self._registry, name) is not None

    def config(self, name: str) -> ServiceConfig:
        found = read_config(self._registry, name)
        if found is None:
            raise WinError(1060, name)
        return found

    def runtime(self, name: str) -> Runtime:
        self.config(name)
        return self._runtimes.setdefault(name.lower(), Runtime())

    def state(self, name: str) -> str:
        """The state, or `absent`."""
        return self.runtime(name).state if self.exists(name) else "absent"

    def dependents(self, name: str) -> list[str]:
        """Services that name this one in DependOnService."""
        return [
            other for other in self.names() if name.lower() in {item.lower() for item in self.config(other).depends_on}
        ]

    # -- configuring ---------------------------------------------------------------------------------------------

    def create(
        self,
        name: str,
        image_path: str,
        *,
        start: int = 3,
        kind: int = 0x10,
        display_name: str | None = None,
        account: str = "LocalSystem",
        depends_on: list[str] | None = None,
        delayed: bool = False,
    ) -> None:
        """Errors: 1073, 1072 (of that name, being deleted), 1078 (display name taken)."""
        there = read_config(self._registry, name)
        if there is not None:
            raise WinError(1072 if there.deleting else 1073, name)
        display = display_name or name
        taken = {self.config(other).display_name.lower() for other in self.names()}
        if display.lower() in taken:
            raise WinError(1078, name)
        key = key_of(name)
        self._registry.create(key)
        self._registry.set(key, "Type", "dword", kind)
        self._registry.set(key, "Start", "dword", start)
        self._registry.set(key, "ErrorControl", "dword", 1)
        self._registry.set(key, "ImagePath", "expand_string", image_path)
        self._registry.set(key, "DisplayName", "string", display)
        self._registry.set(key, "ObjectName", "string", account)
        self._runtimes[name.lower()] = Runtime()
        self._start_with(name, depends_on, delayed)

    def _start_with(self, name: str, depends_on: list[str] | None, delayed: bool) -> None:
        """What a new service may be told about its start besides."""
        if depends_on:
            self.change(name, "DependOnService", "multi_string", depends_on)
        if delayed:
            self.change(name, "DelayedAutostart", "dword", 1)

    def change(self, name: str, value: str, kind: str, data: str | int | list[str] | bytes) -> None:
        """One value of the configuration. Errors: 1060, 1072."""
        config = self.config(name)
        if config.deleting:
            raise WinError(1072, name)
        if kind == "multi_string" and not data:
            self._registry.delete_value(key_of(name), value)
        else:
            self._registry.set(key_of(name), value, kind, data)

    def set_failure(self, name: str, actions: FailureActions) -> None:
        self.change(name, "FailureActions", "binary", actions.encode())

    def delete(self, name: str) -> None:
        """Gone at once, or marked until it is stopped and its last handle is closed. Errors: 1060, 1072."""
        config = self.config(name)
        if config.deleting:
            raise WinError(1072, name)
        self._registry.set(key_of(name), "DeleteFlag", "dword", 1)
        self._finish_delete(name)

    def open_handle(self, name: str) -> None:
        self.runtime(name).handles += 1

    def close_handle(self, name: str) -> None:
        self.runtime(name).handles -= 1
        self._finish_delete(name)

    def _finish_delete(self, name: str) -> None:
        config = read_config(self._registry, name)
        if config is None or not config.deleting:
            return
        runtime = self.runtime(name)
        if runtime.state == "stopped" and runtime.handles <= 0:
            self._registry.delete_key(key_of(name))
            self._runtimes.pop(name.lower(), None)

    # -- starting and stopping -----------------------------------------------------------------------------------

    def start(self, name: str) -> Steps:
        """StartService, for use in a process's body: returns when the program has answered.

        Errors: 1060, 1072, 1058, 1056, 1075, 1068, 1053, and those of starting the program (2, 3, 5, 193, 216).
        """
        config = self.config(name)
        runtime = self.runtime(name)
        if config.deleting:
            raise WinError(1072, name)
        if config.start == 4:
            raise WinError(1058, name)
        if runtime.state != "stopped":
            raise WinError(1056, name)
        yield from self._start_dependencies(config)
        if runtime.state != "stopped":  # somebody else started it meanwhile: the SCM starts no service twice
            raise WinError(1056, name)
        if runtime.process is not None and runtime.process.alive:
            yield from self._processes.wait(runtime.process, ANSWER_TIMEOUT)
        host = ServiceHost(self, config.name)
        runtime.host, runtime.state, runtime.exit_code = host, "start_pending", 0
        try:
            process = self._launch(config, host)
        except WinError as error:
            runtime.state, runtime.exit_code = "stopped", error.code
            raise
        host.process = runtime.process = process
        process.on_exit.append(lambda ended: self._exited(config.name, ended))
        end = self._clock.now() + ANSWER_TIMEOUT
        while not host.connected and process.alive and self._clock.now() < end:
            yield 0.05
        if not host.connected:
            runtime.state, runtime.exit_code = "stopped", 1053
            self._processes.kill(process.pid)
            raise WinError(1053, name)

    def connected_by(self, host: ServiceHost, process: Process) -> None:
        """Another process than the one that the SCM launched answers for the service: its own is that one (7039)."""
        runtime = self.runtime(host.name)
        if runtime.host is host:
            host.process = runtime.process = process
            process.on_exit.append(lambda ended: self._exited(host.name, ended))

    def _start_dependencies(self, config: ServiceConfig) -> Steps:
        for other in config.depends_on:
            if not self.exists(other) or self.config(other).deleting:
                raise WinError(1075, config.name)
            runtime = self.runtime(other)
            try:
                if runtime.state == "stopped":
                    yield from self.start(other)
            except WinError as error:
                if error.code != 1056:
                    self.runtime(config.name).exit_code = 1068
                    raise WinError(1068, config.name) from error
            while runtime.state == "start_pending":
                yield 0.05
            if runtime.state != "running":
                self.runtime(config.name).exit_code = 1068
                raise WinError(1068, config.name)

    def stop(self, name: str) -> None:
        """ControlService(STOP): comes back at once, the state is then stop_pending.

        Errors: 1060, 1062, 1051, 1061.
        """
        runtime = self.runtime(name)
        if runtime.state == "stopped":
            raise WinError(1062, name)
        self._refuse_while_needed(name)
        if runtime.state not in {"running", "paused"}:
            raise WinError(1061, name)
        self._request_stop(runtime)

    def _refuse_while_needed(self, name: str) -> None:
        """Error 1051 while services that depend on it run."""
        if any(self.state(other) != "stopped" for other in self.dependents(name)):
            raise WinError(1051, name)

    def _request_stop(self, runtime: Runtime) -> None:
        runtime.state = "stop_pending"
        if runtime.host is not None and runtime.process is not None:
            runtime.host.stop_requested = True
            self._processes.wake(runtime.process)

    def reported(self, host: ServiceHost, state: str, exit_code: int = 0, specific: int = 0) -> None:
        """What a service's program says about itself."""
        runtime = self._runtimes.get(host.name.lower())
        if runtime is None or runtime.host is not host:
            return
        runtime.state = state
        if state == "stopped":
            runtime.exit_code, runtime.service_exit_code = exit_code, specific
            if exit_code and self.config(host.name).non_crash:
                self._failed(host.name)
            self._finish_delete(host.name)

    def _exited(self, name: str, process: Process) -> None:
        runtime = self._runtimes.get(name.lower())
        if runtime is None or runtime.process is not process:
            return
        if runtime.host is not None and runtime.host.connected and runtime.state != "stopped":
            runtime.state, runtime.exit_code = "stopped", 1067
            self._failed(name)
        self._finish_delete(name)

    def _failed(self, name: str) -> None:
        """Runs the failure action that is next in the row, after its delay."""
        config = self.config(name)
        if config.failure is None or not config.failure.actions:
            return
        runtime = self.runtime(name)
        now = self._clock.now()
        if runtime.failures and now - runtime.failures[-1] >= config.failure.reset_s:
            runtime.failures.clear()
        runtime.failures.append(now)
        kind, delay = config.failure.actions[min(len(runtime.failures), len(config.failure.actions)) - 1]
        if kind == "restart":
            self._clock.call_later(delay / 1000, lambda: self.start_later(name))

    def start_later(self, name: str) -> None:
        """Starts the service from inside the SCM: nobody hears of an error."""
        if self.exists(name) and self.state(name) == "stopped":
            self._processes.spawn(SERVICES_EXE, self._quiet_start(name), parent=self.pid)

    def _quiet_start(self, name: str) -> Body:
        try:
            yield from self.start(name)
        except WinError as error:
            return error.code
        return 0

    # -- power ---------------------------------------------------------------------------------------------------

    def boot(self, pid: int) -> None:
        """Starts what starts by itself, all at the same time; the delayed ones 120 s later."""
        self.pid = pid
        for name in self._registry.keys(SERVICES):
            config = read_config(self._registry, name)
            if config is not None and config.deleting:
                self._registry.delete_key(key_of(name))
        for name in self.names():
            config = self.config(name)
            if config.start == 2:
                self._clock.call_later(120.0 if config.delayed else 0.5, lambda name=name: self.start_later(name))  # type: ignore[misc]

    def lose_power(self) -> None:
        self._runtimes.clear()

    def preshut_down(self) -> None:
        """SERVICE_CONTROL_PRESHUTDOWN to every service that accepts it: to the process that has connected for it."""
        now = self._clock.now()
        for name, runtime in self._runtimes.items():
            if runtime.state == "running" and runtime.host is not None and runtime.host.accepts_preshutdown:
                milliseconds = self._registry.number(key_of(name), "PreshutdownTimeout", PRESHUTDOWN_MS)
                runtime.host.preshutdown_requested, runtime.state = True, "stop_pending"
                runtime.preshutdown_ends = now + milliseconds / 1000
                if runtime.process is not None:
                    self._processes.wake(runtime.process)

    def in_preshutdown(self) -> bool:
        """Whether a service still has time for it and uses it."""
        return any(
            runtime.state != "stopped" and self._clock.now() < runtime.preshutdown_ends
            for runtime in self._runtimes.values()
        )

    def shut_down(self) -> None:
        """Asks every service to stop, without order."""
        for runtime in self._runtimes.values():
            if runtime.state in {"running", "paused"}:
                self._request_stop(runtime)
