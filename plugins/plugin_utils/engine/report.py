# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan and what became of it, as a task's result: `changed`, `diff` and `steps` come from the same plan object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .plan import Plan


def result(
    plan: Plan, *, check: bool, diff: bool, calls: int, answer: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """`{changed, steps: [{text, state}], winkube: {answer, outcome, batch, calls}, diff?}`; `state` is `planned`
    or `done`; a component that failed has no result."""
    answer = answer or {}
    outcome = answer.get("outcome")
    state = "planned" if check else "done"
    found: dict[str, Any] = {
        "changed": plan.changed if check else outcome == "done",
        "steps": [{"text": step.text, "state": state} for step in plan.steps],
        "winkube": {"answer": answer.get("answer"), "outcome": outcome, "batch": answer.get("batch"), "calls": calls},
    }
    if diff:
        found["diff"] = [
            {"before_header": step.label, "after_header": step.label, "before": step.before, "after": step.after}
            for step in plan.steps
            if step.before != step.after
        ] or [{"prepared": "".join(f"{step.text}\n" for step in plan.steps)}] * bool(plan.steps)
    return found
