"""What an op works with: the node, the batch's deadline, its secrets, the moments at which it may be cut."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from tests.lab.machine.errors import WinError
from tests.lab.machine.faults import Phase

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode
    from tests.lab.machine.processes import Process

MASK = "********"
STATE_DIR = "C:\\ProgramData\\winkube"
OUTPUT_HALF = 32 * 1024
RETRY_S = 5.0
RETRIED = frozenset({5, 32, 33, 145})
Args = dict[str, Any]
OpRun = Generator[float | None, None, dict[str, Any]]
T = TypeVar("T")


class OpError(Exception):
    """Why an op failed: a sentence, and data for the machine that reads it."""

    def __init__(self, message: str, **data: Any) -> None:
        self.data = data
        super().__init__(message)


@dataclass(frozen=True)
class Work:
    """process: the one that works on the batch. deadline: clock seconds, None for undo ops."""

    node: SimulatedNode
    process: Process
    deadline: float | None = None
    phase: Phase = "ops"
    index: int = 0
    secrets: tuple[str, ...] = ()
    state_dir: str = STATE_DIR
    hns: bool = False
    """The text that calls HNS came with the batch."""

    def seam(self, label: str) -> None:
        """The op is at an awkward moment, here called `label`."""
        self.node.moment(self.phase, self.index, "in", label)

    def time_left(self, wanted: float) -> float:
        """Seconds that may be spent: `wanted`, or what is left until the deadline."""
        if self.deadline is None:
            return wanted
        left = self.deadline - self.node.clock.now()
        if left <= 0:
            raise OpError("The batch's deadline is up.", deadline=True)
        return min(wanted, left)

    def mask(self, text: str) -> str:
        for secret in self.secrets:
            text = text.replace(secret, MASK)
        return text

    def mask_end(self, text: str) -> str:
        """What was cut off at its beginning: the end of a secret there, four characters and more."""
        for secret in self.secrets:
            for length in range(min(len(secret) - 1, len(text)), 3, -1):
                if text.startswith(secret[-length:]):
                    return MASK + text[length:]
        return text


def secrets_of(args: Args, names: list[str]) -> tuple[str, ...]:
    """The secret values, longest first; of base64 also what it encodes."""
    found: set[str] = set()
    for name in names:
        value = args.get(name)
        values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
        for item in values:
            if not isinstance(item, str) or not item:
                continue
            found.add(item)
            try:
                found.add(base64.b64decode(item, validate=True).decode("utf-8"))
            except (binascii.Error, ValueError):
                continue
    return tuple(sorted((item for item in found if item), key=len, reverse=True))


def retried(work: Work, action: Callable[[], T], patience: float = RETRY_S) -> Generator[float | None, None, T]:
    """Tries again for 5 s, or `patience`, what another process or a scanner holds (32, 33, 5, 145); any other error is
    raised at once."""
    end = work.node.clock.now() + min(patience, RETRY_S)
    while True:
        try:
            return action()
        except WinError as error:
            if error.code not in RETRIED or work.node.clock.now() >= end:
                raise
        yield 0.25


def is_wide(data: bytes) -> bool:
    """Whether bytes are UTF-16LE, by its mark or by where the zeros are."""
    return data.startswith(b"\xff\xfe") or data[1:4096:2].count(0) > data[0:4096:2].count(0)


def came(document: Args) -> bool:
    """Whether the text that calls HNS is in an envelope, request or batch. ValueError for what is no such text."""
    text = str(document.get("hns") or "")
    if text and "\n" not in text:
        raise ValueError("hns is no script.")
    return bool(text)


def shortened(data: bytes) -> bytes:
    """The first and the last 32 KB of a program's output, with a line between them."""
    if len(data) <= 2 * OUTPUT_HALF:
        return data
    left_out = len(data) - 2 * OUTPUT_HALF
    return data[:OUTPUT_HALF] + f"\n... {left_out} bytes left out ...\n".encode() + data[-OUTPUT_HALF:]
