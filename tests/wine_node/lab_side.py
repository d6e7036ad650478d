"""The same node in the lab: the twin answers, time is the lab's. What was asked and answered is kept by chapter."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.integration.lab import Bench, Run
from tests.lab.machine import builds
from tests.lab.machine.faults import Fault
from tests.lab.server import modules
from tests.lab.twin import modules as twin
from tests.windows.machine.bench import Archive, digest
from tests.wine_node.compare import Exchange
from tests.wine_node.occupied import SETTLES_S, occupy
from tests.wine_node.side import Side

DAY_S = 86400.0
HEAD, LARGE = 1000, 1_200_000
ENDS_AT_ONCE = "ctr"
"""A program of the lab's that is no daemon: without arguments it says so and ends."""


class LabSide(Side):
    name = "lab"
    adapter = "Ethernet"

    def __init__(self, bench: Bench) -> None:
        self.bench, self.host = bench, bench.node()
        self.work = bench.directory / "work"
        self.work.mkdir()
        self.exchanges: list[Exchange] = []
        self._chapter = ""
        self._published: dict[str, Archive] = {}

    def ansible(self, command: str, *arguments: object) -> Run:
        run = self.bench.ansible if command == "ansible" else self.bench.ansible_playbook
        return run(*arguments)

    def file(self, name: str, text: str) -> Path:
        return self.bench.file(name, text)

    def publish(self, name: str, make: Callable[[], bytes]) -> Archive:
        if name not in self._published:
            data = make()
            self.bench.lab.sources.publish(f"/real/{name}", data)
            self._published[name] = Archive(f"http://xyz/real/{name}", digest(data))
        return self._published[name]

    def program(self, name: str, version: str) -> bytes:
        return builds.build(name, version)

    def other_build(self, name: str, version: str, text: bytes) -> bytes:
        """As large as a real one: more than travels in a batch."""
        data = builds.build(name, version)
        return data[:HEAD] + random.Random(name).randbytes(LARGE) + text + data[HEAD:]

    def ends_at_once(self) -> bytes:
        return builds.build(ENDS_AT_ONCE, "0.0.0")

    def nssm(self) -> bytes:
        return builds.nssm_archive()

    def calls(self) -> int:
        return self.bench.calls()

    def state(self, service: str) -> str:
        return str(self.host.in_turn(lambda: self.host.node.services.state(service)))

    def values(self, path: str) -> dict[str, Any]:
        def read() -> dict[str, Any]:
            key = self.host.node.registry.key(f"HKLM\\{path}")
            return {value.name: value.data for value in key.values.values()} if key else {}

        return self.host.in_turn(read)

    def write(self, path: str, text: str) -> None:
        def place() -> None:
            self.host.node.drive.mkdir(path.rpartition("\\")[0])
            self.host.node.drive.write(path, text.encode())

        self.host.in_turn(place)

    def has(self, path: str) -> bool:
        return bool(self.host.in_turn(lambda: self.host.node.drive.exists(path)))

    def networks(self) -> list[str]:
        return sorted(one["Name"] for one in self.host.in_turn(lambda: self.host.node.hns.networks))

    def occupy(self) -> None:
        def left() -> None:
            occupy(self.host.node)
            self.host.node.clock.advance(SETTLES_S)

        self.host.in_turn(left)

    def adapters(self) -> list[dict[str, Any]]:
        return self.host.in_turn(self.host.node.adapters.dump)

    def lose_address(self) -> None:
        """One switch takes it for a day; when that has gone it is back soon."""
        faults = self.host.node.faults

        def soon(_told: bool) -> None:
            faults.blip_s = None

        def lose() -> None:
            faults.blip_s = DAY_S
            self.host.node.on_cut.append(soon)

        self.host.in_turn(lose)

    def cut_in_batch(self, run: Callable[[], Run]) -> tuple[Run, bool]:
        fault = Fault("session", 1, "before")
        self.host.in_turn(lambda: self.host.node.faults.arm(fault))
        return run(), fault.fired

    def begin(self, chapter: str) -> None:
        self._chapter = chapter

    def note(self, module: str, arguments: dict[str, Any], answer: dict[str, Any]) -> None:
        self.exchanges.append(Exchange(self._chapter, f"winkube.node.{module}", arguments, answer))


@contextmanager
def in_lab(folder: Path) -> Iterator[LabSide]:
    """The side, ready; it ends with the context."""
    bench = Bench(folder)
    try:
        side = LabSide(bench)
        before = twin.run_module

        def run(node: Any, session: Any, name: str, arguments: dict[str, Any], check_mode: bool) -> dict[str, Any]:
            answer = before(node, session, name, arguments, check_mode)
            side.note(name, arguments, json.loads(json.dumps(answer)))
            return answer

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(modules, "run_module", run)
            yield side
    finally:
        bench.close()
