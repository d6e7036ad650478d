# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests in a cluster, on its Windows nodes; documented in modules/k8s_windows_conformance.py."""

from __future__ import annotations

import atexit
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ansible import constants as C  # noqa: N812 - as all of Ansible names it

from ..plugin_utils.cluster.error import ClusterError
from ..plugin_utils.components.options import read
from ..plugin_utils.components.shared_options import Access
from ..plugin_utils.engine.resource import Refused
from ..plugin_utils.engine.sentences import as_steps
from ..plugin_utils.task.module_action import ControllerAction
from ..plugin_utils.task.screen import display
from ..plugin_utils.workload_tests import cpu_limits, density, interrupted, readiness
from ..plugin_utils.workload_tests.outcome import Context, Outcome
from ..plugin_utils.workload_tests.smoke import stages
from ..plugin_utils.workload_tests.smoke.model import SmokeOptions

# The plugin is imported before Ansible forks its workers; only the process that forks them cleans up at its end.
_MAIN = os.getpid()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConformanceOptions:
    """The module's options."""

    cluster: Access
    tests: tuple[str, ...]
    taints: tuple[str, ...]
    smoke: SmokeOptions
    density: density.DensityOptions
    cpu_limits: cpu_limits.CpuLimitsOptions
    operational_readiness: readiness.ReadinessOptions

    def run(self, test: str, context: Context) -> Outcome:
        """One of the tests. Refused, ClusterError, OSError."""
        match test:
            case "smoke":
                return stages.run(context, self.smoke)
            case "density":
                return density.run(context, self.density)
            case "cpu_limits":
                return cpu_limits.run(context, self.cpu_limits)
            case _:
                return readiness.run(context, self.operational_readiness)


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
        how = read(ConformanceOptions, options)
        context = Context(asdict(how.cluster), how.taints, check_mode, Path(C.DEFAULT_LOCAL_TMP))
        outcomes: dict[str, Outcome] = {}
        for name in dict.fromkeys(how.tests):
            try:
                outcomes[name] = how.run(name, context)
            except (ClusterError, Refused, OSError) as error:
                outcomes[name] = Outcome(False, said=f"{name}: {error}", failed=True)
        return {
            **{name: dict(outcome.result) for name, outcome in outcomes.items()},
            "changed": any(outcome.changed for outcome in outcomes.values()),
            "failed": any(outcome.failed for outcome in outcomes.values()),
            "msg": "\n".join(outcome.said for outcome in outcomes.values() if outcome.said),
            "steps": as_steps((text for outcome in outcomes.values() for text in outcome.steps), planned=check_mode),
        }
