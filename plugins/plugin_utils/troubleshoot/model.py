# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A check, its answer about one node, and the verdicts there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from .evidence import Evidence

Verdict = Literal["ok", "broken", "known_limitation", "cannot_tell"]

OK: Verdict = "ok"
BROKEN: Verdict = "broken"
KNOWN_LIMITATION: Verdict = "known_limitation"
CANNOT_TELL: Verdict = "cannot_tell"

WORDS: dict[Verdict, str] = {
    BROKEN: "broken",
    CANNOT_TELL: "cannot tell",
    KNOWN_LIMITATION: "known limitation",
    OK: "ok",
}
"""Each verdict as people read it; the worst first."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a check says about a node. `why` and `remedy` are sentences; `seen` are lines of what was looked at, and
    `run` is a command that a person can run where the check could not."""

    verdict: Verdict
    why: str
    seen: tuple[str, ...] = ()
    remedy: str = ""
    run: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """One question. `id` is its row (pod.stuck); `title` the question as people ask it; `look` answers it for a node;
    `says` are pieces of error messages that lead here."""

    id: str
    title: str
    look: Callable[[Evidence], Answer]
    says: tuple[str, ...] = ()

    @property
    def page(self) -> str:
        """The check's page in the collection."""
        return f"docs/troubleshooting/{self.id}.md"


@dataclass(frozen=True, slots=True)
class Result:
    """A check's answer about the node `host`."""

    host: str
    check: Check
    answer: Answer

    def as_data(self) -> dict[str, Any]:
        """As modules return it and report.json has it."""
        return {
            "id": self.check.id,
            "title": self.check.title,
            "verdict": self.answer.verdict,
            "why": self.answer.why,
            "seen": list(self.answer.seen),
            "remedy": self.answer.remedy,
            "run": self.answer.run,
            "page": self.check.page,
        }


def ok(why: str, seen: Iterable[str] = ()) -> Answer:
    """Nothing is wrong, as far as was looked."""
    return Answer(OK, why, tuple(seen))


def broken(why: str, remedy: str, seen: Iterable[str] = ()) -> Answer:
    """Something is wrong."""
    return Answer(BROKEN, why, tuple(seen), remedy)


def known_limitation(why: str, remedy: str = "", seen: Iterable[str] = ()) -> Answer:
    """It does not work and cannot: Windows or Kubernetes is so."""
    return Answer(KNOWN_LIMITATION, why, tuple(seen), remedy)


def cannot_tell(why: str, remedy: str = "", run: str = "", seen: Iterable[str] = ()) -> Answer:
    """What would have to be looked at is out of reach: `why` says so, `run` is what a person can do instead."""
    return Answer(CANNOT_TELL, why, tuple(seen), remedy, run)


def does_not_apply(why: str) -> Answer:
    """The question does not come up on this node."""
    return ok(f"Does not apply: {why}")
