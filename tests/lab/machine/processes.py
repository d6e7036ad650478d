"""Processes: generators that yield the seconds they sleep, under the process that started them.

A killed process's generator is put aside and never closed, so that no `finally` of it acts after its death.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field

from tests.lab.machine.clock import Clock, Timer
from tests.lab.machine.drive import Entry
from tests.lab.machine.errors import ProcessKilled
from tests.lab.machine.pipes import Pipes

Body = Generator[float | None, None, int]
"""Yields seconds to sleep, or None: until somebody wakes it. Returns the exit code."""
Steps = Generator[float | None, None, None]

SYSTEM = "S-1-5-18"


@dataclass(eq=False)
class Process:
    """path: the program's path when it was started; image: its file, wherever it has been renamed to since."""

    pid: int
    parent: int
    path: str
    command_line: str
    user: str
    started: float
    elevated: bool
    body: Body | None
    image: Entry | None = None
    environment: dict[str, str] = field(default_factory=dict)
    exit_code: int | None = None
    timer: Timer | None = None
    running: bool = False
    doomed: bool = False
    facts: dict[str, str] = field(default_factory=dict)
    """What other simulated programs may find out by talking to it."""
    on_exit: list[Callable[[Process], None]] = field(default_factory=list)

    @property
    def alive(self) -> bool:
        return self.exit_code is None

    @property
    def name(self) -> str:
        return self.path.rsplit("\\", 1)[-1]


def overlaid(environment: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """A process's environment with more in it; names are the same in any case, and the later one counts."""
    named = {name.lower() for name in more}
    return {**{name: text for name, text in environment.items() if name.lower() not in named}, **more}


class ProcessTable:
    def __init__(self, clock: Clock, pipes: Pipes) -> None:
        self._clock = clock
        self._pipes = pipes
        self._next = 4
        self._table: dict[int, Process] = {}
        self.started: dict[str, None] = {}
        """Each command line that a process was started with, as event 4688 has it."""
        self._grave: list[Body] = []
        self._current: list[Process] = []
        self.exit_hooks: list[Callable[[int], None]] = []

    def spawn(
        self,
        path: str,
        body: Body | None,
        *,
        command_line: str = "",
        parent: int = 0,
        user: str = SYSTEM,
        elevated: bool = True,
        image: Entry | None = None,
        environment: dict[str, str] | None = None,
    ) -> Process:
        """Starts a process; its first step comes with the clock's next event. `body=None`: it just stays."""
        self._next += 4
        process = Process(
            self._next,
            parent,
            path,
            command_line or path,
            user,
            self._clock.now(),
            elevated,
            body,
            image,
            dict(environment or {}),
        )
        self._table[process.pid] = process
        self.started[process.command_line] = None
        if image is not None:
            image.images.add(process.pid)
        if body is not None:
            process.timer = self._clock.call_later(0, lambda: self._step(process))
        return process

    @property
    def current(self) -> Process | None:
        """The process whose generator runs at this moment."""
        return self._current[-1] if self._current else None

    def _step(self, process: Process) -> None:
        if not process.alive or process.running or process.body is None:
            return
        process.timer = None
        process.running = True
        self._current.append(process)
        try:
            seconds = next(process.body)
        except StopIteration as end:
            self._end(process, int(end.value or 0))
            return
        except ProcessKilled:
            self._end(process, 1)
            return
        finally:
            self._current.pop()
            process.running = False
        if process.doomed:
            self._end(process, 1)
        elif process.alive and seconds is not None and process.timer is None:
            process.timer = self._clock.call_later(seconds, lambda: self._step(process))

    def wake(self, process: Process) -> None:
        """Lets a sleeping process go on at once."""
        if not process.alive:
            return
        if process.timer is not None:
            process.timer.cancel()
        process.timer = self._clock.call_later(0, lambda: self._step(process))

    def kill(self, pid: int, exit_code: int = 1) -> None:
        """Ends one process. If it is the one that is running now, it ends at its next step or by ProcessKilled."""
        process = self._table.get(pid)
        if process is None or not process.alive:
            return
        if process.running:
            process.doomed = True
        else:
            self._end(process, exit_code)

    def kill_tree(self, pid: int, exit_code: int = 1) -> None:
        for child in self.tree(pid):
            self.kill(child, exit_code)

    def check_alive(self) -> None:
        """Raises ProcessKilled in a process that was killed while it ran."""
        if self.current is not None and self.current.doomed:
            raise ProcessKilled

    def _end(self, process: Process, exit_code: int) -> None:
        process.exit_code = exit_code
        if process.timer is not None:
            process.timer.cancel()
        if process.body is not None:
            self._grave.append(process.body)
            process.body = None
        if process.image is not None:
            process.image.images.discard(process.pid)
        self._pipes.close_of(process.pid)
        self._table.pop(process.pid, None)
        for hook in self.exit_hooks:
            hook(process.pid)
        for listener in process.on_exit:
            listener(process)

    def get(self, pid: int) -> Process | None:
        return self._table.get(pid)

    def all(self) -> list[Process]:
        return list(self._table.values())

    def tree(self, pid: int) -> list[int]:
        """The process and everything below it, parents first."""
        found = [pid]
        for one in found:
            found.extend(child.pid for child in self._table.values() if child.parent == one and child.pid not in found)
        return found

    def named(self, names: list[str]) -> list[Process]:
        wanted = {name.lower() for name in names}
        return [process for process in self._table.values() if process.name.lower() in wanted]

    def lose_power(self) -> None:
        """All processes are gone, and nobody is told."""
        for process in self._table.values():
            process.exit_code = 1
            if process.body is not None:
                self._grave.append(process.body)
                process.body = None
            if process.running:
                process.doomed = True
        self._table.clear()

    def wait(self, process: Process, timeout: float | None = None) -> Generator[float | None, None, bool]:
        """For use inside a body: until the process has ended; False when `timeout` seconds were not enough."""
        me = self.current
        assert me is not None, "only a process can wait"
        if process.alive:
            process.on_exit.append(lambda _: self.wake(me))
        end = None if timeout is None else self._clock.now() + timeout
        while process.alive:
            if end is None:
                yield None
            elif self._clock.now() >= end:
                return False
            else:
                yield end - self._clock.now()
        return True
