"""Scheduled tasks: run as SYSTEM, on demand, at startup and in a fixed rhythm while they are enabled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.lab.machine.clock import Clock, Timer
from tests.lab.machine.errors import WinError
from tests.lab.machine.processes import Process

Starter = Callable[[str, list[str]], Process]
"""Program and arguments -> the process, started as SYSTEM under the scheduler."""


@dataclass(eq=False)
class Task:
    """repeat_s: seconds between two starts, counted from the task's registration, or from `start_at`, seconds on the
    node's clock; None: no such trigger."""

    path: str
    program: str
    arguments: list[str]
    at_boot: bool = False
    repeat_s: float | None = None
    enabled: bool = True
    time_limit_s: float | None = None
    start_at: float | None = None
    process: Process | None = None
    timer: Timer | None = None
    last_error: int = 0

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.alive

    @property
    def state(self) -> str:
        if self.running:
            return "running"
        return "ready" if self.enabled else "disabled"


class TaskScheduler:
    """A second instance of a running task is never started (IgnoreNew)."""

    def __init__(self, clock: Clock, start: Starter, kill: Callable[[int], None]) -> None:
        self._clock = clock
        self._start = start
        self._kill = kill
        self._tasks: dict[str, Task] = {}
        self.answers = True
        """Whether the service Schedule takes calls; what it has planned it starts all the same."""

    def register(self, task: Task) -> Task:
        """Makes the task, or replaces its definition; an instance that runs goes on."""
        old = self._tasks.get(task.path.lower())
        if old is not None:
            task.process = old.process
            self._stop_timer(old)
        self._tasks[task.path.lower()] = task
        self._set_timer(task)
        return task

    def get(self, path: str) -> Task | None:
        if not self.answers:
            raise WinError(1722)
        return self._tasks.get(path.lower())

    def all(self) -> list[Task]:
        return [self._tasks[key] for key in sorted(self._tasks)]

    def delete(self, path: str) -> None:
        task = self._need(path)
        self._stop_timer(task)
        del self._tasks[path.lower()]

    def enable(self, path: str, enabled: bool) -> None:
        task = self._need(path)
        task.enabled = enabled
        self._set_timer(task)

    def run(self, path: str) -> bool:
        """On demand. False when an instance runs already. Errors: 2, 1058 (disabled)."""
        task = self._need(path)
        if not task.enabled:
            raise WinError(1058, path)
        return self._launch(task)

    def end(self, path: str) -> None:
        """Ends the instance that runs, if one does; what it has started goes on."""
        task = self._need(path)
        if task.running and task.process is not None:
            self._kill(task.process.pid)

    def boot(self) -> None:
        for task in self.all():
            self._set_timer(task)
            if task.at_boot and task.enabled:
                self._clock.call_later(5.0, lambda task=task: self._fire(task))  # type: ignore[misc]

    def lose_power(self) -> None:
        for task in self._tasks.values():
            task.process = None
            task.timer = None

    def _need(self, path: str) -> Task:
        task = self.get(path)
        if task is None:
            raise WinError(2, path)
        return task

    def _fire(self, task: Task) -> None:
        if task.enabled and self._tasks.get(task.path.lower()) is task:
            self._launch(task)

    def _launch(self, task: Task) -> bool:
        if task.running:
            return False
        try:
            task.process = self._start(task.program, task.arguments)
            task.last_error = 0
        except WinError as error:
            task.last_error = error.code
            return False
        if task.time_limit_s is not None:
            pid = task.process.pid
            self._clock.call_later(task.time_limit_s, lambda: self._kill(pid))
        return True

    def _set_timer(self, task: Task) -> None:
        self._stop_timer(task)
        if task.enabled and task.repeat_s is not None:
            task.timer = self._clock.call_later(self._until_next(task, task.repeat_s), lambda: self._repeat(task))

    def _until_next(self, task: Task, repeat_s: float) -> float:
        if task.start_at is None:
            return repeat_s
        late = self._clock.now() - task.start_at
        return -late if late < 0 else repeat_s - late % repeat_s

    def _repeat(self, task: Task) -> None:
        self._fire(task)
        if task.timer is not None and not task.timer.cancelled:
            self._set_timer(task)

    @staticmethod
    def _stop_timer(task: Task) -> None:
        if task.timer is not None:
            task.timer.cancel()
            task.timer = None
