# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs of every Windows Server, as `run` ops."""

from __future__ import annotations

from collections.abc import Sequence

from .batch import Op

SYSTEM32 = r"C:\Windows\System32"
SC = SYSTEM32 + r"\sc.exe"
POWERSHELL = SYSTEM32 + r"\WindowsPowerShell\v1.0"
WINDOWS_PATH = (SYSTEM32, r"C:\Windows", SYSTEM32 + r"\Wbem", POWERSHELL)
"""The folders in every Windows Server's Path, in its order; our own Paths end with them."""

ALREADY_RUNNING = 1056
CANNOT_ACCEPT = 1061
DEPENDANTS_RUN = 1051
NOT_INSTALLED = 1060
MARKED_FOR_DELETION = 1072
ALREADY_EXISTS = 1073
NOT_STARTED = 1062


ANY_EXIT = ("any",)
"""Every exit code, of which Windows has 2^32: only the program's output counts."""


def run(
    program: str, *args: str, ok_exit: Sequence[int | str] = (0,), timeout_s: int = 60, encoding: str = "oem"
) -> Op:
    """One program with an argument list."""
    return Op(
        "run",
        {
            "program": program,
            "args": list(args),
            "ok_exit": list(ok_exit),
            "timeout_s": timeout_s,
            "encoding": encoding,
        },
    )


def sc(*args: str, ok_exit: Sequence[int | str] = (0,)) -> Op:
    """sc.exe. Options such as `binPath=` and their values are two arguments."""
    return run(SC, *args, ok_exit=ok_exit)


def restore_value(path: str, name: str) -> Op:
    """For an undo: the registry value as it is when the node takes the batch, or none. The node itself notes it, in the
    batch's closed folder: it may be a secret, and what a node answers is printed at -vvv."""
    return Op("registry_set", {"path": path, "name": name, "present": True}, noted=("value",))


def wait_service(name: str, state: str, timeout_s: int, stable_s: int = 0) -> Op:
    """Wait until the service is in `state`, and has been for `stable_s` seconds."""
    return Op("wait", {"for": "service", "name": name, "state": state, "timeout_s": timeout_s, "stable_s": stable_s})


def wait_gone(program: str, timeout_s: int) -> Op:
    """Wait until no process runs `program`: the file of a stopped service may still be in use."""
    return Op("wait", {"for": "process_gone", "path": program, "timeout_s": timeout_s})


def wait_pipe(name: str, timeout_s: int) -> Op:
    r"""Wait until `\\.\pipe\<name>` exists."""
    return Op("wait", {"for": "pipe", "name": name, "timeout_s": timeout_s})


def wait_run(
    program: str, *args: str, timeout_s: int, ok_exit: Sequence[int | str] = (0,), encoding: str = "utf-8"
) -> Op:
    """Repeat the program until it ends with one of `ok_exit`."""
    wanted = {
        "for": "run",
        "program": program,
        "args": list(args),
        "ok_exit": list(ok_exit),
        "encoding": encoding,
        "timeout_s": timeout_s,
    }
    return Op("wait", wanted)


def move(old: str, new: str) -> Op:
    """Rename a file; the undo renames it back."""
    return Op("move", {"from": old, "to": new}).with_undo(Op("move", {"from": new, "to": old}))


def halt(name: str, timeout_s: int) -> Op:
    """Stop a service after its present dependants, whatever state they are in; for undos. The process of a service
    that hangs while starting or stopping is ended. Harmless if there is none."""
    return Op("halt", {"name": name, "timeout_s": timeout_s})


def stop_ops(name: str, program: str, timeout_s: int) -> tuple[Op, ...]:
    """Stop a service and wait until its process is gone. Harmless if it is stopped or stopping."""
    return (
        sc("stop", name, ok_exit=(0, NOT_STARTED, CANNOT_ACCEPT)),
        wait_service(name, "stopped", timeout_s),
        *((wait_gone(program, timeout_s),) if program else ()),
    )


def start_ops(name: str, timeout_s: int) -> tuple[Op, ...]:
    """Start a service and wait until it runs. Harmless if it runs."""
    return (sc("start", name, ok_exit=(0, ALREADY_RUNNING)), wait_service(name, "running", timeout_s))


def remove_ops(name: str, program: str, timeout_s: int = 120) -> tuple[Op, ...]:
    """Stop and delete a service, and wait until both it and its process are gone. Harmless if it is not there.

    A new service starts by itself when the machine boots in the middle of a batch, so stop it first.
    """
    return (
        halt(name, timeout_s),
        wait_gone(program, timeout_s),
        sc("delete", name, ok_exit=(0, NOT_INSTALLED, MARKED_FOR_DELETION)),
        wait_service(name, "absent", timeout_s),
    )
