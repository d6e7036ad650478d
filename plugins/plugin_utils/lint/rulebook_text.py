# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules in words, made from the table: for --list-rules, --explain and the pages in docs/rules."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .rule import Complete, Remove, Rule
from .rulebook import RULES, resolve

_FIXES = {Remove: "takes the field away where it has no effect", Complete: "adds what is missing"}
_VALUE = re.compile(r"\{([a-z]+)\}")


def list_rules() -> str:
    """One line for each rule and each of its parts."""
    return "".join(f"{rule.id:<6} {rule.level.describe()}: {rule.title}\n" for rule in RULES)


def explain(name: str) -> str:
    """What the rules that a name stands for look at, and what to do. Raises UnknownRuleError."""
    ids = resolve(name)
    return "\n".join("".join(f"{line}\n" for line in _explained(rule)) for rule in RULES if rule.id in ids)


def _explained(rule: Rule) -> Iterator[str]:
    yield f"{rule.id}: {rule.title}"
    if rule.rows:
        yield f"  also known as: {', '.join(rule.rows)}"
    yield f"  severity:      {rule.level.describe()}"
    yield f"  looks at:      {', '.join(rule.paths)}{of_kinds(rule)}"
    yield f"  says:          {with_gaps(rule.message)}"
    yield f"  remedy:        {with_gaps(rule.remedy)}"
    if rule.fix is not None:
        yield f"  --fix:         {fix_of(rule)}"
    yield f"  known from:    {rule.source}"
    yield f'  accepted by:   the annotation lint.winkube.node/{rule.id}: "the reason", or ignore in .workload-lint.yml'


def of_kinds(rule: Rule) -> str:
    """The kinds of objects that it looks at, as the end of a sentence; nothing for pods."""
    return "" if "pod" in rule.kinds else f" of {', '.join(rule.kinds)}"


def fix_of(rule: Rule) -> str:
    return _FIXES[type(rule.fix)] if rule.fix is not None else ""


def with_gaps(sentence: str, gap: str = r"<\1>") -> str:
    """A sentence of the table where its values are not known; what becomes of a field is told by the severity."""
    general = sentence.replace("{consequence}", "").replace("{field} is {set}", "the field is set").strip()
    return _VALUE.sub(gap, general)
