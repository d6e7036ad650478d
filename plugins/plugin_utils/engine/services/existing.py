# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A present service: where it logs, how to remove it completely, recreate it, or leave it alone.

sc.exe and the registry recreate it, even under nssm: a service of nssm is one whose ImagePath is nssm.exe and whose
settings are values under Parameters. So no nssm.exe is needed, which may be gone.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from .. import command_line, windows_path
from ..batch import Op
from ..environment import NSSM_VARIABLES
from ..reading import CONFIDENTIAL, Query, Reading
from ..resource import Refused
from ..tools import (
    ALREADY_EXISTS,
    CANNOT_ACCEPT,
    MARKED_FOR_DELETION,
    NOT_INSTALLED,
    NOT_STARTED,
    SC,
    restore_value,
    run,
    sc,
    wait_gone,
    wait_run,
    wait_service,
)
from .definition import Difference
from .native import SERVICES_KEY, recovery_of, set_recovery, start_word

WINDOWS = "c:\\windows\\"
"""Programs below it also run for others, as powershell.exe does: never wait until none of them runs."""
GONE_S = 60
AGAIN_S = 300
"""Seconds: a service that services.msc holds open cannot be recreated until that is closed, so waiting some minutes
pays."""

_LOCAL_SYSTEM = frozenset({"", "localsystem", r".\localsystem", r"nt authority\system"})
_WITHOUT_PASSWORD = ("nt authority\\", "nt service\\")
_SET_BY_SC = frozenset(
    {
        *("imagepath", "start", "delayedautostart", "type", "errorcontrol", "objectname", "displayname"),
        *("dependonservice", "dependongroup", "failureactions", "failureactionsonnoncrashfailures", "deleteflag"),
    }
)
"""Values of a service's key that the service control manager caches: it must write them itself."""
SECURITY = "security"
"""The subkey with a service's security descriptor, if that differs from the default."""
_NSSM_DEFAULT_ACTION = "AppExit"
"""The probe's name for the default value of the subkey AppExit."""


def queries(name: str) -> tuple[Query, Query]:
    """What to read before the service `name` is removed: which values its registry key and those below it have, and
    its security descriptor. The values themselves, which may be secret, only the node knows."""
    key = f"{SERVICES_KEY}\\{name}"
    return (
        Query(
            f"{CONFIDENTIAL}registry:{name.casefold()}", "registry", (("path", key), ("tree", True), ("types", True))
        ),
        Query(
            f"{CONFIDENTIAL}security:{name.casefold()}",
            "registry",
            (("path", f"{key}\\{SECURITY}"), ("name", SECURITY)),
        ),
    )


@dataclass(frozen=True, slots=True)
class Existing:
    """The service in `found`, as the probe lists it. `key` names the values of its registry key, `tree` those of the
    keys below it; `descriptor` is its own security descriptor in hexadecimal, empty if it has none."""

    found: Mapping[str, Any]
    key: Collection[str] = ()
    tree: Mapping[str, Collection[str]] = field(default_factory=dict)
    descriptor: str = ""

    @classmethod
    def of(cls, found: Mapping[str, Any], reading: Reading) -> Existing:
        """With the answers to `queries`, if there are any."""
        key, security = (reading.parts.get(query.key) or {} for query in queries(str(found["name"])))
        return cls(found, key.get("values") or (), key.get("tree") or {}, str(security.get("value") or ""))

    @property
    def name(self) -> str:
        """The name as the service control manager spells it."""
        return str(self.found["name"])

    @property
    def manager(self) -> str:
        """`nssm` or `sc`: its present manager."""
        return "nssm" if self.found.get("nssm") is not None else "sc"

    @property
    def program(self) -> str:
        """The program that does its work: that of ImagePath, or the one that nssm starts.

        For a wrapper around another program (kube-log-runner.exe, cmd.exe /c) it is the wrapped one: other services may
        have the same wrapper, so waiting for the end of all wrappers is impossible.
        """
        if self.found.get("nssm") is not None:
            return str(self.found["nssm"].get("Application") or "")
        first, *rest = command_line.split(str(self.found.get("image_path") or "")) or [""]
        return next((word for word in rest if _is_program(word)), first)

    def programs_to_wait_for(self, wanted: str) -> tuple[str, ...]:
        """The programs whose processes must end before the service counts as stopped: its present program unless it
        is one of Windows, and those of `wanted`, which a wrapper may have started."""
        present = self.program
        own = present.casefold().startswith(WINDOWS) or windows_path.problem(present) is not None
        if own or windows_path.is_same(present, wanted):
            return (wanted,)
        return (present, wanted)

    def remove(self) -> tuple[Op, ...]:
        """Remove the stopped service with the tool that made it, and wait until it is gone; the undo recreates it.
        Refused if recreating it would be impossible."""
        if self.manager == "nssm":
            nssm = next(iter(command_line.split(str(self.found.get("image_path")))), "")
            delete = run(nssm, "remove", self.name, "confirm", encoding="utf-16")
        else:
            delete = sc("delete", self.name, ok_exit=(0, NOT_INSTALLED, MARKED_FOR_DELETION))
        return (delete.with_undo(*self.remake()), wait_service(self.name, "absent", GONE_S))

    def remake(self) -> tuple[Op, ...]:
        """Recreate it, stopped. Harmless if it still exists."""
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
        ops += (restore_value(key, name) for name in self.key if name.casefold() not in _SET_BY_SC)
        if found.get("failure"):
            ops += set_recovery(self.name, recovery_of(found["failure"]))
        for name, value in (found.get("nssm") or {}).items():
            ops.append(_parameter(f"{key}\\Parameters", name, value))
        return (*ops, *self._below(key))

    def _below(self, key: str) -> tuple[Op, ...]:
        """Restore the keys below its own (triggers, performance counters, nssm's hooks), and its security
        descriptor."""
        ops: list[Op] = []
        for path, names in self.tree.items():
            if path.casefold() == "parameters" and self.found.get("nssm") is not None:
                continue
            if path.casefold() == SECURITY:
                text = dacl(bytes.fromhex(self.descriptor))
                if text is not None:
                    # Through the service control manager, which keeps a copy: a value written into the key itself takes
                    # effect only after the next start of the machine.
                    ops.append(sc("sdset", self.name, text))
                    continue
            ops += (restore_value(f"{key}\\{path}", name) for name in names)
        return tuple(ops)

    def stop(self, timeout_s: int) -> tuple[Op, ...]:
        """Stop it and wait until its program is gone. Harmless if there is none."""
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


