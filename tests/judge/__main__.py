"""`make judge`: what the diagnosis says of every case and every text of the sets that nobody mended on, and a line of
JSON with the figures. `--frozen` prints what each text of those sets got, `--rows` how often each row of the tables
decides."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.table import KNOWN
from ansible_collections.winkube.node.plugins.plugin_utils.words.meanings import NOT_KNOWN, meanings
from ansible_collections.winkube.node.plugins.plugin_utils.words.messages import explain_text, find_messages
from ansible_collections.winkube.node.plugins.plugin_utils.words.places import NO_CAUSE
from ansible_collections.winkube.node.plugins.plugin_utils.words.precedence import KINDS

from tests.judge.case import Case, judge, load
from tests.judge.signs import find_drastic
from tests.judge.start import start_ratio

HERE = Path(__file__).parent
SETS = {"windows": HERE / "frozen-windows.yml", "general": HERE / "frozen.yml"}
REMEDIES = Path(__file__).parents[1] / "integration" / "test_remedies.py"
ANSWERS = ("first", "list", "place", "wrong", "unknown")


@dataclass
class Figures:
    """How many; `lines` are what went wrong."""

    cases: int = 0
    first: int = 0
    named: int = 0
    several: int = 0
    place: int = 0
    catch_all: int = 0
    false_alarms: int = 0
    healthy: int = 0
    lines: list[str] = field(default_factory=list)

    def as_data(self) -> dict[str, Any]:
        return {
            **{name: figures_of(texts(name)) for name in SETS},
            "judged": {
                "cases": self.cases,
                "first": self.first,
                "named": self.named,
                "list": self.several,
                "place": self.place,
                "missed": self.cases - self.named - self.place,
                "catch_all": self.catch_all,
                "false_alarms": self.false_alarms,
            },
            "healthy": healthy(),
            **remedies(),
            "drastic_on_one_sign": sum(1 for _ in find_drastic()),
            "start_ratio": start_ratio(),
        }


def texts(name: str) -> list[Mapping[str, Any]]:
    """The texts of a set that no rule was mended on."""
    found: list[Mapping[str, Any]] = yaml.safe_load(SETS[name].read_text(encoding="utf-8"))
    return found


def figures_of(cases: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Each text counts once: the cause first; a short list with it; the place or the code alone (where they are right);
    a definite cause, or a list, without the thread's; or nothing that is right."""
    answers = [(case, meanings(str(case["message"]), "")) for case in cases]
    counts = Counter(kind_of(case, found) for case, found in answers)
    lengths = [len(found[0]["causes"]) for _case, found in answers if found and "causes" in found[0]]
    return {
        "cases": len(cases),
        **{kind: counts[kind] for kind in ANSWERS},
        "list_length": round(fmean(lengths), 2) if lengths else 0,
    }


def told(case: Mapping[str, Any]) -> str:
    """What a text of a set got."""
    found = meanings(str(case["message"]), "")
    said = found[0] if found else {"id": "nothing", "cause": ""}
    wanted = case.get("first") or case.get("place")
    return f"{kind_of(case, found)}: {case['source']}: wanted {wanted}, got {said['id']}: {said['cause'][:120]}"


def kind_of(case: Mapping[str, Any], found: list[dict[str, Any]]) -> str:
    """What an answer is worth. Where a text tells nothing (`place: []`), no cause is right, and silence too."""
    wanted = case.get("first")
    causes = wanted if isinstance(wanted, list) else [wanted]
    if found and "causes" in found[0]:
        return "list" if set(causes) & set(found[0]["causes"]) else "wrong"
    if found and _names_cause(found[0]):
        return "first" if found[0]["id"] in causes else "wrong"
    words = case.get("place")
    if words == []:
        return "place"
    if not found:
        return "unknown"
    right = words is None or any(str(each).casefold() in found[0]["cause"].casefold() for each in words)
    return "place" if right else "unknown"


def _names_cause(said: Mapping[str, Any]) -> bool:
    """Whether an answer is more than a place."""
    return said["id"] != NOT_KNOWN and not said["cause"].startswith(NO_CAUSE)


def healthy() -> dict[str, int]:
    """Of the logs of healthy nodes, each as a paste: how many are told a cause or a list, and how many anything."""
    logs = [str(text) for text in _logs_of("healthy")]
    logs += [str(case.data["message"]) for case in load("healthy") if case.data.get("message")]
    answers = [meanings(text, "") for text in logs]
    definite = sum(any(_names_cause(each) for each in found) for found in answers)
    return {"texts": len(logs), "definite": definite, "noise": sum(bool(found) for found in answers) - definite}


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
            found.place += kind_of(case.data, meanings(str(case.data["message"]), "")) == "place"
            continue
        answer = judge(case)
        found.several += answer.several
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


def rows() -> Iterator[str]:
    """For each row of the tables how often it decides the first answer of the texts that nobody mended on, and of the
    judged ones, and of how many records of texts and lines of logs it is the row. What decides the least is first."""
    messages = [str(each.data["message"]) for each in load("cases") if each.data.get("message")]
    unread = [str(each["message"]) for name in SETS for each in texts(name)]
    logs = [str(text) for folder in ("cases", "healthy") for text in _logs_of(folder)]
    told = {text: [each.message for each in explain_text(text)] for text in (*messages, *unread)}
    unseen = Counter(row for text in unread for row in told[text][:1])
    seen = Counter(row for text in messages for row in told[text][:1])
    said = Counter(row for found in told.values() for row in found)
    said.update(row for text in logs for row in find_messages(text.splitlines()) if row is not None)
    every = [row for kind in KINDS for row in kind]
    for row in sorted(every, key=lambda each: (unseen[each], seen[each], said[each])):
        counted = f"{unseen[row]:3} unseen {seen[row]:4} judged {said[row]:4} lines"
        yield f"{counted}  {row.finding}: {row.shown[:100]} ({row.source})"
    idle, useless, silent = (sum(not count[each] for each in every) for count in (unseen, seen, said))
    yield f"{len(every)} rows; {idle} decide nothing unseen, {useless} nothing judged, {silent} are said of no line"


def _logs_of(folder: str) -> Iterator[object]:
    for each in load(folder):
        yield from (each.data.get("logs") or {}).values()


def main() -> int:
    if "--rows" in sys.argv:
        print(*rows(), sep="\n")
        return 0
    if "--frozen" in sys.argv:
        print(*(f"{name}: {told(case)}" for name in SETS for case in texts(name)), sep="\n")
    found = figures(load("cases"), load("healthy"))
    print(*found.lines, sep="\n")
    print(json.dumps(found.as_data()))
    return 1 if found.lines else 0


if __name__ == "__main__":
    sys.exit(main())
