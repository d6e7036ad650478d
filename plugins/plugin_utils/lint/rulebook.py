# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All rules by theme, and a lookup by name."""

from __future__ import annotations

from dataclasses import replace

from ..foreign.spelling import nearest
from . import (
    rules_accounts,
    rules_admission,
    rules_commands,
    rules_fields,
    rules_host,
    rules_images,
    rules_mounts,
    rules_names,
    rules_namespace,
    rules_network,
    rules_nodes,
    rules_pod,
    rules_probes,
    rules_processes,
    rules_programs,
    rules_resources,
    rules_scheduling,
    rules_storage,
)
from .model import Severity
from .rule import Rule

# Nobody has shown their failure yet: no public manifest that was judged, no recorded verdict of kube-apiserver, no
# public thread (tests/corpus/standing.py, which fails where this list is not exactly theirs).
UNSEEN = frozenset(
    [
        "contradictory-os",
        "host-process-user",
        "invalid-build-label",
        "local-policy-side-effects",
        "mount-at-root",
        "mount-clash",
        "os-name-without-selector",
        "recursive-read-only",
        "secret-sub-path",
        "sub-path-outside",
        "trailing-dot",
        "unexpanded-path",
        "unknown-gmsa-spec",
    ]
)


def _weigh(rule: Rule) -> Rule:
    """A rule of UNSEEN is information, whatever it says of the pod."""
    return replace(rule, level=replace(rule.level, most=Severity.INFO)) if rule.id in UNSEEN else rule


RULES: tuple[Rule, ...] = tuple(
    map(
        _weigh,
        (
            *rules_admission.RULES,
            *rules_pod.RULES,
            *rules_scheduling.RULES,
            *rules_nodes.RULES,
            *rules_host.RULES,
            *rules_accounts.RULES,
            *rules_resources.RULES,
            *rules_mounts.RULES,
            *rules_names.RULES,
            *rules_images.RULES,
            *rules_storage.RULES,
            *rules_network.RULES,
            *rules_commands.RULES,
            *rules_processes.RULES,
            *rules_programs.RULES,
            *rules_probes.RULES,
            *rules_namespace.RULES,
            *rules_fields.RULES,
        ),
    )
)
POD_RULES = tuple(rule for rule in RULES if "pod" in rule.kinds)
IDS: tuple[str, ...] = tuple(sorted({rule.id for rule in RULES}))
# Good practice: a pod runs without it. Reports for people fold these into one line; --strict shows them.
HYGIENE = frozenset(["missing-memory-limit", "missing-cpu-request", "missing-os-name", "unequal-memory-request"])
# For files that are not manifests, and for what was not rendered; they are not rules, since there is no object.
UNREADABLE = "unreadable-file"
UNCHECKED = "not-checked"


class UnknownRuleError(Exception):
    """A rule id does not exist; the text is a sentence."""


def rule_id(name: str) -> str:
    """The id for a name from the user. Raises UnknownRuleError, with the nearest ids, if there is none."""
    wanted = name.strip().lower()
    if wanted in IDS:
        return wanted
    near = nearest(wanted, IDS, 3) or [each for each in IDS if wanted and wanted in each][:3]
    hint = f"did you mean {', '.join(near)}?" if near else "--list-rules lists them."
    raise UnknownRuleError(f"there is no rule {name!r}; {hint}")
