# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""OpenSSH's settings that detect a silent node, and that end its shared connection with it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from contextlib import suppress
from typing import Any

KEEP_ALIVE = "-o ServerAliveInterval=15 -o ServerAliveCountMax=4"
"""A probe every 15 s, of which a node may miss three: after a minute the connection ends. Without it ssh waits
forever for a node that sends neither FIN nor RST. Source: ssh_config(5)."""
EXIT_S = 5.0
"""Seconds that a shared connection gets to end when it is told to."""


def add_keep_alive(arguments: str | None) -> str:
    """ssh's arguments followed by ours: OpenSSH uses an option's first value, so an earlier one wins."""
    said = (arguments or "").strip()
    return said if KEEP_ALIVE in said else f"{said} {KEEP_ALIVE}".strip()


def keep_alive(connection: Any) -> None:
    """Set this for a task's connection, whatever the host's inventory; connections other than ssh stay unchanged."""
    if _is_ssh(connection):
        for option in ("ssh_extra_args", "sftp_extra_args", "scp_extra_args"):
            connection.set_option(option, add_keep_alive(connection.get_option(option)))


def end_master(connection: Any) -> None:
    """End the process that keeps a connection open for several calls (ControlPersist): a dead one would block the
    next call. Ansible's own `reset` only stops it from taking more calls."""
    build = getattr(connection, "_build_command", None)
    if not _is_ssh(connection) or build is None:
        return
    ssh, host = connection.get_option("ssh_executable"), connection.get_option("host")
    pid = re.search(r"\(pid=(\d+)\)", _ask_master(build(ssh, "ssh", "-O", "check", host)))
    if pid is None:
        return
    _ask_master(build(ssh, "ssh", "-O", "exit", host))
    # It says goodbye to the node first, and may wait forever until that is sent.
    until = time.perf_counter() + EXIT_S
    with suppress(OSError):
        while time.perf_counter() < until:
            os.kill(int(pid[1]), 0)
            time.sleep(0.02)
        os.kill(int(pid[1]), signal.SIGKILL)


def _ask_master(command: list[bytes]) -> str:
    """The reply of the shared connection's process; empty if there is none."""
    with suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=EXIT_S)
        return (done.stdout + done.stderr).decode(errors="replace")
    return ""


def _is_ssh(connection: Any) -> bool:
    return getattr(connection, "transport", "") == "ssh"
