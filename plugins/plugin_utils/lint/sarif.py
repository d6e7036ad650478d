# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings as SARIF 2.1.0 (OASIS standard), which GitHub code scanning, Azure DevOps and editors read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from .engine import Report, fill
from .model import Finding, Severity
from .rule import Rule
from .rulebook import RULES

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_DOCUMENTATION = "https://github.com/winkube/winkube.node/blob/main/docs"


def as_sarif(report: Report, version: str) -> str:
    """One run. Silenced findings are in it with a suppression, as the standard has it."""
    ids = sorted({rule.id for rule in RULES})
    found = [*report.findings, *report.silenced]
    driver = {
        "name": "winkube.node workload_lint",
        "version": version,
        "informationUri": f"{_DOCUMENTATION}/workload_lint.md",
        "rules": [_rule(rule_id, [rule for rule in RULES if rule.id == rule_id]) for rule_id in ids],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, ids.index(finding.rule)) for finding in found],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _rule(rule_id: str, rules: Iterable[Rule]) -> dict[str, Any]:
    parts = list(rules)
    return {
        "id": rule_id,
        "shortDescription": {"text": "; ".join(dict.fromkeys(rule.title for rule in parts))},
        "fullDescription": {"text": fill(parts[0].message, {"consequence": ""}).strip()},
        "help": {"text": parts[0].remedy},
        "helpUri": f"{_DOCUMENTATION}/rules/{rule_id}.md",
    }


def _result(finding: Finding, index: int) -> dict[str, Any]:
    location: dict[str, Any] = {"logicalLocations": [{"fullyQualifiedName": f"{finding.object}: {finding.path}"}]}
    if finding.line:
        location["physicalLocation"] = {
            "artifactLocation": {"uri": _uri(finding.file)},
            "region": {"startLine": finding.line, "startColumn": finding.column},
        }
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{finding.message} {finding.remedy}"},
        "locations": [location],
    }
    if finding.silenced:
        result["suppressions"] = [{"kind": "inSource", "justification": finding.silenced}]
    return result


def _uri(file: str) -> str:
    path = PurePath(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
