# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules as Markdown, for docs/workload_lint.md: made from the table, so that the page cannot differ from it."""

from __future__ import annotations

from itertools import groupby

from .rule import Complete, Remove, Rule
from .rulebook import NAMES, RULES

_FIXES = {Remove: "takes the field away where it has no effect", Complete: "adds what is missing"}


def rules_markdown() -> str:
    """One heading per id; rules that consist of several parts have them below each other."""
    parts = [_section(rule_id, list(rules)) for rule_id, rules in groupby(RULES, key=lambda rule: rule.id)]
    return "\n".join([*parts, _other_names()])


def _section(rule_id: str, rules: list[Rule]) -> str:
    rows = sorted({row for rule in rules for row in rule.rows})
    lines = [f"### {rule_id}", ""]
    if rows:
        lines += [f"Also known as {', '.join(rows)}.", ""]
    for rule in rules:
        lines += [
            f"**{rule.title}**",
            "",
            f"- Severity: {rule.level.describe()}",
            f"- Looks at: {', '.join(f'`{path}`' for path in rule.paths)}"
            + ("" if "pod" in rule.kinds else f" of {', '.join(rule.kinds)}"),
            f"- Says: {rule.message}",
            f"- Remedy: {rule.remedy}",
        ]
        if rule.fix is not None:
            lines.append(f"- Fix: {_FIXES[type(rule.fix)]}")
        lines += [f"- Known from: {rule.source}", ""]
    return "\n".join(lines)


def _other_names() -> str:
    ids = {rule.id for rule in RULES}
    lines = ["### Other names", "", "| name | stands for |", "|---|---|"]
    lines += [f"| {name} | {', '.join(sorted(NAMES[name]))} |" for name in sorted(NAMES) if name not in ids]
    return "\n".join([*lines, ""])
