# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every service manager has to answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ..batch import Op

AUTOMATIC = 2
"""Value of `Start` in a service's registry key. Source: learn.microsoft.com, CreateServiceW, dwStartType."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """What Windows does when the service ends: `actions` are (what, delay in ms); the count of failures is forgotten
    after `reset_s` seconds. With
    `non_crash` an exit with an error code counts as well, not only a crash."""

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
    """One setting that is not as wanted, and the ops that set it. `at_once`: it is in force without a restart."""

    setting: str
    before: str
    after: str
    ops: tuple[Op, ...]
    at_once: bool = False


class Definition(Protocol):
    """A service manager's part: what the service should be, how to make it and how to change it."""

    @property
    def manager(self) -> str:
        """Its name for people: `registered`, `sc` or `nssm`."""

    @property
    def command(self) -> str:
        """The command line of the program itself, for people."""

    @property
    def program(self) -> str:
        """The program whose process is the service's work."""

    def owns(self, found: Mapping[str, Any]) -> bool:
        """Whether the service that is there was made in this way."""

    def create(self) -> tuple[Op, ...]:
        """Make the service, stopped. The first op's undo removes it."""

    def environment_differs(self, found: Mapping[str, Any]) -> bool:
        """Whether the service's variables are not as wanted; `found` has fingerprints for values."""

    def differences(self, found: Mapping[str, Any], values: Mapping[str, Any]) -> tuple[Difference, ...]:
        """What has to change in the service that is there. `values` is the same service with the values of its
        environment, read only
        where they have to change."""

    def predict(self) -> dict[str, Any]:
        """The service as the probe will report it, without its state."""
