# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report: a table for a person, JSON and JUnit for a machine."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .commands import as_typed
from .model import Finding
from .plan import FLOWS, GROUPS, SEVEN

MARKS = {"ok": "ok", "broken": "BROKEN", "follows": "follows", "limitation": "known limit", "skipped": "not run"}
_ORDER = ("broken", "follows", "ok", "limitation", "skipped")


@dataclass(frozen=True, slots=True)
class Report:
    """The findings of one run in the namespace that its commands name."""

    namespace: str
    findings: tuple[Finding, ...]

    @property
    def broken(self) -> tuple[Finding, ...]:
        """What fails the run."""
        return tuple(found for found in self.findings if found.verdict == "broken")

    def of_group(self, group: str) -> str:
        """The verdict of all checks of a group together: the worst; what was not run only if nothing was."""
        verdicts = {found.verdict for found in self.findings if found.check.group == group}
        return next((verdict for verdict in _ORDER if verdict in verdicts), "skipped")


def summary(report: Report) -> str:
    """One sentence."""
    counts = {verdict: sum(1 for found in report.findings if found.verdict == verdict) for verdict in MARKS}
    said = ", ".join(f"{count} {MARKS[verdict]}" for verdict, count in counts.items() if count)
    broken = [GROUPS[group] for group in GROUPS if report.of_group(group) == "broken"]
    which = f" Broken: {', '.join(broken)}." if broken else ""
    return f"Smoke test, {len(report.findings)} checks: {said}.{which}"


def table(report: Report) -> str:
    """For a person: the seven checks, the flows, each check, and what to do about those that are broken."""
    lines = ["The seven checks of Kubernetes' guide for Windows"]
    for letter, group in zip("abcdefg", SEVEN, strict=True):
        lines.append(f"  {letter}  {GROUPS[group]:<24}{MARKS[report.of_group(group)]}")
    lines += ["", f"{'Supported flows':<34}{'TCP':<14}UDP"]
    for flow in FLOWS:
        lines.append(f"  {flow:<32}{_of_flow(report, flow, 'TCP'):<14}{_of_flow(report, flow, 'UDP')}".rstrip())
    rows = [("verdict", "check", "protocol", "from", "to", "seen")]
    rows += [
        (
            MARKS[found.verdict],
            found.check.title,
            found.check.protocol,
            found.check.source,
            found.check.target,
            found.seen,
        )
        for found in report.findings
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    lines.append("")
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        lines.append("  ".join([*cells, row[5]]).rstrip())
    for found in report.broken:
        lines += ["", f"{found.check.id}: {found.seen}"]
        lines += [f"  {command(report, found)}", f"  {found.remedy}"]
    return "\n".join([*lines, "", summary(report), ""])


def _of_flow(report: Report, flow: str, protocol: str) -> str:
    verdicts = {
        found.verdict for found in report.findings if (found.check.flow, found.check.protocol) == (flow, protocol)
    }
    return next((MARKS[verdict] for verdict in _ORDER if verdict in verdicts), "")


def command(report: Report, found: Finding) -> str:
    """The command of a check, as a person types it; empty if it has none."""
    check = found.check
    return as_typed(report.namespace, check.pod, check.argv) if check.argv else ""


def as_dict(report: Report) -> dict[str, Any]:
    """For a machine, and for the task's result."""
    return {
        "summary": summary(report),
        "namespace": report.namespace,
        "checks": {group: report.of_group(group) for group in SEVEN},
        "groups": {group: report.of_group(group) for group in GROUPS},
        "flows": {flow: {protocol: _of_flow(report, flow, protocol) for protocol in ("TCP", "UDP")} for flow in FLOWS},
        "findings": [
            {
                "id": found.check.id,
                "group": found.check.group,
                "title": found.check.title,
                "verdict": found.verdict,
                "seen": found.seen,
                "remedy": found.remedy,
                "flow": found.check.flow,
                "protocol": found.check.protocol,
                "where": found.check.where,
                "source": found.check.source,
                "target": found.check.target,
                "command": command(report, found),
                "suite": found.check.suite,
            }
            for found in report.findings
        ],
    }


def as_json(report: Report) -> str:
    """as_dict as text."""
    return json.dumps(as_dict(report), indent=2) + "\n"


def as_junit(report: Report) -> str:
    """One test suite with a test case for each check; what follows from another failure counts as skipped."""
    counted = {name: _count(report.findings, *verdicts) for name, verdicts in _JUNIT.items()}
    suite = ET.Element("testsuite", {"name": "winkube.node smoke", "tests": str(len(report.findings)), **counted})
    for found in report.findings:
        check = found.check
        name = f"[sig-windows] {check.suite or check.title} ({check.id})"
        case = ET.SubElement(suite, "testcase", classname=f"smoke.{check.group}", name=name)
        text = "\n".join(part for part in (found.seen, command(report, found), found.remedy) if part)
        if found.verdict == "broken":
            ET.SubElement(case, "failure", message=found.seen).text = text
        elif found.verdict != "ok":
            ET.SubElement(case, "skipped", message=found.seen)
        else:
            ET.SubElement(case, "system-out").text = text
    ET.indent(suite)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suite, encoding="unicode")}\n'


_JUNIT = {"failures": ("broken",), "skipped": ("follows", "limitation", "skipped")}


def _count(findings: Sequence[Finding], *verdicts: str) -> str:
    return str(sum(1 for found in findings if found.verdict in verdicts))
