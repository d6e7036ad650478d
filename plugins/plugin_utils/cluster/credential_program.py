# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A program that gives credentials (`exec` of a kubeconfig), and new ones when they expire.

Source: client-go v0.37.1 plugin/pkg/client/auth/exec/exec.go; pkg/apis/clientauthentication/v1/types.go.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any

from ..engine.secret import NO_BYTES, NO_TEXT, Secret
from .answer import decode_object, read_first_line
from .error import ClusterError
from .kubeconfig import VERSIONS, ExecEntry

PROGRAM_S = 60
"""How long a program may take to give credentials, in seconds."""
PROGRAM_BYTES = 1024 * 1024
"""How much it may write. A header of a megabyte is more than any API server takes."""
_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
SKEW = timedelta(minutes=1)
"""Credentials that expire so soon are replaced before they are sent."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """A token, a client certificate and its key in PEM, or both."""

    token: Secret[str] = NO_TEXT
    certificate: bytes = field(default=b"", repr=False)
    key: Secret[bytes] = NO_BYTES
    expires: datetime | None = None


class CredentialProgram:
    """The program of a user. `renewed` is called with credentials whose certificate is another than before."""

    def __init__(self, entry: ExecEntry, folder: Path, cluster: Mapping[str, Any]) -> None:
        self._entry = entry
        # A path is relative to its kubeconfig, a name alone is looked for in PATH.
        command = str(folder / entry.command) if os.sep in entry.command else entry.command
        self._line = [command, *entry.args]
        self._told: dict[str, Any] = {"interactive": False}
        if entry.provide_cluster_info:
            self._told["cluster"] = cluster
        self.renewed: Callable[[Credentials], None] = lambda _credentials: None
        self.found = self._ask()

    def authorization(self) -> str:
        """Header of a request that is sent now."""
        if self.found.expires and datetime.now(UTC) > self.found.expires - SKEW:
            before, self.found = self.found, self._ask()
            if (before.certificate, before.key) != (self.found.certificate, self.found.key):
                self.renewed(self.found)
        return f"Bearer {self.found.token.reveal().strip()}" if self.found.token else ""

    def forget(self) -> bool:
        """The server does not know what the program gave: the next request asks it again, whatever it said of its end.
        A clock may be wrong, here or there."""
        self.found = replace(self.found, expires=_LONG_AGO)
        return True

    def _ask(self) -> Credentials:
        """ClusterError if the program gives none.

        A worker of Ansible has no terminal. Source: client-go, exec.go isInteractive.
        """
        entry, program = (
            self._entry,
            f"cluster.kubeconfig: the program {self._entry.command}, which gives the credentials,",
        )
        if entry.interactive_mode == "Always":
            raise ClusterError(
                f"{program} asks its user at a terminal (interactiveMode: Always), and a task has none. Name a "
                "kubeconfig with other credentials; or set interactiveMode: IfAvailable, if the program asks nothing "
                "after you have logged in with it."
            )
        if entry.api_version not in VERSIONS:
            raise ClusterError(f"{program} has an apiVersion that is neither {' nor '.join(VERSIONS)}.")
        told = {"apiVersion": entry.api_version, "kind": "ExecCredential", "spec": self._told}
        environment = {**os.environ, **dict(entry.env), "KUBERNETES_EXEC_INFO": json.dumps(told)}
        try:
            code, output, errors = _run(self._line, environment)
        except (OSError, ValueError) as error:  # ValueError: a NUL in an argument
            hint = read_first_line(" ".join(entry.install_hint.split()).encode())
            raise ClusterError(
                f"{program} cannot be run: {error}.{f' The kubeconfig says: {hint}' if hint else ''}"
            ) from error
        if code != 0:
            raise ClusterError(f"{program} ended with {code}: {read_first_line(errors) or 'no reason given'}.")
        found = _read_credentials(output, entry.api_version)
        if found is None:  # no words of its own: they may quote a token
            raise ClusterError(
                f"{program} wrote no ExecCredential of {entry.api_version} with a token, or with a certificate and its "
                "key."
            )
        return found


def _run(line: list[str], environment: Mapping[str, str]) -> tuple[int, bytes, bytes]:
    """Exit code, output, and the beginning of what it wrote as errors. OSError if it cannot be run, writes too much, or
    takes too long; it is then ended."""
    end = time.monotonic() + PROGRAM_S
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(line, env=environment, **pipes) as process:  # type: ignore[call-overload]
        try:
            output, errors = _listen(process.stdout, process.stderr, end)
            return process.wait(max(end - time.monotonic(), 0.1)), output, errors
        except subprocess.TimeoutExpired:
            raise TimeoutError(_late()) from None
        finally:
            process.kill()


def _late() -> str:
    return f"it has not ended after {PROGRAM_S} s"


def _listen(stdout: IO[bytes], stderr: IO[bytes], end: float) -> tuple[bytes, bytes]:
    output, errors = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        for pipe, found in ((stdout, output), (stderr, errors)):
            selector.register(pipe, selectors.EVENT_READ, found)
        while selector.get_map():
            ready = selector.select(max(end - time.monotonic(), 0))
            if not ready:
                raise TimeoutError(_late())
            for key, _events in ready:
                piece = os.read(key.fd, 65536)
                if not piece:
                    selector.unregister(key.fileobj)
                elif key.data is output or len(errors) < 65536:
                    key.data.extend(piece)
            if len(output) > PROGRAM_BYTES:
                raise OSError(f"it wrote more than {PROGRAM_BYTES} bytes")
    return bytes(output), bytes(errors)


def _read_credentials(output: bytes, version: str) -> Credentials | None:
    """What the ExecCredential in `output` has; None if it is none, or has too little."""
    said = decode_object(output)
    if said is None or said.get("apiVersion") != version or not isinstance(said.get("status"), dict):
        return None
    status: dict[str, Any] = said["status"]
    names = ("token", "clientCertificateData", "clientKeyData", "expirationTimestamp")
    given = [status.get(name) or "" for name in names]
    if not all(isinstance(each, str) for each in given):
        return None
    token, certificate, key, until = given
    if bool(certificate) != bool(key) or not (token.strip() or certificate):
        return None
    try:
        expires = datetime.fromisoformat(until).astimezone(UTC) if until else None
    except (ValueError, OverflowError):
        return None
    return Credentials(Secret(token), certificate.encode(), Secret(key.encode()), expires)
