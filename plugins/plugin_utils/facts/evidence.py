# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the linter's severities rest on: places in the code that refuses, starts or kills (evidence.txt).

A file of its own: it is the table, and facts know no rules of the linter.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("evidence.txt")
OF_ERRORS = frozenset(["refused", "unscheduled", "unstarted", "killed"])
OF_WARNINGS = frozenset(["otherwise", "depends"])
SEEN = "seen"
"""A public thread that shows the failure."""
OUTCOMES = OF_ERRORS | OF_WARNINGS | {"taste", SEEN}
PAGE = "page"


@dataclass(frozen=True, slots=True)
class Evidence:
    """`module`: path@version, or PAGE, then `file` names the page. `file`: path:line. `function`: `-` for the file."""

    outcome: str
    module: str
    file: str
    function: str
    rules: tuple[str, ...]

    def __str__(self) -> str:
        """As a reader looks it up."""
        return self.file if self.module == PAGE else f"{self.module} {self.file} {self.function}".rstrip("- ")


@cache
def read_evidence() -> tuple[Evidence, ...]:
    lines = (line for line in FILE.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#"))
    rows = ([part.strip() for part in line.split("|")] for line in lines)
    return tuple(
        Evidence(outcome, module, file, function, tuple(rules.split()))
        for outcome, module, file, function, rules in rows
    )


@cache
def list_evidence(rule: str) -> tuple[Evidence, ...]:
    return tuple(each for each in read_evidence() if rule in each.rules)
