# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What somebody else has put on the node and a plan was made from."""

from __future__ import annotations

from dataclasses import dataclass

from ..engine.reading import Query, Reading, file_query
from ..engine.resource import Change


def whole(path: str, content_limit: int = 0) -> Query:
    """A file with all that tells it from another: whatever else is asked of it, the answer can be compared."""
    return file_query(path, sha256=True, sddl=True, content_limit=content_limit)


@dataclass(frozen=True, slots=True)
class ReliesOn:
    """Things that are read and never changed: a batch is only right as long as they are as they were read."""

    label: str
    queries: tuple[Query, ...]

    def reads(self) -> tuple[Query, ...]:
        """All of them."""
        return self.queries

    def confides(self, reading: Reading) -> tuple[Query, ...]:
        """Nothing."""
        return ()

    def change(self, reading: Reading) -> Change | None:
        """Never a change."""
        return None
