# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prints the sentences of a plan under the task that made it."""

from __future__ import annotations

from typing import Any

from ansible import constants as C  # noqa: N812 - as all of Ansible names it
from ansible.plugins.callback import CallbackBase

DOCUMENTATION = r"""
name: steps
type: aggregate
short_description: Prints what a component did, or would do, under its task
version_added: 0.1.0
author: The winkube.node authors
description:
  - Prints the C(steps) of a result as one line each, after the line of the stdout callback. Results without C(steps)
    print nothing.
  - Of a plan for a whole node, which the first task of C(site.yml) makes, it prints one line, with how many steps each
    role has; with C(-v) each step.
  - Enable it with C(callbacks_enabled = winkube.node.steps).
"""


class CallbackModule(CallbackBase):
    """Listens to results of tasks."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "winkube.node.steps"
    CALLBACK_NEEDS_ENABLED = True

    def v2_runner_on_ok(self, result: Any) -> None:
        """A task is done, in check mode too."""
        self._print(result)

    def _print(self, result: Any) -> None:
        host = result.host.get_name() if hasattr(result, "host") else result._host.get_name()
        values = result.result if hasattr(result, "result") else result._result
        plan = values.get("plan")
        if isinstance(plan, dict) and isinstance(plan.get("steps"), dict):
            self._print_plan(host, plan)
        for step in values.get("steps") or ():
            if isinstance(step, dict) and "text" in step:
                self._display.display(f"  {host}: {step['text']}", color=C.COLOR_CHANGED)

    def _print_plan(self, host: str, plan: dict[str, Any]) -> None:
        steps: dict[str, list[str]] = plan["steps"]
        color = C.COLOR_CHANGED if steps else C.COLOR_OK
        self._display.display(f"  {host}: {_summary(plan)}", color=color)
        if self._display.verbosity:
            for role, texts in steps.items():
                for text in texts:
                    self._display.display(f"  {host}: {role}: {text}", color=color)


def _summary(plan: dict[str, Any]) -> str:
    """One line: nothing differs, or how many steps there are to take, by role."""
    steps: dict[str, list[str]] = plan["steps"]
    counts = {role: len(texts) for role, texts in steps.items()}
    total = sum(counts.values())
    told = f"{total} step{'' if total == 1 else 's'}: " + ", ".join(f"{role} {count}" for role, count in counts.items())
    if plan.get("converged"):
        return "nothing differs"
    if plan.get("whole", True):
        return told
    return f"{told if counts else 'nothing differs so far'}; the rest is planned by its tasks"
