# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One process for a run: it gives the run's pods their signs of life, and deletes them when the run is over.

Ansible tells a connection plugin the end of a task, not the end of a run. So the first worker that makes a pod leaves a
process behind, as ssh does for ControlPersist. What it has to keep is in files of the run's folder. If it dies with the
run, as in a container whose first process is ansible-playbook, or is killed, then the pods end by themselves.

A file of its own: it forks, and nothing else here does.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ..engine.clock import Clock
from ..engine.run_end import END, LOCK, identity

LOOK_S = 0.1
RENEW_S = 60.0
"""Five signs of life in the time after which a pod ends by itself."""
THREADS = 8
TRIES = 5
PAUSE_S = 3.0
_KEPT = ".json"
NAMESPACE = "namespace-"
"""The name begins with this of what is removed after everything else, since the rest is in it."""


class Kept(Protocol):
    """What a run made on the cluster."""

    def renew(self) -> None:
        """Give it a sign of life."""

    def remove(self) -> None:
        """Delete it."""


Opener = Callable[[Mapping[str, Any]], Kept]
"""Makes a Kept of what `note` was given."""


def note(folder: Path, name: str, what: Mapping[str, Any]) -> None:
    """Tell the keeper what the run is about to make, under a name of its own."""
    folder.mkdir(mode=0o700, exist_ok=True)
    file = folder / name
    file.write_text(json.dumps(what), encoding="utf-8")
    file.rename(file.with_name(file.name + _KEPT))


def is_first(folder: Path, what: str) -> bool:
    """Whether no worker of the run has asked this before."""
    folder.mkdir(mode=0o700, exist_ok=True)
    try:
        (folder / what).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def start(folder: Path, pid: int, opener: Opener) -> None:
    """Leave a keeper behind for the run `pid`, unless it has one. Returns at once."""
    began = identity(pid)
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        os.close(lock)
        return
    # In the child: whatever happens, none of the parent's code may run a second time.
    with suppress(BaseException):
        if os.fork() == 0:
            os.setsid()
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)  # a service manager ends all of a run's processes at once
            _close_all(lock)
            try:
                Keeper(folder, opener).keep(lambda: (folder / END).exists() or identity(pid) != began)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


@dataclass(slots=True)
class Keeper:
    """Keeps what the folder names, until the run is over."""

    folder: Path
    opener: Opener
    clock: Clock = field(default_factory=Clock)
    _kept: dict[str, Kept] = field(default_factory=dict)
    _renewed: dict[str, float] = field(default_factory=dict)

    def keep(self, is_over: Callable[[], bool]) -> None:
        """Renew everything until `is_over`, then remove everything."""
        with ThreadPoolExecutor(THREADS) as threads:
            while not is_over():
                self._look()
                now = self.clock.now()
                for name in [name for name, at in self._renewed.items() if now - at >= RENEW_S]:
                    self._renewed[name] = now
                    threads.submit(self._kept[name].renew)  # one that fails is repeated in its turn
                self.clock.sleep(LOOK_S)
            self._look()
            list(threads.map(self._remove, [name for name in self._kept if not name.startswith(NAMESPACE)]))
        for name in self._kept:
            if name.startswith(NAMESPACE):
                self._remove(name)

    def _look(self) -> None:
        for file in self.folder.glob(f"*{_KEPT}"):
            if file.name not in self._kept:
                self._kept[file.name] = self.opener(json.loads(file.read_text(encoding="utf-8")))
                self._renewed[file.name] = self.clock.now()

    def _remove(self, name: str) -> None:
        for _attempt in range(TRIES):
            try:
                self._kept[name].remove()
                return
            except Exception:  # nobody is left to tell; a pod ends by itself
                self.clock.sleep(PAUSE_S)


def _close_all(lock: int) -> None:
    """Close all other files: a reader of ansible-playbook's output waits until every process has closed it."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)
    os.closerange(3, lock)
    os.closerange(lock + 1, os.sysconf("SC_OPEN_MAX") if os.sysconf("SC_OPEN_MAX") < 1_000_000 else 65536)
