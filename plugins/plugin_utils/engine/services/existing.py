# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A service as it was found: where it logs; taken away whole, and made again as it was; or left as it is.

It is made again by sc.exe and in the registry, also where nssm runs it: a service of nssm is one whose ImagePath is
nssm.exe and whose settings are values under Parameters. So it takes no nssm.exe that may be gone.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from .. import command_line, windows_path
from ..batch import Op
from ..environment import NSSM_VARIABLES
from ..reading import CONFIDENTIAL, Query, Reading, confidential_query
from ..resource import Refused
from ..tools import (
    ALREADY_EXISTS,
    CANNOT_ACCEPT,
    MARKED_FOR_DELETION,
    NOT_INSTALLED,
    NOT_STARTED,
    SC,
    run,
    sc,
    wait_gone,
    wait_run,
    wait_service,
)
from .definition import Difference
from .native import SERVICES_KEY, recovery_of, set_recovery, set_variables, start_word

WINDOWS = "c:\\windows\\"
"""Programs below it run for others as well, as powershell.exe does: never wait until none of them runs."""
GONE_S = 60
AGAIN_S = 300
"""A service that an open services.msc holds cannot be made again until that is closed: worth some minutes."""

_LOCAL_SYSTEM = frozenset({"", "localsystem", r".\localsystem", r"nt authority\system"})
_WITHOUT_PASSWORD = ("nt authority\\", "nt service\\")
_SET_BY_SC = frozenset(
    {
        *("imagepath", "start", "delayedautostart", "type", "errorcontrol", "objectname", "displayname"),
        *("dependonservice", "dependongroup", "failureactions", "failureactionsonnoncrashfailures", "deleteflag"),
    }
)
"""Values of a service's key that the service control manager keeps a copy of: written by itself, not by us."""
SECURITY = "security"
"""The key below a service's with its security descriptor, where it has another than every service."""
_NSSM_DEFAULT_ACTION = "AppExit"
"""The probe's name for the default value of the key of that name."""


def queries(name: str) -> tuple[Query, Query]:
    """What is read, and kept in the task, before the service `name` is removed: the values of its
    environment may be secrets."""
    key = f"{SERVICES_KEY}\\{name}"
    return (
        confidential_query(name),
        Query(f"{CONFIDENTIAL}registry:{name.casefold()}", "registry", (("path", key), ("tree", True))),
    )


