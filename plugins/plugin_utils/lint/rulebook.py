# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All rules, and what a name stands for: an id, or a row that rules cover under another id."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping

from . import (
    rules_admission,
    rules_commands,
    rules_host,
    rules_network,
    rules_pod,
    rules_resources,
    rules_scheduling,
    rules_storage,
)
from .rule import Rule


def _order(rule: Rule) -> tuple[int, str, int]:
    letters, _dash, number = rule.id.partition("-")
    return ("LM", "SC", "ST", "RS", "SE", "NW", "OB", "WL").index(letters), letters, int(number)


RULES: tuple[Rule, ...] = tuple(
    sorted(
        (
            *rules_admission.RULES,
            *rules_pod.RULES,
            *rules_commands.RULES,
            *rules_resources.RULES,
            *rules_scheduling.RULES,
            *rules_host.RULES,
            *rules_storage.RULES,
            *rules_network.RULES,
        ),
        key=_order,
    )
)
POD_RULES = tuple(rule for rule in RULES if "pod" in rule.kinds)


def _names() -> Mapping[str, frozenset[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for rule in RULES:
        for name in rule.names:
            found[name].add(rule.id)
    return {name: frozenset(ids) for name, ids in found.items()}


# What is said of files that are no manifests; no rule, since there is no object to ask.
UNREADABLE = "unreadable-file"
# Name -> the ids of the rules it stands for: LM-63 stands for RS-04, RS-05 and RS-10.
NAMES: Mapping[str, frozenset[str]] = _names()


class UnknownRuleError(Exception):
    """A sentence about a rule id that does not exist."""


def resolve(name: str) -> frozenset[str]:
    """The ids that a name stands for. Raises UnknownRuleError, with the nearest names of the same family."""
    wanted = name.strip().upper()
    if wanted in NAMES:
        return NAMES[wanted]
    family = re.match(r"[A-Z]+", wanted)
    near = sorted(known for known in NAMES if family and known.startswith(family.group() + "-"))
    there = (
        f"there are {', '.join(near)}"
        if near
        else f"ids begin with {', '.join(sorted({n.partition('-')[0] for n in NAMES}))}"
    )
    raise UnknownRuleError(f"there is no rule {name!r}; {there}")
