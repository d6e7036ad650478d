# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The interface of every service manager."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ..batch import Op

AUTOMATIC = 2
"""Value of `Start` in a service's registry key. Source: learn.microsoft.com, CreateServiceW, dwStartType."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """What Windows does when the service ends: `actions` are (what, delay in ms); the count of failures resets after
    `reset_s` seconds. With `non_crash` an exit with an error code counts too, not only a crash."""

    reset_s: int
    actions: tuple[tuple[str, int], ...]
    non_crash: bool = True

    def wire(self) -> dict[str, Any]:
        """As the probe reports it."""
        return {
            "reset_s": self.reset_s,
            "actions": [list(action) for action in self.actions],
            "non_crash": self.non_crash,
        }


@dataclass(frozen=True, slots=True)
class Difference:
    """One setting that differs, and the ops that set it. `at_once`: it takes effect without a restart."""

    setting: str
    before: str
    after: str
    ops: tuple[Op, ...]
    at_once: bool = False


class Definition(Protocol):
    """A service as one manager sees it: what it should be, how to make it and how to change it."""

    @property
    def manager(self) -> str:
        """Its name for people: `registered`, `sc` or `nssm`."""

    @property
    def command(self) -> str:
        """The program's own command line, for people."""

    @property
    def program(self) -> str:
        """The program whose process does the service's work."""

    def owns(self, found: Mapping[str, Any]) -> bool:
        """Whether this manager made the present service."""

    def create(self) -> tuple[Op, ...]:
        """Make the service, stopped. The first op's undo removes it."""

    def environment_differs(self, found: Mapping[str, Any]) -> bool:
        """Whether the service's variables differ; `found` has fingerprints in place of values."""

    def differences(self, found: Mapping[str, Any]) -> tuple[Difference, ...]:
        """The settings that differ in the present service; `found` has fingerprints in place of its variables'
        values."""

    def predict(self) -> dict[str, Any]:
        """The service as the probe will report it, without its state."""
