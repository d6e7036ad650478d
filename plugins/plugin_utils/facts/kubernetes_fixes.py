# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Kubernetes mended for nodes of Windows, and in which release of each line: kubernetes_fixes.json.

The table is reviewed by hand; `python -m tests.ledger` holds it against the CHANGELOG of each line.

    [each.id for each in FIXES if each.lacks(Version.parse("1.34.3"))]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .rows import read_rows
from .version import Line, Version

READ: Mapping[Line, int] = {Line(1, 34): 13, Line(1, 35): 10, Line(1, 36): 6, Line(1, 37): 2}
"""The last patch of each line whose notes were read. What came later is not known yet.

Source: kubernetes v1.38.0-beta.0 CHANGELOG/CHANGELOG-1.34.md to CHANGELOG-1.37.md.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Fix:
    """One fix. `breaks` says what a release without it does, a sentence; `program` is whose it is.

    `mended` are the first releases of their lines that have it, with the pull request of each; `since` is the first
    release that needs it, None where the notes do not say. Whom it concerns: nodes with this `network` in HNS, with
    Services of `two_families`, with this feature `gate`; all where these are empty. `causes` are ids of findings that
    it may stand behind, `functions` those of the program that a stack trace then names.
    """

    id: str
    program: str
    breaks: str
    mended: Mapping[Version, int]
    source: str
    since: Version | None = None
    network: str = ""
    two_families: bool = False
    gate: str = ""
    causes: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()

    def lacks(self, release: Version) -> bool | None:
        """Whether a release needs it and does not have it; None where its notes were not read.

        A line behind the last one of `mended` was made of a main branch that had it: Kubernetes takes no fix into an
        older line before.
        """
        if self.since is not None and release < self.since:
            return False
        own = self.find_release(release.line)
        if own is not None:
            return release < own
        if release.line > max(self.mended).line:
            return False
        return True if release.patch <= READ.get(release.line, -1) else None

    def find_release(self, line: Line) -> Version | None:
        """The first release of a line that has it, None where none of those read has."""
        return next((each for each in self.mended if each.line == line), None)


def _fix(row: Mapping[str, Any]) -> Fix:
    known: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
    known["mended"] = {Version.parse(release): pull for release, pull in row["mended"].items()}
    known["since"] = Version.parse(row["since"]) if "since" in row else None
    return Fix(**known)


FIXES: tuple[Fix, ...] = tuple(map(_fix, read_rows("kubernetes_fixes.json")))
