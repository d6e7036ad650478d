# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One thing that is wrong with a node's network."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

ERROR, WARNING, NEVER = "error", "warning", "never"

SEVERITIES = (ERROR, WARNING)
"""Most severe first. An error: traffic that should work does not, or will not. A warning: it may."""


@dataclass(frozen=True, slots=True)
class Finding:
    """`id` is the check's, the same from release to release. `object` is what was looked at, such as `endpoint 8995..`;
    `seen` and `wanted` what it is and what it should be; `cause` why that comes about; `remedy` what to do, a sentence.
    `row` is the requirement that asks for the check, `issue` the public thread that shows the fault; both may be
    empty."""

    id: str
    severity: str
    object: str
    seen: str
    wanted: str
    cause: str
    remedy: str
    row: str = ""
    issue: str = ""

    @property
    def text(self) -> str:
        """What was seen and what was wanted, one sentence."""
        return f"{self.object}: {self.seen}; wanted {self.wanted}."

    def as_data(self) -> dict[str, str]:
        """As modules return it."""
        return asdict(self)


def worst(findings: Iterable[Finding]) -> str:
    """The highest severity among them, empty without findings."""
    found = {each.severity for each in findings}
    return next((severity for severity in SEVERITIES if severity in found), "")


def fails(findings: Iterable[Finding], fail_on: str) -> bool:
    """Whether the findings reach `fail_on`: `error`, `warning` or `never`."""
    if fail_on == NEVER:
        return False
    counted = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    return any(each.severity in counted for each in findings)
