# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services that speak to the service control manager themselves, made by sc.exe or by their own
`--register-service`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import command_line
from ..batch import Op
from ..environment import Entry, name_all, names
from ..tools import remove_ops, restore_value, run, sc
from .definition import AUTOMATIC, Difference, Recovery

SERVICES_KEY = r"HKLM\SYSTEM\CurrentControlSet\Services"


def set_variables(key: str, name: str, entries: tuple[Entry, ...]) -> tuple[Op]:
    """A service's variables as one registry value, never as a program's arguments, which other users can see."""
    if not entries:
        return (Op("registry_remove", {"path": key, "name": name}),)
    value = [entry.text for entry in entries]
    return (Op("registry_set", {"path": key, "name": name, "type": "multi_string", "value": value}),)


def set_recovery(name: str, recovery: Recovery) -> tuple[Op, Op]:
    """Set what Windows does when the service `name` ends."""
    actions = "/".join(f"{'' if what == 'none' else what}/{delay}" for what, delay in recovery.actions)
    return (
        sc("failure", name, "reset=", str(recovery.reset_s), "actions=", actions),
        sc("failureflag", name, "1" if recovery.non_crash else "0"),
    )


@dataclass(frozen=True, slots=True)
class Native:
    r"""A service whose ImagePath is the program itself, behind a `wrapper` with its arguments if there is one.

    `arguments` follow the program in ImagePath. With `registers_itself` the program makes the service (`registration`
    are the arguments for that, for example `--register-service --config C:\x.toml`); otherwise `sc.exe create` does.
    """

    name: str
    program: str
    arguments: tuple[str, ...]
    display_name: str
    recovery: Recovery
    registration: tuple[str, ...] = ()
    environment: tuple[Entry, ...] = ()
    wrapper: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """ImagePath as a list of words."""
        return (*self.wrapper, self.program, *self.arguments)

    @property
    def manager(self) -> str:
        """`registered` if the program makes the service itself, else `sc`."""
        return "registered" if self.registration else "sc"

    @property
    def command(self) -> str:
        """ImagePath."""
        return command_line.join(self.words)

    def owns(self, found: Mapping[str, Any]) -> bool:
        """Any service that nssm does not run."""
        return found.get("nssm") is None

    def create(self) -> tuple[Op, ...]:
        """Register the service, then its recovery and environment."""
        if self.registration:
            make = run(self.program, *self.registration, encoding="utf-8")
        else:
            make = sc(
                "create", self.name, "binPath=", self.command, "start=", "auto", "DisplayName=", self.display_name
            )
        made = make.with_undo(*remove_ops(self.name, self.program))
        variables = set_variables(self._key, "Environment", self.environment) if self.environment else ()
        return (made, *set_recovery(self.name, self.recovery), *variables)

    def environment_differs(self, found: Mapping[str, Any]) -> bool:
        """Compared by fingerprint."""
        return list(found.get("environment") or ()) != [entry.fingerprint for entry in self.environment]

    def differences(self, found: Mapping[str, Any]) -> tuple[Difference, ...]:
        """Command line, start type, recovery, environment."""
        differences: list[Difference] = []
        before = str(found.get("image_path", ""))
        if not command_line.is_same(command_line.split(before), list(self.words)):
            op = self._config("binPath=", self.command).with_undo(self._config("binPath=", before))
            lists = (command_line.list_arguments(before), command_line.list_arguments(self.command))
            differences.append(Difference("command line", *lists, (op,)))
        start = found.get("start")
        if start != AUTOMATIC or found.get("delayed"):
            op = self._config("start=", "auto").with_undo(self._config("start=", start_word(found)))
            differences.append(Difference("start type", start_word(found), "auto", (op,), at_once=True))
        if found.get("failure") != self.recovery.wire():
            old = found.get("failure")
            back = set_recovery(self.name, recovery_of(old))
            ops = tuple(
                op.with_undo(undo) for op, undo in zip(set_recovery(self.name, self.recovery), back, strict=True)
            )
            differences.append(
                Difference("recovery", _recovery_text(old), _recovery_text(self.recovery.wire()), ops, at_once=True)
            )
        if self.environment_differs(found):
            (op,) = set_variables(self._key, "Environment", self.environment)
            ops = (op.with_undo(restore_value(self._key, "Environment")),)
            differences.append(
                Difference("environment", names(found.get("environment")), name_all(self.environment), ops)
            )
        return tuple(differences)

    def predict(self) -> dict[str, Any]:
        """The service as wanted."""
        return {
            "name": self.name,
            "display_name": self.display_name,
            "image_path": self.command,
            "start": AUTOMATIC,
            "delayed": False,
            "depends_on": [],
            "environment": [entry.fingerprint for entry in self.environment],
            "failure": self.recovery.wire(),
            "nssm": None,
            "deleting": False,
        }

    def _config(self, option: str, value: str) -> Op:
        return sc("config", self.name, option, value)

    @property
    def _key(self) -> str:
        return f"{SERVICES_KEY}\\{self.name}"


def start_word(found: Mapping[str, Any]) -> str:
    """The start type in sc.exe's words."""
    words = {0: "boot", 1: "system", 2: "auto", 3: "demand", 4: "disabled"}
    return "delayed-auto" if found.get("delayed") else words.get(found.get("start", 3), "demand")


def recovery_of(found: Mapping[str, Any] | None) -> Recovery:
    """The recovery settings in a service's `failure`."""
    if not found:
        return Recovery(reset_s=0, actions=(), non_crash=False)
    actions = tuple((str(what), int(delay)) for what, delay in found.get("actions", ()))
    return Recovery(int(found.get("reset_s", 0)), actions, bool(found.get("non_crash")))


def _recovery_text(found: Mapping[str, Any] | None) -> str:
    if not found or not found.get("actions"):
        return "none"
    steps = ", ".join(f"{what} after {int(delay) / 1000:g} s" for what, delay in found["actions"])
    return f"{steps}; forgotten after {found['reset_s']} s{'; on error exits too' if found.get('non_crash') else ''}"