@dataclass(frozen=True, slots=True)
class Existing:
    """The service in `found`, as the probe listed it; `values` is the same with the values of its environment, `key`
    all values of its registry key, `tree` those of the keys below it."""

    found: Mapping[str, Any]
    values: Mapping[str, Any] = field(default_factory=dict)
    key: Mapping[str, Any] = field(default_factory=dict)
    tree: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, found: Mapping[str, Any], reading: Reading) -> Existing:
        """With the answers to `queries`, if they were asked."""
        service, key = (reading.parts.get(query.key) or {} for query in queries(str(found["name"])))
        return cls(found, service, key.get("values") or {}, key.get("tree") or {})

    @property
    def name(self) -> str:
        """As the service control manager spells it."""
        return str(self.found["name"])

    @property
    def manager(self) -> str:
        """`nssm` or `sc`: who runs it now."""
        return "nssm" if self.found.get("nssm") is not None else "sc"

    @property
    def program(self) -> str:
        """The program that does its work: that of ImagePath, or the one that nssm starts.

        Where ImagePath's program is told another one (kube-log-runner.exe, cmd.exe /c), it is that: the wrapper may
        stand before other services as well, so the end of all of them cannot be awaited.
        """
        if self.found.get("nssm") is not None:
            return str(self.found["nssm"].get("Application") or "")
        first, *rest = command_line.split(str(self.found.get("image_path") or "")) or [""]
        return next((word for word in rest if _is_program(word)), first)

    def programs_to_wait_for(self, wanted: str) -> tuple[str, ...]:
        """Whose processes have to be gone before the service counts as stopped: the program's that runs now, where it
        is not one of Windows' own, and those of `wanted`, which a wrapper may have started."""
        present = self.program
        own = present.casefold().startswith(WINDOWS) or windows_path.problem(present) is not None
        if own or windows_path.same(present, wanted):
            return (wanted,)
        return (present, wanted)

    def remove(self) -> tuple[Op, ...]:
        """Take the stopped service away, with the tool that made it, and wait until it is gone; the undo makes it
        again. Refused if that could not be done."""
        if self.manager == "nssm":
            nssm = next(iter(command_line.split(str(self.found.get("image_path")))), "")
            delete = run(nssm, "remove", self.name, "confirm", encoding="utf-16")
        else:
            delete = sc("delete", self.name, ok_exit=(0, NOT_INSTALLED, MARKED_FOR_DELETION))
        return (delete.undone_by(*self.remake()), wait_service(self.name, "absent", GONE_S))

    def remake(self) -> tuple[Op, ...]:
        """Make it as it was, stopped: harmless if it is still there."""
        found = self.found
        key = f"{SERVICES_KEY}\\{self.name}"
        create = [
            *("create", self.name, "binPath=", str(found.get("image_path") or ""), "type=", "own"),
            *("start=", start_word(found), "DisplayName=", str(found.get("display_name") or self.name)),
        ]
        if depends := [str(other) for other in found.get("depends_on") or ()]:
            create += ["depend=", "/".join(depends)]
        if (account := str(found.get("account") or "")).casefold() not in _LOCAL_SYSTEM:
            if not account.casefold().startswith(_WITHOUT_PASSWORD):
                raise Refused(
                    f"The service {self.name} runs as {account}. It would have to be removed and recreated, and if "
                    "that went wrong it could not be made again as it was: Windows does not reveal the account's "
                    "password. Remove the service yourself, or let it run as LocalSystem."
                )
            create += ["obj=", account]
        ops = [wait_run(SC, *create, timeout_s=AGAIN_S, ok_exit=(0, ALREADY_EXISTS), encoding="oem")]
        ops += (
            Op("registry_set", {"path": key, "name": name, **value}, secrets=("value",))
            for name, value in self.key.items()
            if name.casefold() not in _SET_BY_SC
        )
        if found.get("failure"):
            ops += set_recovery(self.name, recovery_of(found["failure"]))
        for name, value in (found.get("nssm") or {}).items():
            ops += _parameter(f"{key}\\Parameters", name, value, self.values.get("nssm") or {})
        return (*ops, *self._below(key))

    def _below(self, key: str) -> tuple[Op, ...]:
        """The keys below its own (triggers, performance counters, nssm's hooks), and who may do what with it."""
        ops: list[Op] = []
        for path, values in self.tree.items():
            if path.casefold() == "parameters" and self.found.get("nssm") is not None:
                continue
            if path.casefold() == SECURITY:
                text = dacl(bytes.fromhex(str((values.get("Security") or {}).get("value") or "")))
                if text is not None:
                    # By the service control manager, which keeps a copy: what is written into the key itself counts
                    # from the next start of the machine.
                    ops.append(sc("sdset", self.name, text))
                    continue
            ops += (
                Op("registry_set", {"path": f"{key}\\{path}", "name": name, **value}, secrets=("value",))
                for name, value in values.items()
            )
        return tuple(ops)

    def stop(self, timeout_s: int) -> tuple[Op, ...]:
        """Stop it and wait until its program is gone. Harmless if it is not there."""
        waits = (wait_gone(name, timeout_s) for name in self.programs_to_wait_for(self.program) if _can_wait(name))
        return (
            sc("stop", self.name, ok_exit=(0, NOT_STARTED, CANNOT_ACCEPT, NOT_INSTALLED)),
            wait_service(self.name, "stopped", timeout_s),
            *waits,
        )


def _is_program(word: str) -> bool:
    return word.casefold().endswith(".exe") and windows_path.problem(word) is None


def _can_wait(program: str) -> bool:
    return windows_path.problem(program) is None and not program.casefold().startswith(WINDOWS)


def _parameter(key: str, name: str, value: Any, values: Mapping[str, Any]) -> tuple[Op, ...]:
    """One value of nssm's, of the type that nssm gives it."""
    if name in NSSM_VARIABLES:
        return set_variables(key, name, tuple(values.get(name) or ()))
    if name == _NSSM_DEFAULT_ACTION:
        place = {"path": f"{key}\\{name}", "name": "", "type": "string"}
        return (Op("registry_set", {**place, "value": str(value)}),)
    kind = "dword" if isinstance(value, int) else "multi_string" if isinstance(value, list) else "expand_string"
    return (Op("registry_set", {"path": key, "name": name, "type": kind, "value": value}),)


