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
        for step in values.get("steps") or ():
            if isinstance(step, dict) and "text" in step:
                self._display.display(f"  {host}: {step['text']}", color=C.COLOR_CHANGED)
