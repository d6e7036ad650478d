# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a rule of the linter says by version of Kubernetes and by container runtime: rule_steps.txt, read.

A file of its own: it is the table, and facts know no rules of the linter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("rule_steps.txt")
NOTHING = "nothing"
REFUSED = "refused"
OF_RULES = (NOTHING, "info", "warning", "error", REFUSED)
"""From the mildest to the worst."""
OF_QUESTIONS = ("no", "yes")
UNVERIFIED = "unverified"
_PODS = {"any": False, "os.name": True}


@dataclass(frozen=True, slots=True)
class Step:
    """`declared`: only for pods that say os.name: windows. `minor`: from Kubernetes 1.<minor> on, 0 with `runtime`,
    which is then the only one that it is for. `sentence`: may be empty."""

    names: tuple[str, ...]
    declared: bool
    minor: int
    runtime: str
    answer: str
    sentence: str
    source: str

    def holds(self, minor: int, runtime: str, declared: bool) -> bool:
        return minor >= self.minor and self.runtime in ("", runtime) and (declared or not self.declared)

    @property
    def since(self) -> str:
        """As the table writes it."""
        return self.runtime or f"1.{self.minor}"


@cache
def read_steps() -> tuple[Step, ...]:
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return tuple(_step(line) for line in lines if line and not line.startswith("#"))


def _step(line: str) -> Step:
    names, pods, since, answer, sentence, source = (part.strip() for part in line.split("|"))
    minor = int(since.removeprefix("1.")) if since.startswith("1.") else 0
    runtime = "" if minor else since
    return Step(tuple(names.split()), _PODS[pods], minor, runtime, answer, sentence, source)


@cache
def _by_name() -> Mapping[str, tuple[Step, ...]]:
    found: dict[str, tuple[Step, ...]] = {}
    for step in read_steps():
        for name in step.names:
            found[name] = (*found.get(name, ()), step)
    return found


@cache
def step_of(name: str, minor: int, runtime: str, declared: bool) -> Step | None:
    """What holds of a rule or a question there; None where the table says nothing. KeyError for a name without rows."""
    steps = _by_name()[name]
    return next((step for step in reversed(steps) if step.holds(minor, runtime, declared)), None)


def says_yes(question: str, minor: int, runtime: str = "containerd", declared: bool = False) -> bool:
    step = step_of(question, minor, runtime, declared)
    return step is not None and step.answer == "yes"


def refused_since(name: str) -> int | None:
    """The first minor whose API server rejects the pod."""
    return next((step.minor for step in _by_name()[name] if step.answer == REFUSED), None)
