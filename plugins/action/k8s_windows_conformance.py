# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests in a cluster, on its Windows nodes; documented in modules/k8s_windows_conformance.py."""

from __future__ import annotations

import atexit
import os
from pathlib import Path
from typing import Any

from ansible import constants as C  # noqa: N812 - as all of Ansible names it

from ..plugin_utils.cluster.error import ClusterError
from ..plugin_utils.engine.resource import Refused
from ..plugin_utils.engine.sentences import as_steps
from ..plugin_utils.task.module_action import ControllerAction
from ..plugin_utils.task.screen import display
from ..plugin_utils.workload_tests import cpu_limits, density, interrupted, readiness
from ..plugin_utils.workload_tests.outcome import Context, Outcome
from ..plugin_utils.workload_tests.smoke import stages

_TESTS = {
    "smoke": stages.run,
    "density": density.run,
    "cpu_limits": cpu_limits.run,
    "operational_readiness": readiness.run,
}
# The plugin is imported before Ansible forks its workers; only the process that forks them cleans up at its end.
_MAIN = os.getpid()


def _at_exit() -> None:
    if os.getpid() == _MAIN:
        interrupted.delete_noted(Path(C.DEFAULT_LOCAL_TMP), display.warning)


atexit.register(_at_exit)


class ActionModule(ControllerAction):
    """k8s_windows_conformance."""

    module = "k8s_windows_conformance"

    def work(self, options: dict[str, Any]) -> dict[str, Any]:
        """One test after the other; one that fails does not keep the next from running."""
        check_mode = bool(self._task.check_mode)
        context = Context(options["cluster"], tuple(options["taints"]), check_mode, Path(C.DEFAULT_LOCAL_TMP))
        outcomes: dict[str, Outcome] = {}
        for name in dict.fromkeys(options["tests"]):
            try:
                outcomes[name] = _TESTS[name](context, options[name])
            except (ClusterError, Refused, OSError) as error:
                outcomes[name] = Outcome(False, said=f"{name}: {error}", failed=True)
        return {
            **{name: dict(outcome.result) for name, outcome in outcomes.items()},
            "changed": any(outcome.changed for outcome in outcomes.values()),
            "failed": any(outcome.failed for outcome in outcomes.values()),
            "msg": "\n".join(outcome.said for outcome in outcomes.values() if outcome.said),
            "steps": as_steps((text for outcome in outcomes.values() for text in outcome.steps), planned=check_mode),
        }
