"""A service's configuration as it stands in the registry."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from tests.lab.machine.registry import SERVICES, Registry

ACTIONS = {0: "none", 1: "restart", 2: "reboot", 3: "run"}
_ACTION_NUMBERS = {name: number for number, name in ACTIONS.items()}


@dataclass(frozen=True)
class FailureActions:
    """reset_s: seconds without a failure after which the count starts anew; actions: (what, delay in ms)."""

    reset_s: int
    actions: tuple[tuple[str, int], ...]

    def encode(self) -> bytes:
        """`FailureActions` as the SCM stores it: a 20-byte SERVICE_FAILURE_ACTIONS with 32-bit pointers, then the
        actions.
        """
        head = struct.pack("<5I", self.reset_s, 0, 0, len(self.actions), 20)
        return head + b"".join(struct.pack("<2I", _ACTION_NUMBERS[kind], delay) for kind, delay in self.actions)

    @staticmethod
    def decode(data: bytes) -> FailureActions | None:
        if len(data) < 20:
            return None
        reset, _, _, count, offset = struct.unpack_from("<5I", data)
        actions: list[tuple[str, int]] = []
        for index in range(count):
            at = offset + index * 8
            if at + 8 > len(data):
                return None
            kind, delay = struct.unpack_from("<2I", data, at)
            actions.append((ACTIONS.get(kind, "none"), delay))
        return FailureActions(reset, tuple(actions))


def key_of(name: str) -> str:
    return f"{SERVICES}\\{name}"


@dataclass(frozen=True)
class ServiceConfig:
    """start: 0-4; type: 0x10 own process, 0x20 shared; depends_on: names of services."""

    name: str
    display_name: str
    image_path: str
    start: int
    type: int
    account: str
    depends_on: tuple[str, ...]
    environment: tuple[str, ...]
    delayed: bool
    deleting: bool
    failure: FailureActions | None
    non_crash: bool

    @property
    def is_win32(self) -> bool:
        return bool(self.type & 0x30)


def read_config(registry: Registry, name: str) -> ServiceConfig | None:
    key = registry.key(key_of(name))
    if key is None:
        return None
    raw = key.data("FailureActions")
    return ServiceConfig(
        key.name,
        key.text("DisplayName", key.name),
        key.text("ImagePath"),
        key.number("Start", 3),
        key.number("Type", 0x10),
        key.text("ObjectName", "LocalSystem"),
        tuple(key.strings("DependOnService")),
        tuple(key.strings("Environment")),
        bool(key.number("DelayedAutostart")),
        bool(key.number("DeleteFlag")),
        FailureActions.decode(raw) if isinstance(raw, bytes) else None,
        bool(key.number("FailureActionsOnNonCrashFailures")),
    )
