"""The processes of a machine made of Wine: the lab's (sessions, the runner) and Wine's."""

from __future__ import annotations

import time

from tests.lab.machine.clock import Clock
from tests.lab.machine.errors import WinError
from tests.lab.machine.pipes import Pipes, pipe_name
from tests.lab.machine.processes import Process, ProcessTable
from tests.windows.machine.witness import Witness

FRESH_S = 0.2
FIRST = 100_000
"""Added to Wine's pids: they are small numbers too, and must not be taken for the lab's."""


class WineProcesses(ProcessTable):
    def __init__(self, clock: Clock, pipes: Pipes) -> None:
        super().__init__(clock, pipes)
        self.witness: Witness | None = None
        self._wines: dict[int, Process] = {}
        self._read_at = 0.0

    def _look(self) -> None:
        if self.witness is None or time.monotonic() - self._read_at < FRESH_S:
            return
        # One that is just being made has no name yet.
        found = {one["pid"] + FIRST: one for one in self.witness.ask("processes") if one["path"] or one["name"]}
        self._read_at = time.monotonic()
        for pid in [pid for pid in self._wines if pid not in found]:
            self._wines.pop(pid).exit_code = 0
        for pid, one in found.items():
            if pid not in self._wines:
                path = one["path"] or one["name"]
                parent = one["parent"] + FIRST if one["parent"] else 0
                self._wines[pid] = Process(pid, parent, path, path, "S-1-5-18", self._clock.now(), True, None)

    def wines(self, pid: int) -> Process | None:
        """By Wine's own number."""
        self._read_at = 0.0
        self._look()
        return self._wines.get(pid + FIRST)

    def running(self) -> list[Process]:
        """Wine's."""
        self._look()
        return list(self._wines.values())

    def get(self, pid: int) -> Process | None:
        if pid < FIRST:
            return super().get(pid)
        self._look()
        return self._wines.get(pid)

    def all(self) -> list[Process]:
        return [*super().all(), *self.running()]

    def named(self, names: list[str]) -> list[Process]:
        wanted = {name.lower() for name in names}
        return [*super().named(names), *(one for one in self.running() if one.name.lower() in wanted)]

    def tree(self, pid: int) -> list[int]:
        if pid < FIRST:
            return super().tree(pid)
        found = [pid]
        for one in found:
            found.extend(child.pid for child in self.running() if child.parent == one and child.pid not in found)
        return found

    def kill(self, pid: int, exit_code: int = 1) -> None:
        if pid < FIRST or self.witness is None:
            super().kill(pid, exit_code)
            return
        try:
            self.witness.ask("kill", pid=pid - FIRST, code=exit_code)
        except WinError as error:
            if error.code != 87:  # it has ended
                raise
        self._read_at = 0.0


class WinePipes(Pipes):
    """The lab's own and Wine's."""

    witness: Witness | None = None

    def exists(self, address: str) -> bool:
        if super().exists(address):
            return True
        return self.witness is not None and bool(self.witness.ask("pipe", name=pipe_name(address)))
