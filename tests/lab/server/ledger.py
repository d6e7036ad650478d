"""What the lab counted: remote calls, connections, bytes and module names, per node.

A remote call is one SSH channel that runs something: an exec channel or a subsystem channel (SFTP), one WinRM command,
or one pipeline of PSRP. Bytes are those of the channels (command line, stdin, stdout, stderr, file content), not of
TCP: padding and key exchange would make equal work differ. `winrm_messages` are the SOAP requests, of which a command
takes several. What was set up for the calls are `connections`, each with a login, and `shells`: WinRM shells and
runspace pools.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Account:
    """One node's figures since the last reset."""

    connections: int = 0
    refused_connections: int = 0
    failed_logins: int = 0
    execs: int = 0
    subsystems: int = 0
    winrm_commands: int = 0
    winrm_messages: int = 0
    shells: int = 0
    pipelines: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    aborted: int = 0
    modules: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)

    @property
    def remote_calls(self) -> int:
        return self.execs + self.subsystems + self.winrm_commands + self.pipelines

    def as_dict(self) -> dict[str, Any]:
        return {"remote_calls": self.remote_calls, **asdict(self)}


class Ledger:
    """Thread-safe accounts of all nodes of a lab."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._accounts: dict[str, Account] = {}
        self._logged: dict[str, dict[str, None]] = {}

    def _account(self, node: str) -> Account:
        return self._accounts.setdefault(node, Account())

    def add(self, node: str, **amounts: int) -> None:
        """Add to the counters of a node, e.g. `add("win1", execs=1, bytes_in=170000)`."""
        with self._lock:
            account = self._account(node)
            for name, amount in amounts.items():
                setattr(account, name, getattr(account, name) + amount)

    def module(self, node: str, name: str) -> None:
        """Note that an Ansible module was asked for, by its full name."""
        with self._lock:
            self._account(node).modules.append(name)

    def log(self, node: str, *texts: str) -> None:
        """What Windows would log where auditing is on: command lines (4688), script blocks (4104). No reset ends it."""
        with self._lock:
            self._logged.setdefault(node, {}).update(dict.fromkeys(texts))

    def logged(self, node: str) -> list[str]:
        """Each text once."""
        with self._lock:
            return list(self._logged.get(node, ()))

    def command(self, node: str, text: str) -> None:
        """Note a plain command (one that is not an Ansible payload)."""
        with self._lock:
            self._account(node).commands.append(text)

    def read(self, nodes: Iterable[str] = ()) -> dict[str, dict[str, Any]]:
        """The accounts as plain data; nodes named here are listed even when nothing was counted."""
        with self._lock:
            for name in nodes:
                self._account(name)
            return {name: account.as_dict() for name, account in sorted(self._accounts.items())}

    def node(self, name: str) -> Account:
        """A copy of one node's account."""
        with self._lock:
            account = self._account(name)
            return Account(**asdict(account))

    def reset(self) -> None:
        with self._lock:
            self._accounts.clear()
