"""`make judge`: what the diagnosis says of every case, and a line of JSON with the figures. `--frozen` prints what the
frozen set got."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.table import KNOWN
from ansible_collections.winkube.node.plugins.plugin_utils.words.meanings import NOT_KNOWN, meanings
from ansible_collections.winkube.node.plugins.plugin_utils.words.places import NO_CAUSE

from tests.judge.case import Case, judge, load
from tests.judge.signs import find_drastic

FROZEN = Path(__file__).with_name("frozen.yml")
REMEDIES = Path(__file__).parents[1] / "integration" / "test_remedies.py"


@dataclass
class Figures:
    """How many; `lines` are what went wrong."""

    cases: int = 0
    first: int = 0
    named: int = 0
    place: int = 0
    catch_all: int = 0
    false_alarms: int = 0
    healthy: int = 0
    lines: list[str] = field(default_factory=list)

    def as_data(self) -> dict[str, Any]:
        return {
            "cases": self.cases,
            "first": self.first,
            "named": self.named,
            "place": self.place,
            "missed": self.cases - self.named - self.place,
            "catch_all": self.catch_all,
            "false_alarms": self.false_alarms,
            "healthy": self.healthy,
            **remedies(),
            "drastic_on_one_sign": sum(1 for _ in find_drastic()),
            "frozen": frozen()[0],
        }


def _names_cause(said: Mapping[str, str]) -> bool:
    """Whether an answer is more than a place."""
    return said["id"] != NOT_KNOWN and not said["cause"].startswith(NO_CAUSE)


def frozen() -> tuple[dict[str, int], list[str]]:
    """The figures of the cases that no rule was mended on, and what each got. Each counts once: the cause first, the
    place or the code alone (where they are right), a definite cause that is not the thread's, or nothing."""
    counts = {"cases": 0, "first": 0, "place": 0, "wrong": 0, "unknown": 0}
    lines = []
    for case in yaml.safe_load(FROZEN.read_text(encoding="utf-8")):
        found = meanings(str(case["message"]), "win1")
        kind = kind_of(case, found)
        counts["cases"] += 1
        counts[kind] += 1
        said = found[0] if found else {"id": "nothing", "cause": ""}
        wanted = case.get("first") or case.get("place")
        lines.append(f"{kind}: {case['source']}: wanted {wanted}, got {said['id']}: {said['cause'][:120]}")
    return counts, lines


def kind_of(case: Mapping[str, Any], found: list[dict[str, str]]) -> str:
    """What an answer is worth."""
    if not found:
        return "unknown"
    one = found[0]
    if _names_cause(one):
        wanted = case.get("first")
        return "first" if one["id"] in (wanted if isinstance(wanted, list) else [wanted]) else "wrong"
    words = case.get("place")
    right = words is None or any(str(each).casefold() in one["cause"].casefold() for each in words)
    return "place" if right else "unknown"


def remedies() -> dict[str, int]:
    """How many checks name a command, and for how many of them tests/integration/test_remedies.py runs it on a broken
    node."""
    commands = {each.id for each in KNOWN.values() if each.remedy.command("win1")}
    tested = REMEDIES.read_text(encoding="utf-8") if REMEDIES.exists() else ""
    return {"remedies": len(commands), "remedies_executed": sum(f'"{each}"' in tested for each in commands)}


def figures(cases: tuple[Case, ...], healthy: tuple[Case, ...]) -> Figures:
    found = Figures(cases=len(cases), healthy=len(healthy))
    for case in cases:
        if case.place:
            found.place += kind_of(case.data, meanings(str(case.data["message"]), "win1")) == "place"
            continue
        answer = judge(case)
        right = answer.causes[:1] == (case.first,)
        found.first += right and not answer.place
        found.catch_all += right and answer.place
        found.named += case.first in answer.named
        if not right:
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
    if "--frozen" in sys.argv:
        print(*frozen()[1], sep="\n")
    found = figures(load("cases"), load("healthy"))
    print(*found.lines, sep="\n")
    print(json.dumps(found.as_data()))
    return 1 if found.lines else 0


if __name__ == "__main__":
    sys.exit(main())