def _parameter(key: str, name: str, value: Any) -> Op:
    """One of nssm's values, with the type that nssm gives it."""
    if name in NSSM_VARIABLES:
        return restore_value(key, name)
    if name == _NSSM_DEFAULT_ACTION:
        place = {"path": f"{key}\\{name}", "name": "", "type": "string"}
        return Op("registry_set", {**place, "value": str(value)})
    kind = "dword" if isinstance(value, int) else "multi_string" if isinstance(value, list) else "expand_string"
    return Op("registry_set", {"path": key, "name": name, "type": kind, "value": value})


_KINDS = {0: "A", 1: "D"}
_ACE_FLAGS = ((0x01, "OI"), (0x02, "CI"), (0x04, "NP"), (0x08, "IO"), (0x10, "ID"))
_ACL_FLAGS = ((0x1000, "P"), (0x0100, "AR"), (0x0400, "AI"))


def dacl(descriptor: bytes) -> str | None:
    """`D:(A;;0x2009d;;;S-1-5-11)..`; None if there is no such list, if it has entries other than allow and deny, or
    if it is damaged."""
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


# Another's service: it is stopped and started, and its definition is left alone.


@dataclass(frozen=True, slots=True)
class AsFound:
    """The service in `found`, as the probe lists it. `program` is the one whose process does its work."""

    found: Mapping[str, Any]
    program: str

    @property
    def manager(self) -> str:
        """`nssm` or `sc`."""
        return Existing(self.found).manager

    @property
    def command(self) -> str:
        """The command line in the service manager."""
        return str(self.found.get("image_path") or "")

    def owns(self, found: Mapping[str, Any]) -> bool:
        """Always: something else made the service."""
        return True

    def create(self) -> tuple[Op, ...]:
        """Never: the service existed when the plan was made."""
        raise Refused(f"The service {self.found.get('name')} is gone; it has to be made before it can be provisioned.")

    def environment_differs(self, found: Mapping[str, Any]) -> bool:
        """Never: its environment is left alone."""
        return False

    def differences(self, found: Mapping[str, Any]) -> tuple[Difference, ...]:
        """None."""
        return ()

    def predict(self) -> dict[str, Any]:
        """The present service, without its state."""
        return {name: value for name, value in self.found.items() if name != "state"}


# Where a service's program logs, by the service's own settings.


def log_file(service: Mapping[str, Any]) -> str:
    """nssm's AppStderr (Kubernetes' programs log there), else --log-file on the command line; empty if there is
    neither. `service` is from the probe."""
    nssm = service.get("nssm")
    if nssm:
        return str(nssm.get("AppStderr") or nssm.get("AppStdout") or "")
    return argument(str(service.get("image_path") or ""), "log-file")


def argument(line: str, wanted: str) -> str:
    """The value of `--wanted=value` or `--wanted value` on a command line; empty if it is missing."""
    for word, following in pairwise((*command_line.split(f"x {line}")[1:], "")):
        name, equals, value = word.partition("=")
        if name.startswith("-") and name.lstrip("-") == wanted:
            return value if equals else following
    return ""
