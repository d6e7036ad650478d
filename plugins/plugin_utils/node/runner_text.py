# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of runner.ps1, which the controller sends to a node that has another one, or none.

It is put together from pieces: the first file of `runner/`, the PowerShell files of `plugins/module_utils` that the
runner shares with the modules, and the other files of `runner/` in the order of their names.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

RUNNER = Path(__file__).parent / "runner"
SHARED = Path(__file__).parents[2] / "module_utils"
SHARED_FILES = (
    "_Json.psm1",
    "_Security.psm1",
    "_Files.psm1",
    "_Registry.psm1",
    "_Services.psm1",
    "_Processes.psm1",
    "_Machine.psm1",
    "_Network.psm1",
    "_Hns.psm1",
    "_Reading.psm1",
    "_Task.psm1",
    "_State.psm1",
    "_Open.psm1",
)
"""In the order in which they need each other."""

EXPORT = "Export-ModuleMember "


def without_export(text: str) -> str:
    """A psm1 as part of a script, where PowerShell refuses Export-ModuleMember. ValueError if the text has none."""
    kept: list[str] = []
    for line in text.splitlines():
        if line.startswith(EXPORT):
            return "\n".join(kept).rstrip() + "\n"
        kept.append(line)
    raise ValueError("a shared PowerShell file ends in Export-ModuleMember; this one has none")


@cache
def runner_text() -> str:
    """runner.ps1: ASCII, line ends LF. Its first statement is its `param`, as PowerShell wants it."""
    head, *rest = sorted(RUNNER.glob("*.ps1"), key=lambda path: path.name)
    shared = [without_export((SHARED / name).read_text(encoding="ascii")) for name in SHARED_FILES]
    pieces = [head.read_text(encoding="ascii"), *shared, *(path.read_text(encoding="ascii") for path in rest)]
    return "\n".join(piece.rstrip("\n") + "\n" for piece in pieces)


@cache
def runner_sha256() -> str:
    """The sha256 of `runner_text()` as UTF-8, lower-case hex: what the node has is compared with it."""
    return hashlib.sha256(runner_text().encode()).hexdigest()
