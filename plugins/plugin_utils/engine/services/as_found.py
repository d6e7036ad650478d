# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A service that somebody else has made: it is stopped and started, and its definition is left alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..batch import Op
from ..resource import Refused
from .definition import Difference
from .existing import Existing


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
        """Whoever made it."""
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

    def predicted(self) -> dict[str, Any]:
        """The service as it is, but for its state."""
        return {name: value for name, value in self.found.items() if name != "state"}
