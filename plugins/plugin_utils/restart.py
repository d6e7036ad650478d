# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Restarting the machine, and knowing when it is really back.

A node that has come back answers twice with a new boot id: WinRM comes up to two minutes after SSH, first answers with
401 and 503, and the switch of an HNS network can take the first connection down again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .engine.batch import Batch
from .engine.plan import Step
from .engine.reading import Expectation, Reading, system_query
from .engine.resource import Refused
from .engine.tools import SYSTEM32, run
from .node.link import Link, NodeError

SHUTDOWN = SYSTEM32 + r"\shutdown.exe"
DELAY_S = 5
"""So long the node waits before it goes down: long enough for the answer to the batch."""
REASON_CODE = "p:2:4"
"""Planned, operating system, reconfiguration. Source: learn.microsoft.com, shutdown, /d; the list in `shutdown /?`."""
IN_PROGRESS = 1115
ALREADY_SCHEDULED = 1190
"""Source: learn.microsoft.com, System Error Codes: ERROR_SHUTDOWN_IN_PROGRESS, ERROR_SHUTDOWN_IS_SCHEDULED."""
COMMENT_LIMIT = 512
"""Characters that `/c` takes. Source: learn.microsoft.com, shutdown."""

FIRST_PAUSE_S = 2.0
LONGEST_PAUSE_S = 5.0
CONFIRM_S = 5.0
"""Between the first answer of a machine that is back and the second."""


def step(reasons: Sequence[str]) -> Step:
    """The restart as a step of the plan."""
    return Step("the machine", f"restart the machine: {'; '.join(reasons)}")


def waits_sentence(host: str, reasons: Sequence[str]) -> str:
    """What is said where the machine may not be restarted."""
    return (
        f"{host} has to be restarted before all of this is in force: {'; '.join(reasons)}. It was not restarted, "
        "since the option reboot is false; restart it and run again."
    )


def batch(component: str, reasons: Sequence[str], reading: Reading) -> Batch:
    """One op that restarts the machine; it does nothing if the machine has been restarted since it was read. Refused
    for a machine that does not tell one boot from another: nobody could say when it is back."""
    if not reading.boot_id:
        raise Refused(
            f"{component}: the machine has to be restarted ({'; '.join(reasons)}), but cannot say when it was started "
            "(neither the boot loader's counter BootId nor the start of process 4 can be read), so nobody could tell "
            "when it is back. It was not restarted: do it yourself, then run again."
        )
    comment = f"winkube: {'; '.join(reasons)}"[:COMMENT_LIMIT]
    op = run(
        SHUTDOWN,
        *("/r", "/t", str(DELAY_S), "/c", comment, "/d", REASON_CODE),
        ok_exit=(0, IN_PROGRESS, ALREADY_SCHEDULED),
    )
    same_boot = Expectation(system_query(), (("machine", reading.machine), ("boot_id", reading.boot_id)))
    return Batch(component, (op,), pre=(same_boot,), deadline_s=120)


def wait_until_back(link: Link, boot_id: str, timeout_s: float) -> None:
    """Return when the node has answered twice in a row with another boot id than `boot_id`.

    NodeError if it does not within `timeout_s` seconds. Every exception of the connection counts as "not yet": each
    connection plugin has its own, and a machine that starts answers with 401 and 503 for a while.
    """
    started = told = link.clock.now()
    pause = FIRST_PAUSE_S
    seen = "nothing"
    answers = 0
    while True:
        link.clock.sleep(CONFIRM_S if answers else pause)
        pause = min(pause * 1.5, LONGEST_PAUSE_S)
        try:
            if not answers:
                link.renew()
            found = _boot_id(link.probe((system_query(),), again=False))
            answers = answers + 1 if found != boot_id else 0
            seen = "the machine still runs as before" if found == boot_id else "the machine is back"
        except Exception as error:  # connection plugins raise many types; each means: not yet
            answers, seen = 0, str(error)
        if answers == 2:
            return
        now = link.clock.now()
        if now - told >= link.progress_s:
            told = now
            link.said(f"waiting for the machine to come back, {now - started:.0f} s so far; last seen: {seen}")
        if now - started >= timeout_s:
            raise NodeError(
                f"The machine was told to restart, but did not come back within {timeout_s:g} s; last seen: {seen}. "
                "Look at its console and run again when it can be reached; reboot_timeout gives it more time."
            )


def _boot_id(parts: Mapping[str, Any]) -> str:
    system = parts.get("system") or {}
    found = str(system.get("boot_id") or "")
    if not found:
        raise NodeError(f"the machine could not say when it was started: {system.get('error', 'no boot id')}")
    return found
