"""What a report of run.ps1 says, judged once more by the checker of the contract: make contract-judge REPORT=file

The script's own judgement is a second reading of the same cases in another language: where the two differ, one of them
is wrong, which is said and counts as a failure.
"""

from __future__ import annotations

import base64
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tests.conftest import import_as_collection  # noqa: E402

if __name__ == "__main__":
    import_as_collection()

from tests.contract import people  # noqa: E402
from tests.contract.carried.build import commit, lines  # noqa: E402
from tests.contract.carried.journey import Download  # noqa: E402
from tests.contract.check import answer_differences, differences, state_differences  # noqa: E402
from tests.contract.powershell import last_json, unwire  # noqa: E402
from tests.contract.resident import PowerShellError  # noqa: E402
from tests.contract.steps import LookState, Run, Want  # noqa: E402


class ReportError(ValueError):
    """A sentence: why this is no report that can be judged."""


@dataclass(frozen=True)
class Verdict:
    """One case under one PowerShell: what the checker found, and whether the script found the same."""

    shell: str
    id: str
    verdict: str
    why: tuple[str, ...]
    script: str

    @property
    def agreed(self) -> bool:
        return self.verdict == self.script


@dataclass(frozen=True)
class Report:
    """The first line, the cases' lines, and whether the last line is there."""

    start: Mapping[str, Any]
    cases: Sequence[Mapping[str, Any]]
    complete: bool


def read_report(text: str) -> Report:
    """Raises ReportError. A report whose end is missing is judged as far as it goes."""
    entries = []
    for number, line in enumerate(text.lstrip("\ufeff").splitlines(), 1):
        try:
            entries.append(json.loads(line))
        except ValueError as error:
            if number == len(text.splitlines()):
                break
            raise ReportError(f"line {number} is no JSON ({error})") from error
    if not entries or entries[0].get("kind") != "start":
        raise ReportError("it does not begin with the line that run.ps1 writes first")
    cases = [entry for entry in entries if entry.get("kind") == "case"]
    return Report(entries[0], cases, entries[-1].get("kind") == "end")


def judged(report: Report) -> Iterator[Verdict]:
    """Every case of the report."""
    given = report.start["about"].get("download")
    carried = _carried(Download(**given) if given else None)
    for entry in report.cases:
        line = carried.get(entry["id"])
        script = str(entry["verdict"])
        if script == "skipped":
            yield Verdict(entry["shell"], entry["id"], "skipped", tuple(entry["why"]), script)
        elif line is None:
            yield Verdict(entry["shell"], entry["id"], "failed", ("there is no such case in this checkout",), script)
        else:
            start = report.start
            words = {"@POWERSHELL@": str(entry["program"]), "@WEB_PORT@": str(start["web_port"])}
            words["@DRIVE@"] = str(start.get("drive", ""))
            why = tuple(_failures(_filled(line, words), entry["found"]))
            yield Verdict(entry["shell"], entry["id"], "failed" if why else "passed", why, script)


@cache
def _carried(download: Download | None) -> Mapping[str, Mapping[str, Any]]:
    return {line["id"]: line for line in lines(download)}


