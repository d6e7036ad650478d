# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deletes a pod when the run that made it is over, however it ended.

Ansible tells a connection plugin the end of a task, not the end of a run. So the pod's maker leaves a process behind,
as ssh does for ControlPersist: it waits for the end of ansible-playbook, deletes the pod and ends.

A file of its own: it forks, and nothing else here does.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

LOOK_S = 0.5
TRIES = 5
PAUSE_S = 3.0


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


def run_when_over(pid: int, work: Callable[[], object]) -> None:
    """Run `work` once the process `pid` is over, and repeat it if it raises. Returns at once."""
    began = identity(pid)
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    # In the child: whatever happens, none of the parent's code may run a second time.
    with suppress(BaseException):
        if os.fork() == 0:
            os.setsid()
            _close_all()
            while identity(pid) == began:
                time.sleep(LOOK_S)
            _insist(work)
    os._exit(0)


def _insist(work: Callable[[], object]) -> None:
    for _attempt in range(TRIES):
        try:
            work()
            return
        except Exception:  # nobody is left to tell; the pod ends by its own time limit
            time.sleep(PAUSE_S)


def _close_all() -> None:
    """Close all files: a reader of ansible-playbook's output waits until every process has closed it."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX") if os.sysconf("SC_OPEN_MAX") < 1_000_000 else 65536)
