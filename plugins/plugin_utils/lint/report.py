# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings as text for people, JSON and SARIF for programs, and annotations for GitHub."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from .engine import Report
from .model import Finding, Severity
from .profile import Profile
from .rule import Rule, fill_gaps
from .rulebook import RULES, UNCHECKED, UNREADABLE

VERSION = "0.1.0"


FORMATS = ("text", "line", "json", "junit", "sarif", "github")
SCHEMA = 1


def place(finding: Finding) -> str:
    """`file:line:column`; the object where there are no lines; only the file if it is not a manifest."""
    if finding.line:
        return f"{finding.file}:{finding.line}:{finding.column}"
    return f"{finding.file}: {finding.object}" if finding.object else finding.file


def headline(finding: Finding) -> str:
    """`file:line:column: severity: message [rule]`, the form of compilers, which editors know."""
    return f"{place(finding)}: {finding.severity.name.lower()}: {finding.message} [{finding.rule}]"


def as_lines(report: Report, strict: bool = False) -> Iterator[str]:
    """One line for each finding, and nothing else."""
    yield from (f"{headline(finding)}\n" for finding in report.list_shown(strict))


def as_junit(report: Report, strict: bool = False) -> Iterator[str]:
    """JUnit XML, which CI servers show as tests: a suite for each file, a case for each finding."""
    root = ElementTree.Element("testsuites", name="workload_lint")
    suites: dict[str, ElementTree.Element] = {}
    for finding in report.list_shown(strict):
        suite = suites.get(finding.file)
        if suite is None:
            suite = suites[finding.file] = ElementTree.SubElement(root, "testsuite", name=finding.file)
        name = f"{finding.rule} {finding.object} {finding.path}".strip()
        case = ElementTree.SubElement(suite, "testcase", name=name, classname=finding.rule, file=finding.file)
        text = f"{headline(finding)}\n{finding.remedy}"
        fault = ElementTree.SubElement(case, "failure", type=finding.severity.name.lower(), message=finding.message)
        fault.text = _NOT_IN_XML.sub("?", text)
    for suite in suites.values():
        suite.set("tests", str(len(suite)))
        suite.set("failures", str(len(suite)))
    yield ElementTree.tostring(root, encoding="unicode", xml_declaration=False) + "\n"


_NOT_IN_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def fold(report: Report, how: str = "--strict") -> str:
    """The findings of hygiene as one line; empty if there are none. `how`: the option that shows each."""
    counted = ", ".join(f"{rule} {count}" for rule, count in sorted(report.hygiene_counts.items()))
    return f"Hygiene, shown by {how}: {counted}." if counted else ""


def tell_undirected(pods: int) -> str:
    """Information once a run: of each such pod it is a warning where no taint is known to keep it off."""
    told = "1 pod selects no system; with untainted Windows nodes it lands there"
    if pods != 1:
        told = f"{pods} pods select no system; with untainted Windows nodes they land there"
    return f"{told} (the setting taint says whether they are)."


def as_text(report: Report, strict: bool = False) -> Iterator[str]:
    """A finding in the form of compilers, then its line of the text if there is one, then the remedy."""
    for finding in report.list_shown(strict):
        yield f"{headline(finding)}\n"
        if finding.excerpt:
            yield f"    | {finding.excerpt}\n"
        container = f", container {finding.container}" if finding.container else ""
        if finding.object:
            yield f"    in {finding.object}{container}: {finding.path}\n"
        yield f"    do {finding.remedy}\n"
    if not strict and (line := fold(report)):
        yield f"{line}\n"
    if report.undirected:
        yield f"{tell_undirected(report.undirected)}\n"
    yield f"{summary(report)}\n"


