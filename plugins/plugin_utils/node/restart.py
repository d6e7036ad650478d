# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Restart the machine, and find out when it is really back.

A node is back when it has answered twice with the same new boot id. One answer is not enough: WinRM starts up to two
minutes after SSH and first answers 401 and 503, and an HNS network's switch can break the first connection. Windows may
also be configuring features, and restart once more. So the node must reach the logon screen (nobody needs to log on),
or keep its boot id for SETTLED_S.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..engine.batch import Batch
from ..engine.plan import Step
from ..engine.reading import Expectation, Query, Reading, system_query
from ..engine.resource import Refused
from ..engine.tools import SYSTEM32, run
from .link import Link, NodeError

SHUTDOWN = SYSTEM32 + r"\shutdown.exe"
DELAY_S = 5
"""Seconds that the node waits before it goes down: long enough for the answer to the batch."""
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
"""Seconds between the first answer of a machine that is back and the second."""
SETTLED_S = 90.0
"""Seconds for which the boot id must stay the same if the machine does not report its logon screen. Unverified: how
long Windows answers while it configures features."""
LOGON_SCREEN = Query(
    "registry:logon screen",
    "registry",
    (("path", r"HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion\Winlogon\AutoLogonChecked"),),
)
"""A key that is lost at each boot and made with the logon screen, after Windows has configured its features.
microsoft.ad waits for it after a promotion. The keys of pending restarts do not help: other updates leave them set
across a restart (chocolatey/choco#1768, dpaulson45/HealthChecker#229). Nor does TrustedInstaller, which also looks
for updates (unverified)."""
PRESHUTDOWN = Query(
    "registry:kubelet preshutdown",
    "registry",
    (("path", r"HKLM\SYSTEM\CurrentControlSet\Services\kubelet"), ("name", "PreshutdownTimeout")),
)
"""Milliseconds for which Windows lets the kubelet end pods before the machine goes down; it answers meanwhile. The
kubelet sets it to its grace period. Source: kubernetes v1.37.1
pkg/kubelet/nodeshutdown/nodeshutdown_manager_windows.go (UpdatePreShutdownInfo); the value's place in the registry
is unverified."""


def step(reasons: Sequence[str]) -> Step:
    """The restart as a step of the plan."""
    return Step("the machine", f"restart the machine: {'; '.join(reasons)}")


def waits_sentence(host: str, reasons: Sequence[str]) -> str:
    """The warning if the machine may not be restarted."""
    return (
        f"{host} has to be restarted before all of this is in force: {'; '.join(reasons)}. It was not restarted, "
        "since the option reboot is false; restart it and run again."
    )


def batch(component: str, reasons: Sequence[str], reading: Reading) -> Batch:
    """One op that restarts the machine, unless it was restarted since it was read. Refused for a machine that does
    not distinguish its boots: its return could not be noticed."""
    if not reading.boot_id:
        raise Refused(
            f"{component}: the machine has to be restarted ({'; '.join(reasons)}), but cannot say when it was started "
            "(neither the boot loader's counter BootId nor the start of process 4 can be read), so it would be unknown "
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
    """Wait for two successive answers with the same boot id other than `boot_id`, and for the logon screen or
    SETTLED_S.

    NodeError after `timeout_s` seconds. Every exception of the connection counts as "not yet": each connection plugin
    has its own, and a starting machine answers 401 and 503 for a while.
    """
    started = link.clock.now()
    wait = link.wait("waiting for the machine to come back")
    pause = FIRST_PAUSE_S
    seen = "nothing"
    answers, new, since = 0, "", 0.0
    grace = 0.0
    while True:
        wait.sleep(CONFIRM_S if answers else pause, seen)
        pause = min(pause * 1.5, LONGEST_PAUSE_S)
        try:
            if not answers:
                link.renew()
            parts = link.probe((system_query(), LOGON_SCREEN, PRESHUTDOWN), again=False)
            found = _boot_id(parts)
            if found == boot_id:
                grace = _grace_s(parts)
            if found != new:
                answers, new, since = 0, found, link.clock.now()
            answers = answers + 1 if found != boot_id else 0
            seen = "the machine still runs as before" if found == boot_id else "the machine is back"
            settled = _is_at_logon(parts) or link.clock.now() - since >= SETTLED_S
            if answers and not settled:
                seen = "the machine is back, and Windows is not at its logon screen yet"
        except Exception as error:  # connection plugins raise many types; each means: not yet
            answers, seen = 0, str(error)
        if answers >= 2 and settled:
            return
        wait.say(seen)
        if link.clock.now() - started >= timeout_s + grace:
            raise NodeError(
                f"The machine was told to restart, but did not come back within {timeout_s + grace:g} s; last seen: "
                f"{seen}. Look at its console and run again when it can be reached; reboot_timeout gives it more time."
            )


def _is_at_logon(parts: Mapping[str, Any]) -> bool:
    return bool((parts.get(LOGON_SCREEN.key) or {}).get("exists"))


def _grace_s(parts: Mapping[str, Any]) -> float:
    milliseconds = str((parts.get(PRESHUTDOWN.key) or {}).get("value") or "")
    return int(milliseconds) / 1000 if milliseconds.isdecimal() else 0.0


def _boot_id(parts: Mapping[str, Any]) -> str:
    system = parts.get("system") or {}
    found = str(system.get("boot_id") or "")
    if not found:
        raise NodeError(f"the machine could not say when it was started: {system.get('error', 'no boot id')}")
    return found
