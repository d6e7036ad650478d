# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The end of a run: what its own process does last, and the process that cleans up behind it, for which it waits.

A worker of Ansible leaves such a process (a keeper) behind. It cleans up once the run's own process has ended. Where
that is a container's first one, its end is the keeper's too: so the run asks for the clean-up first, and waits for it.
The two share a folder: the keeper holds a lock in it for as long as it lives.
"""

from __future__ import annotations

import atexit
import fcntl
import hashlib
import multiprocessing
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

LOCK, END = "lock", "end"
WAIT_S = 60.0
_LOOK_S = 0.05


def identity(pid: int) -> str:
    """When a process started, which distinguishes it from a later one with its number; empty if it has ended."""
    try:
        # Linux: the fields after the name in brackets, state first. Source: proc_pid_stat(5).
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return "" if fields[0] in "ZX" else fields[19]
    except FileNotFoundError:
        pass
    said = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout.strip()
    return "" if said.startswith("Z") else said.partition(" ")[2].strip()


def run_pid() -> int:
    """The process of the run: the parent of a worker, which most code is in."""
    return os.getpid() if multiprocessing.parent_process() is None else os.getppid()


def run_mark(pid: int) -> str:
    """Identifies the run whose process is `pid`; 16 hexadecimal digits."""
    return hashlib.sha256(f"{socket.gethostname()} {pid} {identity(pid)}".encode()).hexdigest()[:16]


def run_folder(temporary: Path, pid: int) -> Path:
    """The folder of the run `pid`. Beside its temporary folder, which Ansible deletes before the run is over."""
    return temporary.parent / f"winkube-run-{run_mark(pid)}"


_DUE: list[Callable[[], bool]] = []
"""Whether there is something to do at the end, of each that `at_end` was told."""


def at_end(is_due: Callable[[], bool], work: Callable[[], None]) -> None:
    """From here on this process, the run's own, does `work` before it ends, if it `is_due`; after Ctrl-C as well, and
    after SIGTERM, which then ends a run as Ctrl-C does. Does nothing in a worker."""
    if multiprocessing.parent_process() is not None:
        return
    own = os.getpid()

    def finish() -> None:
        if os.getpid() == own and is_due():
            work()

    atexit.register(finish)
    _DUE.append(is_due)
    if len(_DUE) > 1 or threading.current_thread() is not threading.main_thread():
        return
    before = signal.getsignal(signal.SIGTERM)

    def end(number: int, frame: FrameType | None) -> None:
        interrupt = signal.getsignal(signal.SIGINT)
        if os.getpid() == own and callable(interrupt) and any(is_due() for is_due in _DUE):
            interrupt(signal.SIGINT, frame)
        elif callable(before):
            before(number, frame)
        else:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    signal.signal(signal.SIGTERM, end)


def end_with_keeper(temporary: Path) -> None:
    """From here on the run's own process does not end before its keeper has."""
    folder = run_folder(temporary, os.getpid())
    at_end((folder / LOCK).exists, lambda: await_keeper(folder))


def await_keeper(folder: Path) -> None:
    """Ask the keeper for its end, and wait for it, at most WAIT_S. Returns at once if there is none."""
    end = time.monotonic() + WAIT_S
    try:
        with (folder / LOCK).open("ab") as lock:
            (folder / END).touch()
            while time.monotonic() < end:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return
                except BlockingIOError:
                    time.sleep(_LOOK_S)
    except OSError:  # there is no keeper, or it is done and has removed the folder
        return
