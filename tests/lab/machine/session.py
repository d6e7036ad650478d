"""A remote session: a user, whether elevated, and the process under which everything of it runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(eq=False)
class Session:
    """pid: the session's own process; it, and all processes under it, end with the session."""

    user: str
    elevated: bool
    pid: int
    killed: bool = False
    console: bool = False
    """At the machine itself: it needs no network."""
    lingers: bool = False
    """It outlives its connections, as a WinRM shell does until it is deleted or has been idle too long."""


@dataclass(frozen=True)
class Reply:
    """What a session's command gives back on its channel."""

    stdout: bytes = b""
    stderr: bytes = b""
    exit_status: int = 0
