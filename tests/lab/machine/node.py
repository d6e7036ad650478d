"""A simulated Windows machine."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

from tests.lab.machine import firewall, image
from tests.lab.machine.adapters import Adapters
from tests.lab.machine.builds import LabBuild, identify, machine_of
from tests.lab.machine.clock import START, Clock, Timer
from tests.lab.machine.commandline import arguments_after, candidates, join
from tests.lab.machine.counters import Counters
from tests.lab.machine.drive import Drive
from tests.lab.machine.dump import dump
from tests.lab.machine.errors import PowerLost, ProcessKilled, SessionKilled, Unreachable, WinError
from tests.lab.machine.faults import Fault, Faults, Phase, When
from tests.lab.machine.hns import Hns
from tests.lab.machine.language import Language, localised
from tests.lab.machine.network import Network
from tests.lab.machine.pipes import Pipes
from tests.lab.machine.pods import Pods
from tests.lab.machine.processes import Body, Process, ProcessTable, overlaid
from tests.lab.machine.program import Caller, Completed, Main, Serve
from tests.lab.machine.registry import Registry
from tests.lab.machine.release import WINDOWS_SERVER_2022, Release
from tests.lab.machine.service_config import ServiceConfig
from tests.lab.machine.services import SERVICES_EXE, ServiceHost, ServiceManager
from tests.lab.machine.session import Session
from tests.lab.machine.tasks import TaskScheduler

SYSTEM = "S-1-5-18"
SSH = 22
SSHD = "C:\\Windows\\System32\\OpenSSH\\sshd.exe"
WINRS = "C:\\Windows\\System32\\winrshost.exe"
"""The process of one WinRM shell (field knowledge)."""
STOPPING_S = 10.0
"""From the beginning of an orderly shutdown until the power is off."""


@dataclass(frozen=True)
class Foreign:
    """A program that is none of the lab's: its body in the lab's process table, and what to do when that has ended."""

    body: Body
    ended: Callable[[Process], None]


class SimulatedNode:
    """One machine, switched on and settled. `lock` is to be held by whoever uses it from several threads.

    hosts: the node's own DNS: `xyz` or `xyz:80` -> `127.0.0.1:PORT`; a name that is not in it does not resolve.
    seed: what differs between machines (MachineGuid, delays) follows from name and seed.
    containers: whether the Containers feature is on. nic: the one NIC and its address.
    encryption: BitLocker's state by volume (`on`, `off`), `unknown` where nothing is said.
    clock_offset_s: how wrong its clock is. language: what Windows' own programs speak.
    """

    clock_type: type[Clock] = Clock
    drive_type: type[Drive] = Drive
    registry_type: type[Registry] = Registry
    pipes_type: type[Pipes] = Pipes
    network_type: type[Network] = Network
    processes_type: type[ProcessTable] = ProcessTable
    services_type: type[ServiceManager] = ServiceManager
    programs: ClassVar[Mapping[str, tuple[Main, Serve | None]]] = {}
    """What its files do when they are started, by the name of the lab build: twin/node.py hands them in."""
    # What a machine is made of: tests/windows/machine has one that is made of Wine.

    def __init__(
        self,
        name: str,
        *,
        release: Release = WINDOWS_SERVER_2022,
        hosts: Mapping[str, str] | None = None,
        seed: int = 0,
        containers: bool = True,
        nic: image.Nic | None = None,
        encryption: Mapping[str, str] | None = None,
        clock_offset_s: float = 0.0,
        language: Language = "en",
    ) -> None:
        self.name = name
        self.release = release
        self.language = language
        self.framework = True
        """Whether scripts run on .NET Framework (Windows PowerShell 5.1), else on .NET (PowerShell 7)."""
        self.random = random.Random(f"{name} {seed}")
        self.lock = threading.RLock()
        self.clock = self.clock_type(START + timedelta(seconds=clock_offset_s))
        self.faults = Faults()
        self.counters = Counters()
        self.drive = self.drive_type(self.clock, self.faults)
        self.registry = self.registry_type()
        self.pipes: Pipes = self.pipes_type()
        self.network = self.network_type(hosts)
        self.processes = self.processes_type(self.clock, self.pipes)
        self.processes.exit_hooks.append(self.network.close_of)
        self.services = self.services_type(self.clock, self.registry, self.processes, self.faults, self._launch_service)
        self.tasks = TaskScheduler(self.clock, self._start_task, self.processes.kill_tree)
        self.sessions: list[Session] = []
        self.nic = nic or image.Nic()
        self.adapters = Adapters()
        self.hns = Hns(self)
        self.pods = Pods(self)
        self.network.up = lambda: self.adapters.connected
        self.network.own = lambda host: self.adapters.holder(host) is not None
        self.encryption: dict[str, str] = {volume.upper(): state for volume, state in (encryption or {}).items()}
        self.on_cut: list[Callable[[bool], None]] = []
        """Called when every connection of the machine dies: whether the other side is told (FIN or RST)."""
        self.before_module: list[Callable[[Session, str, Mapping[str, Any]], None]] = []
        """Called with each module of ours before it begins: the session, the module's name, its arguments."""
        self.powered = False
        self.stopping = False
        self.in_preshutdown = False
        self.shutdown: Timer | None = None
        """The shutdown that is to come, while it can still be rolled back."""
        self.boots = 0
        self.boot_id = ""
        self.environment: dict[str, str] = {}
        """The machine's environment as it was at boot: what services and tasks get."""
        image.install(self, containers)
        self.boot()
        self.clock.advance(150)
        self.clock.advance(-self.clock.now() % 60)

    # -- power ---------------------------------------------------------------------------------------------------

    def boot(self) -> None:
        """Switches the machine on; nothing happens when it is on."""
        if self.powered:
            return
        self.powered = True
        self.stopping = self.in_preshutdown = False
        self.faults.silent = False
        self.shutdown = None
        self.boots += 1
        self.boot_id = self.clock.utc().strftime("%Y%m%d%H%M%S.%f") + f"-{self.boots}"
        self.environment = image.machine_environment(self.registry)
        system = self.processes.spawn("System", None)
        services = self.processes.spawn(SERVICES_EXE, None, parent=system.pid)
        self.processes.spawn("C:\\Windows\\System32\\lsass.exe", None, parent=system.pid)
        if image.apply_pending_features(self) and self.faults.configures_s:
            # Windows configures the feature before its logon screen comes, answers all the same, and restarts again.
            self.clock.call_later(self.faults.configures_s, lambda: self.shut_down(self.faults.configures_s))
        image.logon_screen(self)
        image.apply_computer_name(self.registry)
        self.hns.boot()
        self.pods.lost()
        self.adapters.settle()
        image.host_keys(self)
        self.services.boot(services.pid)
        self.tasks.boot()

    def power_off(self, boot_after_s: float | None = None) -> None:
        """The power is gone, from one moment to the next. With `boot_after_s` it comes back by itself."""
        self.powered = False
        self.clock.clear()
        for session in self.sessions:
            session.killed = True
        self.sessions.clear()
        self.processes.lose_power()
        self.services.lose_power()
        self.tasks.lose_power()
        self.pipes.clear()
        self.network.clear()
        self.drive.lose_power()
        self._tell_of_cut(told=False)
        if boot_after_s is not None:
            self.clock.call_later(boot_after_s, self.boot)

    def restart(self, seconds: float = 30.0) -> None:
        """An orderly restart: services are asked to stop, files are flushed, `seconds` pass."""
        self.shut_down(None)
        while self.powered:
            self.clock.advance(1)
        self.clock.advance(seconds)
        self.boot()

    def shut_down(self, boot_after_s: float | None) -> None:
        """An orderly shutdown begins: services that accept preshutdown have their time, and the machine still answers;
        then connections die, services are asked to stop, 10 s later the power is off; `boot_after_s` seconds after that
        the machine boots (None: only when told).
        """
        self.in_preshutdown = True
        self.shutdown = None
        self.services.preshut_down()
        self._after_preshutdown(boot_after_s)

    def _after_preshutdown(self, boot_after_s: float | None) -> None:
        if self.services.in_preshutdown():
            self.clock.call_later(0.5, lambda: self._after_preshutdown(boot_after_s))
            return
        self.stopping = True
        self.cut_connections(told=True)
        self.services.shut_down()

        def off() -> None:
            self.drive.shut_down()
            self.power_off(boot_after_s)

        self.clock.call_later(STOPPING_S, off)

    def cut_connections(self, *, told: bool) -> None:
        """Every TCP connection of the machine dies, and with it every remote session but those that linger. `told`: the
        machine still says so to the other side, as it does when it shuts down."""
        for session in [session for session in self.sessions if not session.console and not session.lingers]:
            self.close_session(session)
        self._tell_of_cut(told)

    def _tell_of_cut(self, told: bool) -> None:
        for listener in self.on_cut:
            listener(told)

    @property
    def online(self) -> bool:
        """Whether the machine can be reached under the address that the world knows it by."""
        return (
            self.powered
            and not self.stopping
            and not self.faults.silent
            and self.lets_in("TCP", SSH, self.nic.neighbour)
        )

    def lets_in(self, protocol: str, port: int, source: str) -> bool:
        """Whether what comes from this address to the machine's own gets in: by the firewall and the category of the
        adapter that has the address now."""
        adapter = self.adapters.holder(self.nic.address)
        if adapter is None:
            return False
        return firewall.lets_in(self, protocol, port, source, adapter.category or "Public")

    # -- sessions ------------------------------------------------------------------------------------------------

    def open_session(self, user: str = "Administrator", *, elevated: bool = True) -> Session:
        """A remote session (its process is sshd's child). PowerLost when the machine is off, or not to be reached."""
        self.refuse_unreachable()
        return self._open(user, elevated)

    def open_shell(self, user: str, program: str = WINRS) -> Session:
        """A WinRM shell, or another program of WS-Management's; it outlives its connections. PowerLost as
        `open_session`."""
        self.refuse_unreachable()
        return self._open(user, program=program, lingers=True)

    def open_command(self, shell: Session, program: str) -> Session:
        """One command of a WinRM shell: a process under the shell's. SessionKilled when the shell is gone."""
        if not self.powered:
            raise PowerLost(f"{self.name} is switched off")
        self.refuse_dead_session(shell)
        return self._open(shell.user, program=program, parent=shell.pid, lingers=True)

    def open_console(self, user: str = "Administrator") -> Session:
        """A session at the machine itself: it needs no network. PowerLost when the machine is off."""
        return self._open(user, console=True)

    def refuse_unreachable(self) -> None:
        if not self.powered:
            raise PowerLost(f"{self.name} is switched off")
        if not self.online:
            raise Unreachable(
                f"{self.name} does not answer: it is shutting down, or {self.nic.address} is on none of its adapters"
            )

    def _open(
        self,
        user: str,
        elevated: bool = True,
        console: bool = False,
        program: str = SSHD,
        parent: int = 0,
        lingers: bool = False,
    ) -> Session:
        if not self.powered:
            raise PowerLost(f"{self.name} is switched off")
        process = self.processes.spawn(program, None, parent=parent, user=image.user_sid(self, user), elevated=elevated)
        session = Session(user, elevated, process.pid, console=console, lingers=lingers)
        self.sessions.append(session)
        return session

    def close_session(self, session: Session) -> None:
        """The session ends, and with it every process under it."""
        session.killed = True
        if session in self.sessions:
            self.sessions.remove(session)
        self.processes.kill_tree(session.pid)

    def drive_until_exit(self, session: Session, process: Process, limit: float) -> None:
        """Lets time pass until the session's process has ended. SessionKilled, PowerLost when it gets no answer."""
        boots = self.boots

        def settled() -> bool:
            return not process.alive or session.killed or not self.powered or self.boots != boots

        end = self.clock.now() + limit
        while True:
            with self.lock:
                if settled():
                    break
                if self.clock.now() >= end or not self.clock.step(end):
                    raise RuntimeError(
                        f"{process.command_line} on {self.name} did not end within {limit} s of its clock"
                    )
        if not self.powered or self.boots != boots:
            raise PowerLost(f"{self.name} lost its power")
        self.refuse_dead_session(session)

    def refuse_dead_session(self, session: Session) -> None:
        if session.killed:
            raise SessionKilled(f"the session on {self.name} was killed")

    # -- faults --------------------------------------------------------------------------------------------------

    def moment(self, phase: Phase, op: int, when: When, label: str | None = None) -> None:
        """The worker of a batch passes a moment at which a cut may be armed. Raises ProcessKilled if it dies of it."""
        fault = self.faults.due(phase, op, when, label)
        if fault is not None:
            self._cut(fault)
        self.processes.check_alive()

    def _cut(self, fault: Fault) -> None:
        if fault.kind == "disk_full":
            self.faults.disk_full_after = 0
            return
        if fault.silent:
            self.faults.silent = True
            self._tell_of_cut(told=False)
        if fault.kind == "power":
            self.power_off(fault.boot_after_s)
            raise ProcessKilled
        if fault.kind == "runner":
            raise ProcessKilled
        for session in list(self.sessions):
            self.close_session(session)

    # -- programs ------------------------------------------------------------------------------------------------

    def build_of(self, path: str) -> LabBuild:
        """Which program of the lab the file is. Errors as CreateProcess: 2, 3, 5, 193, 216."""
        data = self.drive.read(path)
        arch = machine_of(data)
        if arch is None:
            raise WinError(193, path)
        if arch not in {self.release.architecture, "386"}:
            raise WinError(216, path)
        found = identify(data)
        if found is None or found.name not in self.programs:
            raise WinError(193, path)
        return found

    def start_program(
        self,
        path: str,
        arguments: list[str],
        *,
        stdin: bytes = b"",
        parent: int = 0,
        user: str = SYSTEM,
        elevated: bool = True,
        cwd: str = "C:\\Windows\\System32",
        environment: Mapping[str, str] | None = None,
        command_line: str | None = None,
        log: Callable[[str], None] | None = None,
        host: ServiceHost | None = None,
    ) -> tuple[Process, list[Completed]]:
        """Starts a program by its full path: its process, and a list that holds its result once it has ended.

        `host`: the service for which it may answer to the service control manager; its result is then not kept.
        """
        result: list[Completed] = []
        foreign = self.foreign(path, arguments, stdin, environment, result)
        if foreign is not None:
            started = self.processes.spawn(
                path,
                foreign.body,
                command_line=command_line or join([path, *arguments]),
                parent=parent,
                user=user,
                elevated=elevated,
            )
            started.on_exit.append(foreign.ended)
            return started, result
        found = self.build_of(path)
        main, serve = self.programs[found.name]
        self.counters.add(self.counters.programs, found.name)

        def body() -> Body:
            if host is not None and serve is not None:
                return (yield from self._serve(serve, [path, *arguments], host, caller))
            started = self.clock.now()
            completed = yield from main(self, [path, *arguments], stdin, caller)
            seconds = self.clock.now() - started
            out, err = completed.stdout, completed.stderr
            if found.name in image.PROGRAMS_IN_SYSTEM32:
                out, err = localised(out, self.language), localised(err, self.language)
            result.append(Completed(completed.exit_code, out, err, seconds))
            return completed.exit_code

        process = self.processes.spawn(
            path,
            body(),
            command_line=command_line or join([path, *arguments]),
            parent=parent,
            user=user,
            elevated=elevated,
            image=self.drive.entry(path),
            environment=overlaid(self.environment, environment or {}),
        )
        caller = Caller(process, user, elevated, cwd, process.environment, log or (lambda line: None))
        return process, result

    def foreign(
        self,
        path: str,
        arguments: list[str],
        stdin: bytes,
        environment: Mapping[str, str] | None,
        result: list[Completed],
    ) -> Foreign | None:
        """Starts a program that is none of the lab's own, where the machine has such (tests/windows/machine): its body
        adds to `result`. Errors: WinError when it cannot be started."""
        return None

    def run(self, path: str, arguments: list[str], *, stdin: bytes = b"", session: Session | None = None) -> Completed:
        """Runs a program and lets time pass until it has ended; without a session at the machine's own console.

        Errors: WinError when it cannot be started.
        """
        owner = session or self.open_console()
        try:
            user = image.user_sid(self, owner.user)
            process, result = self.start_program(
                path, arguments, stdin=stdin, parent=owner.pid, user=user, elevated=owner.elevated
            )
            self.drive_until_exit(owner, process, 7200)
            return result[0] if result else Completed(process.exit_code or 1)
        finally:
            if session is None and owner in self.sessions:
                self.close_session(owner)

    def _launch_service(self, config: ServiceConfig, host: ServiceHost) -> Process:
        line = image.expand(config.image_path, self.environment)
        path = next((name for name in candidates(line) if self.drive.is_file(name)), None)
        if path is None:
            raise WinError(2, line)
        arguments = arguments_after(line, path)
        main, serve = self.programs[self.build_of(path).name]
        environment = overlaid(self.environment, dict(item.split("=", 1) for item in config.environment if "=" in item))

        def body() -> Body:
            if self.faults.take_service(config.name, "crash_at_start"):
                yield 0.2
                return 1
            if self.faults.take_service(config.name, "never_answers"):
                while True:
                    yield None
            loop = self.faults.take_service(config.name, "crash_loop")
            if loop is not None:
                host.report("running")
                yield loop.seconds
                return 1
            if serve is None:
                completed = yield from main(self, [path, *arguments], b"", caller)
                return completed.exit_code
            return (yield from self._serve(serve, [path, *arguments], host, caller))

        process = self.processes.spawn(
            path,
            body(),
            command_line=line,
            parent=self.services.pid,
            image=self.drive.entry(path),
            environment=environment,
        )
        caller = Caller(process, SYSTEM, True, environment=environment)
        if config.name.lower() == "hns":
            process.on_exit.append(lambda _: None if self.stopping else self.hns.service_ended())
        return process

    def _serve(self, serve: Serve, argv: list[str], host: ServiceHost, caller: Caller) -> Body:
        slow = self.faults.take_service(host.name, "slow_start")
        if slow is not None:
            host.report("start_pending")
            yield slow.seconds
        code = yield from serve(self, argv, host, caller)
        return code

    def _start_task(self, program: str, arguments: list[str]) -> Process:
        scheduler = self.processes.named(["svchost.exe"])
        parent = scheduler[0].pid if scheduler else self.services.pid
        return self.start_program(program, arguments, parent=parent)[0]

    # -- the whole -----------------------------------------------------------------------------------------------

    def dump(self) -> dict[str, Any]:
        """Drive, registry, services, tasks and processes, without what changes by itself: see `machine/dump.py`."""
        return dump(self)
