"""The process that keeps a run's pods alive, and deletes them at its end."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine import run_end
from ansible_collections.winkube.node.plugins.plugin_utils.engine.clock import Clock
from ansible_collections.winkube.node.plugins.plugin_utils.host_process import keeper
from ansible_collections.winkube.node.plugins.plugin_utils.host_process.pod import SILENCE_S


@dataclass
class Made:
    """Something on a cluster that does not always answer."""

    name: str
    log: list[str]
    fails: int = 0

    def renew(self) -> None:
        self.log.append(f"renew {self.name}")
        if self.fails:
            raise OSError("no answer")

    def remove(self) -> None:
        if self.fails:
            self.fails -= 1
            raise OSError("no answer")
        self.log.append(f"remove {self.name}")


@dataclass
class Time:
    """Passes when somebody sleeps."""

    at: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def sleep(self, seconds: float) -> None:
        with self.lock:
            self.at += seconds
        time.sleep(0)

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self.at, self.sleep)


def opener(log: list[str], fails: Mapping[str, int] | None = None) -> Callable[[Mapping[str, Any]], keeper.Kept]:
    def opened(noted: Mapping[str, Any]) -> keeper.Kept:
        return Made(str(noted["name"]), log, (fails or {}).get(str(noted["name"]), 0))

    return opened


def test_it_renews_five_times_in_the_time_that_a_pod_lives_without(tmp_path: Path) -> None:
    log: list[str] = []
    passed = Time()
    for name in ("a", "b"):
        keeper.note(tmp_path / "run", name, {"name": name})
    keeper.Keeper(tmp_path / "run", opener(log), passed.clock).keep(lambda: passed.at > SILENCE_S + 1)
    assert sorted(log[:-2]) == ["renew a"] * 5 + ["renew b"] * 5
    assert sorted(log[-2:]) == ["remove a", "remove b"]


def test_a_node_that_does_not_answer_keeps_no_other_from_its_sign_of_life(tmp_path: Path) -> None:
    log: list[str] = []
    passed = Time()
    for name in ("a", "b"):
        keeper.note(tmp_path / "run", name, {"name": name})
    keeper.Keeper(tmp_path / "run", opener(log, {"a": 2}), passed.clock).keep(lambda: passed.at > 121)
    assert log.count("renew b") == 2 and {"remove a", "remove b"} <= set(log)


def test_the_namespace_goes_after_the_pods_in_it_and_what_never_answers_is_given_up(tmp_path: Path) -> None:
    log: list[str] = []
    for name in ("namespace-ops", "winkube-a", "winkube-b"):
        keeper.note(tmp_path / "run", name, {"name": name})
    kept = keeper.Keeper(tmp_path / "run", opener(log, {"winkube-a": 99}), Time().clock)
    kept.keep(lambda: True)
    assert log == ["remove winkube-b", "remove namespace-ops"]


def test_what_is_asked_for_the_whole_run_is_done_by_one_worker(tmp_path: Path) -> None:
    asked = [keeper.is_first(tmp_path / "run", what) for what in ("swept-a", "swept-a", "swept-b")]
    assert asked == [True, False, True]


def test_a_run_has_one_keeper_and_waits_for_it(tmp_path: Path) -> None:
    """In a container whose first process is ansible-playbook the keeper dies with it."""
    folder, log = tmp_path / "run", tmp_path / "log"

    class Slow:
        def renew(self) -> None:
            raise AssertionError

        def remove(self) -> None:
            time.sleep(0.5)
            with log.open("a", encoding="utf-8") as file:
                file.write(f"{os.getpid()}\n")

    for name in ("a", "b"):
        keeper.note(folder, name, {})
        keeper.start(folder, os.getpid(), lambda noted: Slow())
    run_end.await_keeper(folder)
    lines = log.read_text(encoding="utf-8").split()
    assert len(lines) == 2 and len(set(lines)) == 1 and lines[0] != str(os.getpid())
    run_end.await_keeper(folder)


def test_a_run_without_a_keeper_waits_for_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_end, "WAIT_S", -1.0)
    run_end.await_keeper(tmp_path / "nothing")
    assert list(tmp_path.iterdir()) == []
