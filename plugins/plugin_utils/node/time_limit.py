# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ends a call of a connection plugin that does not come back.

A node that goes silent (its external vSwitch, a loss of power) sends neither FIN nor RST, so that the plugin would
wait for hours. The means is that of Ansible's task keyword `timeout`: an alarm, whose handler raises in the main
thread, where Ansible's workers run their tasks. So no thread is left behind, and Ctrl-C works as ever.
"""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import FrameType
from typing import TypeVar

T = TypeVar("T")
AGAIN_S = 5.0
"""So long what is done while the call ends may take, such as telling a silent node that a command is over."""
END_S = 2.0
"""So long a program has to end when it is told to."""


class NoAnswerError(Exception):
    """The time was up; `seconds` is how much there was."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no answer for {seconds:g} s")
        self.seconds = seconds


class _TimeUp(BaseException):
    """No Exception: a plugin that tries again after any of those has to let it pass."""


def within(seconds: float, work: Callable[[], T]) -> T:
    """What `work` returns or raises. NoAnswerError if it takes longer than `seconds`; the programs that it was waiting
    for are then ended.

    A task's own `timeout` that is up earlier stays as it is. Without a limit outside of the main thread, which alone
    gets signals.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    theirs = signal.getitimer(signal.ITIMER_REAL)[0]
    if 0 < theirs <= seconds:
        return work()
    over = False

    def up(number: int, frame: FrameType | None) -> None:
        if not over:
            raise _TimeUp

    before = signal.signal(signal.SIGALRM, up)
    started = time.perf_counter()
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_S)
        answer = work()
        over = True
        return answer
    except _TimeUp as time_up:
        over = True
        _end(list(_programs(time_up)))
        raise NoAnswerError(seconds) from None
    finally:
        over = True
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if theirs:
            signal.setitimer(signal.ITIMER_REAL, max(theirs - (time.perf_counter() - started), 0.001))


def _programs(error: BaseException | None) -> Iterator[subprocess.Popen[bytes]]:
    """Those that the interrupted functions were waiting for: Ansible's ssh plugin leaves its ssh running."""
    while error is not None:
        traceback = error.__traceback__
        while traceback is not None:
            yield from (value for value in traceback.tb_frame.f_locals.values() if isinstance(value, subprocess.Popen))
            traceback = traceback.tb_next
        error = error.__context__


def _end(programs: list[subprocess.Popen[bytes]]) -> None:
    for program in programs:
        with suppress(OSError):
            program.terminate()
    for program in programs:
        try:
            program.wait(END_S)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()
