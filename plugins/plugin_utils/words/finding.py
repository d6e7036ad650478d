# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One thing that is wrong with a node or a cluster: a cause, and what was seen of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from .cause import NEVER, SEVERITIES, Cause
from .remedy import Remedy


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look saw: `subject` is what was looked at, such as `endpoint 8995..`; `seen` and `wanted` what it is and
    what it should be (`wanted` may be empty). `remedy` and `why` replace the cause's own where more is known;
    `evidence` are lines that were read; `explains` are ids that follow from it besides the cause's."""

    subject: str
    seen: str
    wanted: str = ""
    remedy: Remedy | None = None
    why: str = ""
    evidence: tuple[str, ...] = ()
    explains: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """A cause, and what was seen."""

    cause: Cause
    what: Seen

    @property
    def id(self) -> str:
        """The cause's."""
        return self.cause.id

    @property
    def severity(self) -> str:
        """The cause's."""
        return self.cause.severity

    @property
    def title(self) -> str:
        """The cause's."""
        return self.cause.title

    @property
    def why(self) -> str:
        """How it comes about."""
        return self.what.why or self.cause.why

    @property
    def remedy(self) -> Remedy:
        """What mends it here: tried is what was tried for the cause."""
        own = self.what.remedy
        return self.cause.remedy if own is None else replace(own, tried=own.tried and self.cause.remedy.tried)

    @property
    def subject(self) -> str:
        """What was looked at."""
        return self.what.subject

    @property
    def seen(self) -> str:
        return self.what.seen

    @property
    def wanted(self) -> str:
        return self.what.wanted

    @property
    def evidence(self) -> tuple[str, ...]:
        """Lines that were read."""
        return self.what.evidence

    @property
    def explains(self) -> tuple[str, ...]:
        """The ids, or patterns of ids, that follow from it."""
        return (*self.cause.explains, *self.what.explains)

    @property
    def text(self) -> str:
        """What was seen and what was wanted, one sentence."""
        return f"{self.subject}: {self.seen}{f'; wanted {self.wanted}' if self.wanted else ''}."

    @property
    def sentence(self) -> str:
        """What is wrong, why, and what to do about it, for a person."""
        return " ".join(part for part in (self.text, self.why, self.remedy.plain) if part)

    def advise(self, host: str) -> str:
        """The sentence, and what this collection does about it on a host of the inventory."""
        return f"{self.sentence} {self.remedy.ours(host)}".strip()

    def as_data(self, host: str = "") -> dict[str, Any]:
        """As modules return it, with the remedy's command for a host of the inventory."""
        return {
            "id": self.id,
            "severity": self.severity,
            "title": self.title,
            "subject": self.subject,
            "seen": self.seen,
            "wanted": self.wanted,
            "cause": self.why,
            "remedy": self.remedy.as_data(host),
            "evidence": list(self.evidence),
            "source": self.cause.link,
            "explains": list(self.explains),
        }

    def with_evidence(self, *lines: str, explains: tuple[str, ...] = ()) -> Finding:
        """The same with more lines that were read, and with what follows from these."""
        seen = self.what
        more = replace(seen, evidence=(*seen.evidence, *lines), explains=(*seen.explains, *explains))
        return replace(self, what=more)


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