# Who may do what with a service: the security descriptor in its registry key, as the text that sc.exe sdset takes.

# Source: [MS-DTYP] 2.4.6 SECURITY_DESCRIPTOR, 2.4.5 ACL, 2.4.4 ACE, 2.4.2 SID; 2.5.1 the text form (SDDL).
_KINDS = {0: "A", 1: "D"}
_ACE_FLAGS = ((0x01, "OI"), (0x02, "CI"), (0x04, "NP"), (0x08, "IO"), (0x10, "ID"))
_ACL_FLAGS = ((0x1000, "P"), (0x0100, "AR"), (0x0400, "AI"))


def dacl(descriptor: bytes) -> str | None:
    """`D:(A;;0x2009d;;;S-1-5-11)..`; None for what has no such list, has other entries than allowed and denied ones,
    or is damaged."""
    try:
        control, place = struct.unpack_from("<2xH12xI", descriptor)
        if place == 0:
            return None
        (count,) = struct.unpack_from("<4xH2x", descriptor, place)
        at, entries = place + 8, []
        for _entry in range(count):
            kind, flags, size, rights = struct.unpack_from("<BBHI", descriptor, at)
            if kind not in _KINDS or size < 16:
                return None
            words = "".join(word for bit, word in _ACE_FLAGS if flags & bit)
            entries.append(f"({_KINDS[kind]};{words};{rights:#x};;;{_sid(descriptor, at + 8)})")
            at += size
    except struct.error:
        return None
    return f"D:{''.join(word for bit, word in _ACL_FLAGS if control & bit)}{''.join(entries)}"


def _sid(data: bytes, at: int) -> str:
    revision, count = struct.unpack_from("<BB", data, at)
    high, low = struct.unpack_from(">HI", data, at + 2)
    parts = struct.unpack_from(f"<{count}I", data, at + 8)
    return "-".join(str(part) for part in ("S", revision, (high << 32) | low, *parts))


# A service of others: it is stopped and started, and its definition is left alone.


@dataclass(frozen=True, slots=True)
class AsFound:
    """The service in `found`, as the probe listed it; `program` is the one whose process is its work."""

    found: Mapping[str, Any]
    program: str

    @property
    def manager(self) -> str:
        """`nssm` or `sc`."""
        return Existing(self.found).manager

    @property
    def command(self) -> str:
        """The command line that the service manager has."""
        return str(self.found.get("image_path") or "")

    def owns(self, found: Mapping[str, Any]) -> bool:
        """The service that something else made."""
        return True

    def create(self) -> tuple[Op, ...]:
        """Never: it was there when the plan was made."""
        raise Refused(f"The service {self.found.get('name')} is gone; it has to be made before it can be provisioned.")

    def environment_differs(self, found: Mapping[str, Any]) -> bool:
        """Whatever it has is right."""
        return False

    def differences(self, found: Mapping[str, Any], values: Mapping[str, Any]) -> tuple[Difference, ...]:
        """None."""
        return ()

    def predict(self) -> dict[str, Any]:
        """The service as it is, without its state."""
        return {name: value for name, value in self.found.items() if name != "state"}


# Where a service's program writes to, by the service itself.


def log_file(service: Mapping[str, Any]) -> str:
    """nssm's AppStderr (the programs of Kubernetes log there), else the command line's --log-file; empty if there is
    neither. `service` is one as the probe reports it."""
    nssm = service.get("nssm")
    if nssm:
        return str(nssm.get("AppStderr") or nssm.get("AppStdout") or "")
    return argument(str(service.get("image_path") or ""), "log-file")


def argument(line: str, wanted: str) -> str:
    """The value of `--wanted=value` or `--wanted value` on a command line; empty if it is not there."""
    for word, following in pairwise((*command_line.split(f"x {line}")[1:], "")):
        name, equals, value = word.partition("=")
        if name.startswith("-") and name.lstrip("-") == wanted:
            return value if equals else following
    return ""
