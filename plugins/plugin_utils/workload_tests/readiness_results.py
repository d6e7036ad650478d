# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The results of SIG-Windows' operational readiness tests, read from the log of their pod, which ends with the JUnit
files as an archive, in the form of the other tests.

op-readiness always ends with exit code 0, and reports a test as passed if the e2e.test of its image does not have its
name: then no test case ran. So the JUnit files decide, and the lines of the log only where a file is missing. Only
e2e.test's lines say why a test failed: its files have no message, and op-readiness drops the text beside it. Sources:
kubernetes-sigs/windows-operational-readiness 17e9dbf cmd/root.go, pkg/report/clean.go, pkg/testcases/cases.go;
kubernetes v1.31 test/e2e/framework/internal/junit/junit.go; ginkgo v2 reporters/default_reporter.go (EmitFailure).
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import re
import tarfile
import xml.etree.ElementTree as ET
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from .smoke.report import MARKS

BEGIN, END = "-----BEGIN WINKUBE RESULTS-----", "-----END WINKUBE RESULTS-----"
Verdict = Literal["ok", "broken", "skipped"]
_STEP = re.compile(
    r"\[(?P<category>[A-Za-z.]+)\] \d+ / \d+ Tests - (?P<what>Running|Passed|Failed|Skipping) "
    r"Operational Readiness Test(?: for Provider (?P<provider>\S*))?: (?P<rest>.*)"
)
_COMPLETED = "[OpReadinessTests] Completed running Ops Readiness tests"
_REASON = re.compile(r",? error is (?:\{error \d+ \d+ +)?(?P<why>.*?)\}?$")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_STAMP = re.compile(r"^\S+\t[A-Z]+\t")
_FAILURE = re.compile(r"\s*\[(?:FAILED|PANICKED|TIMEDOUT|INTERRUPTED|ABORTED)\] (?P<why>.*)")
_WHERE = re.compile(r"\s*In \[[A-Za-z() ]+\] at: (?P<where>\S+)")
_MOST_CHARACTERS = 600
"""Characters of a reason; Gomega prints whole objects."""
_SUITES = ("[SynchronizedBeforeSuite]", "[SynchronizedAfterSuite]", "[ReportBeforeSuite]", "[ReportAfterSuite]")
_MOST_BYTES = 64 * 1024 * 1024
"""Bytes of all JUnit files together, unpacked: a rewritten one has a few kilobytes."""


@dataclass(frozen=True, slots=True)
class Case:
    """One test of e2e.test that ran. `status`: JUnit's (passed, failed, panicked, timedout, interrupted)."""

    name: str
    status: str
    seconds: float
    message: str = ""


@dataclass(frozen=True, slots=True)
class Test:
    """One test of SIG-Windows' list."""

    category: str
    name: str
    verdict: Verdict
    seen: str
    cases: tuple[Case, ...] = ()


@dataclass(frozen=True, slots=True)
class Results:
    """`tests` in the order of execution; `problem`: why they may be incomplete, empty if they are not; `files`: the
    JUnit files by name."""

    tests: tuple[Test, ...]
    problem: str = ""
    files: Mapping[str, bytes] | None = None

    @property
    def failures(self) -> tuple[Test, ...]:
        """The tests that fail the run."""
        return tuple(test for test in self.tests if test.verdict == "broken")


def results_of(log: str, ended: str = "") -> Results:
    """The results in the pod's log, whole or truncated anywhere; `ended`: how the pod ended."""
    text, begin, packed = log.partition(BEGIN)
    said = _read_steps(text)
    if not begin:
        return Results(_merge(said, {}), f"The log of the pod ends before the results{_after(ended)}.")
    encoded, end, _rest = packed.partition(END)
    try:
        files = _unpack(encoded)
    except (binascii.Error, tarfile.TarError, OSError, EOFError, zlib.error) as error:
        why = "they are not whole in the log" if not end else str(error)
        return Results(_merge(said, {}), f"The JUnit files could not be read: {why}. The lines of the log tell.")
    read: dict[tuple[str, str], tuple[Case, ...]] = {}
    unreadable: list[str] = []
    for name, data in files.items():
        try:
            category, title, cases = _junit(data)
        except (ET.ParseError, ValueError) as error:
            unreadable.append(f"{name} ({error})")
            continue
        read[category, title] = read.get((category, title), ()) + cases
    problems = [f"Not readable as JUnit: {', '.join(unreadable)}."] if unreadable else []
    if _COMPLETED not in text:
        problems.append(f"op-readiness did not come to its end{_after(ended)}.")
    return Results(_merge(said, read), " ".join(problems), files)