def _failures(line: Mapping[str, Any], found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    waiting = list(found)
    for part in ("main", "last"):
        answer: Mapping[str, Any] = {}
        for step in line[part]:
            if not waiting or "part" in waiting[0]:
                yield f"{part}: step {step['do']} {step.get('what', '')} was not taken"
                break
            one = waiting.pop(0)
            try:
                if step["do"] == "run":
                    if one["timed_out"]:
                        raise PowerShellError("it was ended after 300 s")
                    answer = last_json(str(one["stdout"]) or f"(nothing; standard error: {one['stderr'][-1500:]})")
                    yield from answer_differences(_run(step), answer)
                elif step["do"] == "people":
                    yield from people.differences(step, one["runs"])
                elif step["do"] == "look":
                    yield from _tree_differences(step, last_json(str(one["stdout"])))
                elif step["do"] == "state":
                    files = unwire(last_json(str(one["stdout"]))["files"])
                    data = {name: value for name, value in files.items() if isinstance(value, bytes)}
                    yield from state_differences(LookState(step["what"], step["files"], step["hidden"]), answer, data)
            except PowerShellError as error:
                yield f"a step could not be taken: {error}"
        while waiting and waiting.pop(0) != {"part": part}:
            pass


def _run(step: Mapping[str, Any]) -> Run:
    wants = [Want(want["what"], tuple(want["at"]), want["value"]) for want in step["wants"]]
    return Run(step["module"], {}, wants, step["what"], step["outcome"])


def _tree_differences(step: Mapping[str, Any], look: Mapping[str, Any]) -> Iterator[str]:
    found = {item["path"] + ("/" if item["kind"] == "directory" else ""): item for item in look["files"]}
    what = step["what"]
    for item in step["files"]:
        name, one = item["path"], found.pop(item["path"], None)
        if one is None:
            yield f"{what}: {name} is missing"
        elif item["kind"] == "json" and one["kind"] == "file":
            shown = json.loads(base64.b64decode(one["data"]))
            yield from (f"{what}: {name}{place}: {text}" for place, text in differences(item["value"], shown))
        elif item["kind"] != one["kind"] or (item["kind"] == "file" and item["data"] != one["data"]):
            yield f"{what}: {name} is {one}, wanted {item}"
    yield from (f"{what}: {name} should not be there" for name in found)
    if step["registry"] != look["registry"]:
        yield f"{what}: the registry holds {look['registry']}, wanted {step['registry']}"


def _filled(value: Any, words: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        for word, text in words.items():
            value = value.replace(word, text)
        return value
    if isinstance(value, Mapping):
        return {key: _filled(item, words) for key, item in value.items()}
    return [_filled(item, words) for item in value] if isinstance(value, list) else value


def told(report: Report, verdicts: Sequence[Verdict]) -> Iterator[str]:
    """The lines for who reads them; the last is `N passed, N failed, N skipped`."""
    about = report.start["about"]
    yield f"{report.start['machine']}; commit {about['commit'] or 'unknown'}, ansible-core {about['ansible_core']}"
    if report.start.get("defender"):
        yield str(report.start["defender"])
    if about["commit"] != commit():
        yield f"This checkout is commit {commit()}: judge the report with the cases that it was made with."
    for verdict in verdicts:
        if verdict.verdict == "failed" or not verdict.agreed:
            yield f"{verdict.verdict}  {verdict.id}  ({verdict.shell})"
            yield from (f"        {sentence[:600]}" for sentence in verdict.why)
        if not verdict.agreed:
            yield f"        run.ps1 says {verdict.script}: one of the two judges is wrong"
    lacks = report.start.get("lacks") or []
    if lacks:
        yield f"This Windows does not show {', '.join(lacks)}: cases that need these were skipped, not judged."
    if not report.complete:
        yield "The report has no end: run.ps1 was ended before it was through."
    yield "The row for docs/first-hour.md:"
    yield from rows(report, verdicts)
    count = Counter(verdict.verdict for verdict in verdicts)
    yield f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped"


def rows(report: Report, verdicts: Sequence[Verdict]) -> Iterator[str]:
    """One row per PowerShell for the table of docs/first-hour.md: what, by which program, where, when, result."""
    day = str(report.start.get("at") or "")[:10] or "no date"
    place = "; ".join(str(report.start[key]) for key in ("machine", "defender") if report.start.get(key)).replace(
        "|", "/"
    )
    lacks = report.start.get("lacks") or []
    for shell in dict.fromkeys(verdict.shell for verdict in verdicts):
        count = Counter(verdict.verdict for verdict in verdicts if verdict.shell == shell)
        result = f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped"
        result += f" (not shown there: {', '.join(lacks)})" if lacks else ""
        commit_ = str(report.start["about"]["commit"])[:8] or "unknown"
        yield f"| the archive's cases, commit {commit_} | {shell} | {place} | {day} | {result} |"


def main(arguments: Sequence[str]) -> int:
    if not arguments:
        print("Name the report: make contract-judge REPORT=winkube-report-NAME.jsonl", file=sys.stderr)
        return 2
    good = True
    for name in arguments:
        try:
            report = read_report(Path(name).read_text(encoding="utf-8"))
        except (OSError, ReportError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            return 2
        verdicts = list(judged(report))
        print(f"{name}: ", end="")
        print("\n".join(told(report, verdicts)))
        good = good and report.complete and all(each.agreed and each.verdict != "failed" for each in verdicts)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
