"""`make judge`: what the diagnosis says of every case, and a line of JSON with the figures."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path

from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.table import CHECKS

from tests.judge.case import Case, judge, load

REMEDIES = Path(__file__).parents[1] / "integration" / "test_remedies.py"


@dataclass
class Figures:
    """How many; `lines` are what went wrong."""

    cases: int = 0
    first: int = 0
    named: int = 0
    false_alarms: int = 0
    healthy: int = 0
    lines: list[str] = field(default_factory=list)

    def as_data(self) -> dict[str, int]:
        return {
            "cases": self.cases,
            "first": self.first,
            "named": self.named,
            "missed": self.cases - self.named,
            "false_alarms": self.false_alarms,
            "healthy": self.healthy,
            **remedies(),
        }


def remedies() -> dict[str, int]:
    """How many checks name a command, and for how many of them tests/integration/test_remedies.py runs it on a broken
    node."""
    commands = {each.id for each in CHECKS if each.remedy.command("win1")}
    tested = REMEDIES.read_text(encoding="utf-8") if REMEDIES.exists() else ""
    return {"remedies": len(commands), "remedies_executed": sum(f'"{each}"' in tested for each in commands)}


def figures(cases: tuple[Case, ...], healthy: tuple[Case, ...]) -> Figures:
    found = Figures(cases=len(cases), healthy=len(healthy))
    for case in cases:
        answer = judge(case)
        found.first += answer.causes[:1] == (case.first,)
        found.named += case.first in answer.named
        if answer.causes[:1] != (case.first,):
            found.lines.append(f"{case.name}: wanted {case.first}, got {', '.join(answer.causes) or 'nothing'}")
        if wrong := case.never & set(answer.named):
            found.false_alarms += 1
            found.lines.append(f"{case.name}: {', '.join(sorted(wrong))} must not come")
    for case in healthy:
        answer = judge(case)
        if answer.named:
            found.false_alarms += 1
            said = "; ".join(f"{each.id}: {each.text}" for each in answer.findings)
            found.lines.append(f"{case.name} is healthy: {said}")
    return found


def main() -> int:
    found = figures(load("cases"), load("healthy"))
    print(*found.lines, sep="\n")
    print(json.dumps(found.as_data()))
    return 1 if found.lines else 0


if __name__ == "__main__":
    sys.exit(main())
