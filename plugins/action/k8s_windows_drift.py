# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the report of drift; documented in modules/k8s_windows_drift.py."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ..plugin_utils.components.options import read
from ..plugin_utils.engine.clock import as_timestamp
from ..plugin_utils.pages import drift
from ..plugin_utils.task.module_action import ControllerAction
from ..plugin_utils.task.recorded import find_store
from ..plugin_utils.task.reports import write_report


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftOptions:
    """The module's options."""

    hosts: tuple[str, ...]
    directory: str


class ActionModule(ControllerAction):
    """k8s_windows_drift."""

    module = "k8s_windows_drift"

    def work(self, options: dict[str, Any]) -> dict[str, Any]:
        """The files; nothing fails because of what is in them."""
        how, store = read(DriftOptions, options), find_store()
        generated = as_timestamp(datetime.now(UTC))
        report = drift.make_report([store.record(host) for host in how.hosts], generated)
        texts = {"drift.json": drift.as_json(report), "drift.html": drift.as_html(report)}
        files, changed = write_report(how.directory, texts, check=bool(self._task.check_mode))
        return {
            "changed": changed,
            "files": files,
            "counts": report["counts"],
            "verdicts": drift.verdicts(report),
            "said": drift.conclude(report),
        }
