# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file that may only be written when what it speaks of is there."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..batch import Op
from ..reading import Query, Reading
from ..resource import Change
from .text_file import TextFile


@dataclass(frozen=True, slots=True)
class LateFile:
    """`file`, written after the services were started and `after` is so. No service restarts for it; `notice` is said
    where an older one is replaced."""

    file: TextFile
    after: tuple[Op, ...]
    notice: str = ""

    @property
    def label(self) -> str:
        """The path."""
        return self.file.label

    def reads(self) -> tuple[Query, ...]:
        """The file with its content."""
        return self.file.reads()

    def confides(self, reading: Reading) -> tuple[Query, ...]:
        """Nothing."""
        return ()

    def change(self, reading: Reading) -> Change | None:
        """Wait, then write."""
        change = self.file.change(reading)
        if change is None:
            return None
        replaced = bool(reading.file(self.file.path).get("exists")) and bool(self.notice)
        return replace(
            change,
            text=f"{change.text} ({self.notice})" if replaced else change.text,
            commit=(),
            finish=(*self.after, *change.commit),
            touches=frozenset(),
        )