def _after(ended: str) -> str:
    return f": {ended}" if ended else ""


def _unpack(encoded: str) -> dict[str, bytes]:
    data = base64.b64decode("".join(encoded.split()), validate=True)
    files: dict[str, bytes] = {}
    left = _MOST_BYTES
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
        for member in archive:
            name = member.name.rpartition("/")[2]
            if not member.isfile() or not name.endswith(".xml"):
                continue
            left -= member.size
            if left < 0:
                raise tarfile.TarError(f"they have more than {_MOST_BYTES // 1024**2} MB")
            found = archive.extractfile(member)
            files[name] = found.read() if found else b""
    return dict(sorted(files.items()))


def _junit(data: bytes) -> tuple[str, str, tuple[Case, ...]]:
    """(category, name of the test, cases); category and name are empty in a file that op-readiness did not rewrite."""
    root = ET.fromstring(data)
    if root.tag not in {"testsuites", "testsuite"}:
        raise ValueError(f"its root is {root.tag}")
    cases = [_case(found) for found in root.iter("testcase") if not _is_skipped(found)]
    return root.get("category") or "", root.get("name") or "", tuple(cases)


def _is_skipped(case: ET.Element) -> bool:
    named = str(case.get("name") or "").startswith(_SUITES)
    failed = case.find("failure") is not None or case.find("error") is not None
    return (named and not failed) or case.get("status") in {"skipped", "pending"} or case.find("skipped") is not None


def _case(case: ET.Element) -> Case:
    failure = case.find("failure")
    failure = case.find("error") if failure is None else failure
    status = str(case.get("status") or ("passed" if failure is None else "failed"))
    if failure is not None and status == "passed":
        status = "failed"
    message = "" if failure is None else str(failure.get("message") or failure.text or "")
    try:
        seconds = float(case.get("time") or 0)
    except ValueError:
        seconds = 0.0
    return Case(str(case.get("name") or ""), status, round(seconds, 1), " ".join(message.split()))


@dataclass(frozen=True, slots=True)
class _Said:
    """The log's lines about a test. `what` is the last of Running, Passed, Failed, Skipping; `reasons`: why tests of
    e2e.test failed meanwhile."""

    category: str
    name: str
    what: str
    why: str = ""
    reasons: tuple[str, ...] = ()


def _read_steps(text: str) -> tuple[_Said, ...]:
    found: dict[tuple[str, str], _Said] = {}
    between: list[str] = []
    for raw in text.splitlines():
        line = _STAMP.sub("", _COLOUR.sub("", raw))
        step = _STEP.match(line)
        if step is None:
            between.append(line)
            continue
        rest, why = step["rest"].strip(), step["provider"] or ""
        if step["what"] == "Failed" and (reason := _REASON.search(rest)):
            rest, why = rest[: reason.start()], reason["why"].strip()
        reasons = _reasons(between) if step["what"] == "Failed" else ()
        found[step["category"], rest] = _Said(step["category"], rest, step["what"], why, reasons)
        between = []
    return tuple(found.values())


def _reasons(lines: Sequence[str]) -> tuple[str, ...]:
    """e2e.test's text for each failure, from `[FAILED]` at the start of a line to the source position."""
    said: dict[str, None] = {}
    words: list[str] | None = None
    for line in lines:
        if begin := _FAILURE.match(line):
            words = [begin["why"]]
        elif words is not None and (line.startswith("-----") or _WHERE.match(line)):
            where = _WHERE.match(line)
            text = " ".join(" ".join(words).split())[:_MOST_CHARACTERS]
            said[f"{text} ({where['where']})" if where else text] = None
            words = None
        elif words is not None:
            words.append(line)
    return tuple(said)


