# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A limit for the whole of a work whose library limits only each piece of it: a server that sends one byte a second
never exceeds such a limit."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def run_within(limit_s: float, work: Callable[[], T]) -> T:
    """The result or exception of `work`; TimeoutError if it takes longer than `limit_s` seconds. It runs in a thread,
    which is abandoned when it is late."""
    done: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, name="winkube-limited", daemon=True)
    thread.start()
    thread.join(limit_s)
    if failed:
        raise failed[0]
    if not done:
        raise TimeoutError(f"no end after {limit_s:g} s")
    return done[0]