def _number(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def summary(report: Report) -> str:
    counts = ", ".join(
        f"{report.count(severity)} {severity.name.lower()}{'' if report.count(severity) == 1 else 's'}"
        if severity is not Severity.INFO
        else f"{report.count(severity)} info"
        for severity in sorted(Severity, reverse=True)
    )
    pods = report.pods
    unknown = pods.get("unknown", 0)
    checked = f"{_number(report.objects, 'object')} checked"
    if report.unchecked:
        left = (_number(count, what) for what, count in sorted(report.unchecked.items()))
        checked += f", {', '.join(left)} not checked"
    text = (
        f"{counts}; {checked}; pods: {pods.get('windows', 0)} for Windows,"
        f" {pods.get('linux', 0)} for Linux, {unknown} do not say."
    )
    if not report.objects and not report.unchecked:
        text += " Nothing was checked: the input has no Kubernetes object."
    if unknown:
        text += " Those that do not say were not checked (unknown_pods: windows checks them as well)."
    if report.not_looked_into:
        kinds = ", ".join(f"{kind} ({count})" for kind, count in sorted(report.not_looked_into.items()))
        text += f" Not checked, though they name images: {kinds}."
    if report.silenced_findings:
        text += f" Silenced with a reason: {len(report.silenced_findings)}."
    return text


_UNCHECKED = ("chart", "kustomization", "template", "file")


def as_dict(report: Report, profile: Profile) -> dict[str, Any]:
    """The JSON report. `schema` changes when a key is removed or changes its meaning."""
    return {
        "schema": SCHEMA,
        "profile": profile_dict(profile),
        "summary": {
            "errors": report.count(Severity.ERROR),
            "warnings": report.count(Severity.WARNING),
            "infos": report.count(Severity.INFO),
            "silenced": len(report.silenced_findings),
            "objects": report.objects,
            "not_checked": {f"{what}s": report.unchecked.get(what, 0) for what in _UNCHECKED},
            "not_looked_into": dict(sorted(report.not_looked_into.items())),
            "pods": {os: report.pods.get(os, 0) for os in ("windows", "linux", "unknown")},
            "undirected": report.undirected,
        },
        "findings": [finding.as_dict() for finding in report.findings],
        "silenced": [finding.as_dict() for finding in report.silenced_findings],
    }


def profile_dict(profile: Profile) -> dict[str, Any]:
    """The profile by the names of its settings."""
    return {
        "profile": f"1.{profile.minor}",
        "runtime": profile.runtime,
        "mode": profile.mode,
        "dsr": profile.dsr,
        "builds": list(profile.builds),
        "taint": str(profile.taint) if profile.taint else "none" if profile.taint_told else None,
        "ip_families": list(profile.ip_families),
        "host_network_gate": profile.host_network_gate,
        "unknown_pods": profile.unknown_pods,
        "substitute": profile.substitute,
    }


def _dump(value: dict[str, Any]) -> Iterator[str]:
    yield from json.JSONEncoder(indent=2, ensure_ascii=False).iterencode(value)
    yield "\n"


_GITHUB_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def _escape(text: str, in_property: bool = False) -> str:
    """Source: actions/toolkit packages/core command.ts escapeData, escapeProperty."""
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if in_property else text


def as_github(report: Report, strict: bool = False) -> Iterator[str]:
    """Workflow commands; GitHub shows them beside the changed lines of a pull request."""
    for finding in report.list_shown(strict):
        where = {"file": finding.file, "title": finding.rule}
        if finding.line:
            where = {"file": finding.file, "line": str(finding.line), "col": str(finding.column), "title": finding.rule}
        properties = ",".join(f"{key}={_escape(value, in_property=True)}" for key, value in where.items())
        message = f"{finding.message} {finding.remedy} ({finding.object})"
        yield f"::{_GITHUB_COMMANDS[finding.severity]} {properties}::{_escape(message)}\n"


def render(report: Report, profile: Profile, form: str, strict: bool = False) -> Iterator[str]:
    """The report in one of FORMATS, in pieces: for a large repository it is larger than its input.

    `strict` includes hygiene, which JSON always has.
    """
    if form == "json":
        return _dump(as_dict(report, profile))
    if form == "sarif":
        return _dump(as_sarif(report, VERSION, strict))
    return {"text": as_text, "line": as_lines, "junit": as_junit, "github": as_github}[form](report, strict)


# Findings as SARIF 2.1.0 (OASIS standard), which GitHub code scanning, Azure DevOps and editors read.

SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_DOCUMENTATION = "https://github.com/winkube/winkube.node/blob/main/docs"


def as_sarif(report: Report, version: str, strict: bool = False) -> dict[str, Any]:
    """One run. A silenced finding has a suppression, as the standard requires."""
    ids = sorted({rule.id for rule in RULES})
    found = [*report.list_shown(strict), *report.silenced_findings]
    ids += sorted({each.rule for each in report.unreadable})
    driver = {
        "name": "winkube.node workload_lint",
        "version": version,
        "informationUri": f"{_DOCUMENTATION}/workload_lint.md",
        "rules": [_describe(rule_id) for rule_id in ids],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, ids.index(finding.rule)) for finding in found],
    }
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


_FAULTS = {UNREADABLE: "File that is not a manifest", UNCHECKED: "Not rendered, so not checked"}


def _describe(rule_id: str) -> dict[str, Any]:
    if rule_id in _FAULTS:
        return {"id": rule_id, "shortDescription": {"text": _FAULTS[rule_id]}}
    return _rule(rule_id, [rule for rule in RULES if rule.id == rule_id])


def _rule(rule_id: str, rules: Iterable[Rule]) -> dict[str, Any]:
    parts = list(rules)
    return {
        "id": rule_id,
        "shortDescription": {"text": "; ".join(dict.fromkeys(rule.title for rule in parts))},
        "fullDescription": {"text": _sentence(fill_gaps(parts[0].message, "..."))},
        "help": {"text": _sentence(fill_gaps(parts[0].remedy, "..."))},
        "defaultConfiguration": {"level": _default_level(parts)},
        "helpUri": rule_page(rule_id),
    }


def rule_page(rule_id: str) -> str:
    return f"{_DOCUMENTATION}/rules/{rule_id}.md"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _default_level(rules: Iterable[Rule]) -> str:
    """The worst severity of the rule in the newest Kubernetes."""
    severities = [rule.level.of(Profile(), declared) for rule in rules for declared in (True, False)]
    return _LEVELS[max(each or Severity.INFO for each in severities)]


def _result(finding: Finding, index: int) -> dict[str, Any]:
    location: dict[str, Any] = {}
    if finding.object:
        location["logicalLocations"] = [{"fullyQualifiedName": f"{finding.object}: {finding.path}"}]
    if finding.line or PurePath(finding.file).suffix:
        # Code scanning shows nothing without a line; a rendered document's lines are not those of its template.
        region = {"startLine": finding.line or 1, "startColumn": finding.column or 1}
        location["physicalLocation"] = {"artifactLocation": {"uri": _uri(finding.file)}, "region": region}
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{finding.message} {finding.remedy}"},
        "locations": [location],
    }
    if finding.silenced:
        kind = "external" if finding.external else "inSource"
        result["suppressions"] = [{"kind": kind, "status": "accepted", "justification": finding.silenced}]
    return result


def _uri(file: str) -> str:
    path = PurePath(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