def _merge(said: Sequence[_Said], read: Mapping[tuple[str, str], tuple[Case, ...]]) -> tuple[Test, ...]:
    """One Test for each that the log or a file has."""
    tests = [_test(each, read.get((each.category, each.name))) for each in said]
    known = {(each.category, each.name) for each in said}
    for (category, name), cases in read.items():
        if (category, name) not in known and (name or cases):
            tests.append(_judge(category, name or "a file without a name", cases))
    return tuple(tests)


def _test(said: _Said, cases: tuple[Case, ...] | None) -> Test:
    if said.what == "Skipping":
        return Test(said.category, said.name, "skipped", f"It is not for the provider {said.why}.")
    if cases is not None:
        return _judge(said.category, said.name, cases, said.reasons)
    if said.what == "Running":
        return Test(said.category, said.name, "broken", "It was under way when the run ended.")
    if said.what == "Failed":
        why = "; ".join(said.reasons) or said.why or "no reason was given"
        return Test(said.category, said.name, "broken", f"e2e.test failed: {why}.")
    return Test(said.category, said.name, "ok", "It passed, by the log; there is no JUnit file of it.")


def _judge(category: str, name: str, cases: tuple[Case, ...], reasons: Sequence[str] = ()) -> Test:
    failed = [case for case in cases if case.status != "passed"]
    if failed:
        said = "; ".join(f"{case.name}: {case.message or case.status}" for case in failed)
        if reasons and not all(case.message for case in failed):
            said += f": {'; '.join(reasons)}"
        return Test(category, name, "broken", said, cases)
    if not cases:
        return Test(category, name, "skipped", "e2e.test of this image has no test of that name; nothing ran.")
    seconds = sum(case.seconds for case in cases)
    return Test(category, name, "ok", f"{len(cases)} of e2e.test, {seconds:g} s.", cases)


# -- the report --------------------------------------------------------------------------------------------------------


def summary(results: Results) -> str:
    """One sentence, and what may be missing."""
    counts = {verdict: sum(1 for test in results.tests if test.verdict == verdict) for verdict in MARKS}
    said = ", ".join(f"{count} {MARKS[verdict]}" for verdict, count in counts.items() if count) or "nothing ran"
    which = f" Broken: {', '.join(test.name for test in results.failures)}." if results.failures else ""
    return f"Operational readiness, {len(results.tests)} tests: {said}.{which} {results.problem}".strip()


def table(results: Results) -> str:
    """For a person."""
    rows = [("verdict", "category", "test", "seen")]
    rows += [(MARKS[test.verdict], test.category, test.name, test.seen) for test in results.tests]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]) for row in rows
    ]
    return "\n".join([*(line.rstrip() for line in lines), "", summary(results), ""])


def as_dict(results: Results) -> dict[str, Any]:
    """For a machine, and for the task's result."""
    return {
        "summary": summary(results),
        "problem": results.problem,
        "tests": [{**asdict(test), "cases": [asdict(case) for case in test.cases]} for test in results.tests],
    }


def as_json(results: Results) -> str:
    """as_dict as JSON."""
    return json.dumps(as_dict(results), indent=2) + "\n"


def as_junit(results: Results) -> str:
    """One test suite with a test case for each test of the list."""
    counted = {"failures": "broken", "skipped": "skipped"}
    counts = {name: str(sum(1 for test in results.tests if test.verdict == each)) for name, each in counted.items()}
    suite = ET.Element(
        "testsuite", {"name": "winkube.node operational readiness", "tests": str(len(results.tests)), **counts}
    )
    for test in results.tests:
        spent = f"{sum(case.seconds for case in test.cases):g}"
        name = f"[sig-windows] {test.name}"
        case = ET.SubElement(suite, "testcase", classname=f"readiness.{test.category}", name=name, time=spent)
        if test.verdict == "broken":
            ET.SubElement(case, "failure", message=test.seen).text = test.seen
        elif test.verdict == "skipped":
            ET.SubElement(case, "skipped", message=test.seen)
    ET.indent(suite)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suite, encoding="unicode")}\n'
