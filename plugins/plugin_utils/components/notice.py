# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person should know beside the other steps of a plan, such as what was left out and why."""

from __future__ import annotations

from dataclasses import dataclass

from ..engine.reading import Query, Reading
from ..engine.resource import Change


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence that follows "did" or "would"; it changes nothing, and is not said where nothing else changes."""

    label: str
    text: str

    def reads(self) -> tuple[Query, ...]:
        """Nothing."""
        return ()

    def confides(self, reading: Reading) -> tuple[Query, ...]:
        """Nothing."""
        return ()

    def change(self, reading: Reading) -> Change | None:
        """The sentence alone."""
        return Change(text=self.text)
