# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether CRI really answers over the port that was opened: asked from the controller.

A port that takes connections proves nothing: with the address alone containerd listens, speaks HTTP/2, and knows no
CRI.
"""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from ..cri.client import CriClient, CriError
from ..cri.client import Tls as ClientTls

UNKNOWN_SERVICE = "UNIMPLEMENTED"
TIMEOUT_S = 10
_SSH_S = 30

Ask = Callable[[str, ClientTls | None], Mapping[str, Any]]
"""The answer to CRI's call Version at `host:port`. CriError."""

Command = Callable[[Sequence[str]], Sequence[str | bytes]]
"""The command line of ssh with these options, for the host and with the settings of Ansible's connection."""


class ProofError(Exception):
    """The port is open, and CRI does not answer there, or not where somebody has to know. A sentence."""


class UnreachableError(Exception):
    """The controller has no way to the port; the text says why, without a full stop."""


def ask(address: str, tls: ClientTls | None) -> Mapping[str, Any]:
    """Over gRPC."""
    with CriClient(address, tls, TIMEOUT_S) as client:
        return client.version()


def not_asked(why: str) -> dict[str, Any]:
    """The result where nothing was asked."""
    return {"proven": False, "runtime": "", "reason": why}


def proof(address: str, tls: ClientTls | None, *, required: bool, ask: Ask = ask) -> dict[str, Any]:
    """`{proven, runtime, reason}`. ProofError if what answers there is no CRI, or if nothing answers and `required`:
    the controller may be none of the machines that the firewall lets in, so a port that it cannot reach proves nothing
    either way."""
    try:
        answer = ask(address, tls)
    except CriError as error:
        if error.code == UNKNOWN_SERVICE:
            raise ProofError(f"The port was opened, but {error}") from error
        return unproven(str(error).rstrip("."), required=required)
    runtime = f"{answer.get('runtimeName', '')} {answer.get('runtimeVersion', '')}".strip()
    return {"proven": True, "runtime": runtime, "reason": ""}


def unproven(why: str, *, required: bool) -> dict[str, Any]:
    """The result where nobody answered. ProofError if somebody had to."""
    if required:
        raise ProofError(f"The port is open on the node, but that CRI answers there could not be proven: {why}.")
    return not_asked(why)


def warning(found: Mapping[str, Any]) -> str:
    """What to say of a port that is open and about which no more is known; empty if CRI answered."""
    if found["proven"]:
        return ""
    return f"The port is open on the node, but that CRI answers there is not proven: {found['reason']}."


@contextmanager
def forwarded(command: Command, host: str, port: int) -> Iterator[str]:
    """A port of the controller that leads to `host:port` as the node sees it, through the SSH connection that Ansible
    has open; yields its `host:port`. UnreachableError if there is no such connection."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        local = free.getsockname()[1]
    far = f"[{host}]" if ":" in host else host
    way = ["-L", f"127.0.0.1:{local}:{far}:{port}"]
    _ssh(command(["-O", "forward", *way]))
    try:
        yield f"127.0.0.1:{local}"
    finally:
        with suppress(UnreachableError):  # the connection has gone, and the port with it
            _ssh(command(["-O", "cancel", *way]))


def _ssh(argv: Sequence[str | bytes]) -> None:
    try:
        done = subprocess.run(list(argv), capture_output=True, stdin=subprocess.DEVNULL, timeout=_SSH_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnreachableError(f"ssh could not be asked to forward a port ({error})") from error
    if done.returncode != 0:
        said = " ".join(done.stderr.decode(errors="replace").split()).rstrip(".")
        raise UnreachableError(f"Ansible's SSH connection forwards no port ({said or done.returncode})")
